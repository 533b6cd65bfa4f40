package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
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

// shared reports whether two processes have one identity.
func (r *run) shared() bool {
	seen := map[resource.ID]bool{}
	for _, n := range r.f.Nodes() {
		id := n.Store.Identity().Instance
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}

// copyCloned reports whether the copied directory's process stands back, or
// has done so and goes by another name now.
func (r *run) copyCloned() bool {
	return len(r.f.Nodes()) > r.o.Nodes && (r.f.Nodes()[r.o.Nodes].Status().Cloned || r.renamed)
}

// standing says what a node that does not agree was doing.
func standing(n *loopback.Node) string {
	st := n.Status()
	return fmt.Sprintf("stale %q, cloned %v, clock %s ahead, sessions %v, held %d, void %d, quarantined %d",
		st.Stale, st.Cloned, st.ClockOffset, st.Counters.Sessions, st.Counters.Held, st.Counters.Void, st.Counters.Quarantined)
}

// differing lists the first records that are not the same everywhere.
func (r *run) differing() (text string) {
	listed := 0
	for _, id := range r.books.records {
		forms := map[[32]byte]string{}
		for _, n := range r.f.Nodes() {
			rec, err := n.Store.Record(id.String())
			if err != nil {
				forms[[32]byte{}] += fmt.Sprintf("\n  node %d has no %s", n.Index(), id)
			} else {
				forms[rec.Digest()] += fmt.Sprintf("\n  node %d has %s %s%s", n.Index(), id, rec.Name, described(&rec))
			}
		}
		if len(forms) > 1 && listed < 3 {
			listed++
			for _, n := range slices.Sorted(maps.Values(forms)) {
				text += n
			}
		}
	}
	return text
}

// converge is the liveness: agreement within the bound.
func (r *run) converge() error {
	bound := agreeWithin
	if r.skewed {
		bound += 8 * clockOffset
	}
	start := r.f.Now()
	for r.f.Now() < start+bound {
		if r.f.Run(100*time.Millisecond, nil); r.agreed() {
			r.reached["agreed"] = uint64(r.f.Now() - start)
			return r.settle()
		}
	}
	text := ""
	for i, n := range r.f.Nodes() {
		s := n.Store.Summary()
		text += fmt.Sprintf("\n  node %d: up %v, root %.8s, own %d, vector %x, last error %q, %s", i, n.Up(), s.Super, s.Head.Own.Seq, s.VectorDigest[:4], n.Status().LastError, standing(n))
	}
	for i, n := range r.f.Nodes() {
		v := n.Store.Summary().Vector
		for _, inc := range v.Incarnations() {
			if first := r.f.Nodes()[0].Store.Summary().Vector[inc]; v[inc] != first {
				text += fmt.Sprintf("\n  node %d has %s at %d %s (%.8x), node 0 at %d %s (%.8x)", i, inc, v[inc].Seq, v[inc].HLC, v[inc].Hash, first.Seq, first.HLC, first.Hash)
			}
		}
	}
	return violation("liveness", "no agreement %s after the heal%s%s", bound, text, r.differing())
}

// settle waits until the agreement lasts: collection goes on for a while, and
// the last heartbeats and acknowledgements are under way.
func (r *run) settle() error {
	pause := 4 * time.Second
	if r.o.Has(LongWay) {
		pause += longWay
	}
	for range 20 {
		root := r.f.Nodes()[0].Store.Summary().Super
		r.f.Run(pause, nil)
		if r.agreed() && r.f.Nodes()[0].Store.Summary().Super == root {
			return nil
		}
	}
	return violation("liveness", "the fleet agrees and comes apart again, though nobody writes")
}

func (r *run) agreed() bool {
	first := r.f.Nodes()[0].Store.Summary()
	for _, n := range r.f.Nodes()[1:] {
		if s := n.Store.Summary(); s.Super != first.Super || s.VectorDigest != first.VectorDigest {
			return false
		}
	}
	return true
}

// sound: every log folds to its projection, P9.
func (r *run) sound() error {
	for i, n := range r.f.Nodes() {
		problems, err := n.Store.Check()
		if err != nil || len(problems) > 0 {
			return violation("P9", "node %d: check: %v %v", i, problems, err)
		}
	}
	return nil
}

// identical: every node holds the same bytes of the same records, P2; equal
// roots over unequal records would be a lie.
func (r *run) identical() error {
	nodes := r.f.Nodes()
	for _, id := range r.books.records {
		var first []byte
		for i, n := range nodes {
			rec, err := n.Store.Record(id.String())
			var frame []byte
			switch {
			case err == nil:
				frame = rec.AppendTo(nil)
			case !errors.Is(err, resource.ErrNotFound):
				return err
			}
			if i == 0 {
				first = frame
			} else if !bytes.Equal(first, frame) {
				return violation("P2", "nodes 0 and %d agree and hold record %s differently (%d and %d bytes)", i, id, len(first), len(frame))
			}
		}
	}
	return nil
}

// joined: what the fleet ended with is the highest of everything that was
// written, register by register, P2 and the order of who wins.
func (r *run) joined() error {
	for _, id := range r.books.records {
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		here := &rec
		if errors.Is(err, resource.ErrNotFound) {
			here = nil
			r.reached["collected"]++
		} else if err != nil {
			return err
		}
		for _, v := range r.newest(id) {
			if r.books.included(here, v) || r.setAside(v) {
				continue
			}
			promise := "P5"
			if have, ok := held(&rec, v.name); ok && v.stamp.Actor == resource.Human && have.stamp.Actor != resource.Human {
				promise = "P5 person"
			}
			return violation(promise, "record %s: %s was written at %s by %s, nothing stands above it, and it is not there", v.write.record.Name, v.name, v.stamp.Point(), v.stamp.Actor)
		}
	}
	return nil
}

// newest lists the highest acknowledged version of each of a record's
// registers that nothing destroyed, in order of first writing.
func (r *run) newest(id resource.ID) (out []*version) {
	seen := map[register]bool{}
	for _, w := range r.books.known[id] {
		for _, v := range w.versions {
			if seen[v.register] {
				continue
			}
			seen[v.register] = true
			if safe, _ := highest(r.books.versions[v.register]); safe != nil {
				out = append(out, safe)
			}
		}
	}
	return out
}

// accounted is P5: every acknowledged write is there, or was knowingly
// replaced, or is in a ledger.
func (r *run) accounted() error {
	listed := map[register]map[resource.Point]bool{}
	for _, n := range r.f.Nodes() {
		rows, err := n.Store.Ledger(1 << 20)
		if err != nil {
			return err
		}
		for i := range rows {
			l := &rows[i]
			lost := []version{{register: register{l.Record.ID, l.Register}, stamp: l.Stamp}}
			if l.Reason == "collected" { // the record as a whole was set aside
				lost = registersOf(&l.Record)
			}
			r.reached["ledger: "+string(l.Reason)]++
			for _, v := range lost {
				if listed[v.register] == nil {
					listed[v.register] = map[resource.Point]bool{}
				}
				listed[v.register][v.stamp.Point()] = true
			}
		}
	}
	for _, id := range r.books.records {
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		here := &rec
		if errors.Is(err, resource.ErrNotFound) {
			here = nil
		} else if err != nil {
			return err
		}
		for _, w := range r.books.known[id] {
			for _, v := range w.versions {
				if !v.acked || v.gone || v.renamed || r.told(here, v, listed) || r.twinTold(here, v, listed) {
					continue
				}
				return violation("P5", "record %s: the write of %s at %s on node %d is not there, was not knowingly replaced and is in no ledger", w.record.Name, v.name, v.stamp.Point(), w.node)
			}
		}
	}
	return nil
}

// told reports whether somebody can find out what became of a version: it
// stands, was knowingly replaced, is listed, or ended with its record.
func (r *run) told(here *resource.Record, v *version, listed map[register]map[resource.Point]bool) bool {
	if v.replaced || listed[v.register][v.stamp.Point()] || here != nil && stands(here, v) {
		return true
	}
	if strings.HasPrefix(v.name, finalizers) {
		return r.books.included(here, v) && (!v.present || r.books.swept(v))
	}
	before := resource.Point{}
	if here != nil {
		before = here.Creation.Point()
	}
	// What was collected is told by the deletion itself; that it stood above
	// the write, and did not know of it, has to be listed like any other loss.
	ended := r.books.ended(v, before)
	return ended && (v.name == deletion || v.name == observed || v.write.deletes(v.stamp.Point()))
}

// stands reports whether a version is what its register holds and in effect:
// of desired and deletion the higher is.
func stands(r *resource.Record, v *version) bool {
	have, ok := held(r, v.name)
	if !ok {
		return false
	}
	if strings.HasPrefix(v.name, finalizers) {
		return !above(v, &have) // a finalizer's later entry says what became of it
	}
	other, rival := version{}, false
	switch v.name {
	case desired:
		other, rival = held(r, deletion)
	case deletion:
		other, rival = held(r, desired)
	}
	return have.stamp.Point() == v.stamp.Point() && (!rival || !above(&other, &have))
}

// twinTold: a version that lost to one of the same content has lost nothing.
func (r *run) twinTold(here *resource.Record, v *version, listed map[register]map[resource.Point]bool) bool {
	for _, t := range r.books.versions[v.register] {
		if t != v && t.content == v.content && r.told(here, t, listed) {
			return true
		}
	}
	return false
}

// names: an address means one record, the same on every node, and the right
// one.
func (r *run) names() error {
	seen := map[string]bool{}
	for _, w := range r.books.writes {
		kind, scope, name := w.record.Kind, w.record.Scope, w.record.Name
		key := fmt.Sprint(kind, scope, name)
		if seen[key] || kind.Kind == lateKind || kind.Kind == resource.KindKind {
			continue
		}
		seen[key] = true
		want, err := r.holder(kind, scope, name)
		if err != nil {
			return err
		}
		for i, n := range r.f.Nodes() {
			got, err := n.Store.Get(context.Background(), kind.Kind, scope, name)
			if err != nil && !errors.Is(err, resource.ErrNotFound) {
				return err
			}
			if got.ID != want {
				return violation("names", "%s %q in %s: node %d says %q holds it, it is %q", kind, name, scope, i, got.ID, want)
			}
		}
	}
	return nil
}

// holder finds who holds an address: of its live records the one that a person
// created, the earliest, the one with the lowest id.
func (r *run) holder(kind resource.GroupKind, scope resource.Scope, name string) (string, error) {
	var best *resource.Record
	for _, id := range r.books.records {
		first := &r.books.known[id][0].record
		if first.Kind != kind || first.Scope != scope || first.Name != name {
			continue
		}
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		if errors.Is(err, resource.ErrNotFound) || err == nil && dead(&rec) {
			continue
		}
		if err != nil {
			return "", err
		}
		if best == nil || holdsBefore(&rec, best) {
			best = &rec
		}
	}
	if best == nil {
		return "", nil
	}
	return best.ID.String(), nil
}

func holdsBefore(a, b *resource.Record) bool {
	ah, bh := a.Creation.Actor == resource.Human, b.Creation.Actor == resource.Human
	switch {
	case ah != bh:
		return ah
	case a.Creation.Point() != b.Creation.Point():
		return pointAbove(b.Creation.Point(), a.Creation.Point())
	}
	return bytes.Compare(a.ID[:], b.ID[:]) < 0
}

// figures: what nodes say of each other is what is.
func (r *run) figures() error {
	for _, n := range r.f.Nodes() {
		st, own := n.Status(), n.Store.Head().Own.Seq
		if !st.Ready {
			return violation("figures", "node %d is not ready in a healed fleet: %s", n.Index(), st.Waiting)
		}
		if len(st.Peers) != len(r.f.Nodes())-1 {
			text := ""
			for _, p := range st.Peers {
				text += fmt.Sprintf(" %s (%s %s)", p.Instance, p.Name, p.State)
			}
			for _, m := range r.f.Nodes() {
				text += fmt.Sprintf(" | %d is %s", m.Index(), m.Store.Identity().Instance)
			}
			return violation("figures", "node %d knows of %d others, there are %d: %s", n.Index(), len(st.Peers), len(r.f.Nodes())-1, text)
		}
		for i := range st.Peers {
			if err := r.figuresOf(n, &st.Peers[i], own); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) figuresOf(n *loopback.Node, p *replicate.Peer, own uint64) error {
	switch {
	case p.State != replicate.Alive:
		return violation("figures", "node %d says that %s is %s", n.Index(), p.Name, p.State)
	case p.Applied != own:
		return violation("figures", "node %d says that %s is %d events behind, and it is not", n.Index(), p.Name, own-p.Applied)
	case p.Super != n.Store.Summary().Super:
		return violation("figures", "node %d says that %s differs, and it does not", n.Index(), p.Name)
	}
	return nil
}
