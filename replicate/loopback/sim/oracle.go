package sim

import (
	"errors"
	"time"

	"driftless.dev/replicate"
)

// agreeWithin is how long a healed fleet may take to agree, in virtual time;
// clocks that were over the bound have to be caught up with first.
const agreeWithin = 45 * time.Second

// afterwards heals the fleet, waits for agreement within the bound and checks
// all that was promised.
func (r *run) afterwards() error {
	for _, n := range r.f.Nodes() {
		n.Thaw()
		n.SetClock()
		n.FillDisk(false)
		n.SlowDisk(0)
		n.SoundDisk()
	}
	r.f.Calm()
	r.f.Heal()
	for _, n := range r.f.Nodes() {
		if err := r.start(n); err != nil {
			return err
		}
	}
	if err := r.operate(); err != nil {
		return err
	}
	if err := r.converge(); err != nil {
		return err
	}
	for i := range r.seen {
		r.seen[i].restored = false // it is like the others now
	}
	if err := r.cheap(); err != nil {
		return err
	}
	if err := r.invariants(); err != nil {
		return err
	}
	for _, check := range []func() error{r.sound, r.identical, r.joined, r.accounted, r.names, r.figures, r.rebuilt} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// operate does what is left to people: readmit who was taken off the roster,
// let a node rejoin that is older than what was collected, give a clone a name
// of its own. What it takes to notice is part of the bound.
func (r *run) operate() error {
	for range 24 { // a clock that was ahead when a copy was started has to be caught up with
		r.f.Run(6*time.Second, nil)
		quiet := !r.shared()
		for _, n := range r.f.Nodes() {
			st := n.Status()
			switch {
			case st.Cloned && n.Index() < r.o.Nodes && r.copyCloned():
				// Both stand back for the other: the copy gets a name of its own,
				// and then this one only has to be started again.
				n.Crash()
				if err := r.start(n); err != nil {
					return err
				}
			case st.Cloned:
				if err := n.Reidentify(); errors.Is(err, replicate.ErrUnsettled) {
					break // asked again in a moment
				} else if err != nil {
					return violation("P1", "node %d: reidentify: %v", n.Index(), err)
				}
				r.reached["clone reidentified"]++
				r.renamed = r.renamed || n.Index() >= r.o.Nodes
			case st.Stale != "":
				r.reached["stale until allowed"]++
				if err := n.AllowRejoin(); err != nil {
					return violation("P4", "node %d: allow rejoin: %v", n.Index(), err)
				}
			default:
				if err := n.Readmit(); err != nil && refusal(err) == "" {
					return violation("unexpected", "node %d: readmit: %v", n.Index(), err)
				} else if err == nil {
					continue
				}
			}
			quiet = false
		}
		if err := r.cheap(); err != nil || quiet {
			return err
		}
	}
	if r.shared() {
		return violation("clone", "two processes go by one name, and neither stands back")
	}
	return nil
}
