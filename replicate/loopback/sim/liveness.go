package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
)

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
