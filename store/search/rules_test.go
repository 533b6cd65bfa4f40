package search_test

import (
	"fmt"

	"driftless.dev/store"
)

// joinAll takes in whatever comes.
func joinAll(_ *world, _ *state, _ int, in uint16, _ bool) (uint16, bool, bool) {
	return in, true, true
}

// notAgain refuses a tombstone that was collected here: without that a fleet
// would hand them round for ever. Rules without floors need it.
func notAgain(w *world, s *state, i int, in uint16, _ bool) (uint16, bool, bool) {
	n := &s.nodes[i]
	if n.rec == 0 && w.lib.dead(in) && w.lib.deletion(in) <= n.buried {
		return 0, false, true
	}
	return in, true, true
}

// oneSided also refuses what its vector covers and it does not have.
func oneSided(w *world, s *state, i int, in uint16, _ bool) (uint16, bool, bool) {
	n := &s.nodes[i]
	if n.rec == 0 && w.coveredBy(s, n.vec, in) {
		return 0, false, true
	}
	return in, true, true
}

// judged is the store's rule.
func judged(w *world, s *state, i int, in uint16, byEvent bool) (uint16, bool, bool) {
	n := &s.nodes[i]
	rec, verdict := store.Receive(w.lib.records[n.rec], w.lib.records[in], floorOf(n.floor), byEvent)
	switch verdict {
	case store.Gone:
		return 0, false, true
	case store.Held:
		return 0, false, false
	}
	return w.lib.keep(rec), true, true
}

// unheld is the store's rule as if every record came from who vouches for it.
func unheld(w *world, s *state, i int, in uint16, _ bool) (uint16, bool, bool) {
	return judged(w, s, i, in, false)
}

// bury frees a node's tombstone.
func (w *world) bury(s state, i int) []move {
	n := &s.nodes[i]
	n.buried, n.rec = max(n.buried, w.lib.deletion(n.rec)), 0
	return []move{{fmt.Sprintf("collect at %d", i), s}}
}

// byAge frees a tombstone that is old.
func byAge(w *world, s state, i int) []move {
	if s.slept == 0 || !w.lib.dead(s.nodes[i].rec) {
		return nil
	}
	return w.bury(s, i)
}

// byVectors frees a tombstone that every member who counts is known to cover.
func byVectors(w *world, s state, i int) []move {
	n := &s.nodes[i]
	if !w.lib.dead(n.rec) {
		return nil
	}
	for m, vec := range w.vectors(&s, i) {
		if n.gone&(1<<m) == 0 && !w.coveredBy(&s, vec, n.rec) {
			return nil
		}
	}
	return w.bury(s, i)
}

// vectors is what a node knows of everybody's.
func (w *world) vectors(s *state, i int) []marks {
	out := make([]marks, w.sc.nodes)
	copy(out, s.nodes[i].known[:])
	out[i] = s.nodes[i].vec
	return out
}

// byFloor raises the floor, in one step or in two, and frees what it covers.
func byFloor(steps int) func(*world, state, int) []move {
	return func(w *world, s state, i int) []move {
		n := &s.nodes[i]
		least := n.vec
		heads := marks{}
		for m, vec := range w.vectors(&s, i) {
			if n.gone&(1<<m) != 0 {
				continue
			}
			least = least.least(vec)
			heads[s.nodes[m].as] = vec[s.nodes[m].as]
		}
		if steps == 1 {
			return w.raise(s, i, least)
		}
		var out []move
		if n.noted && least.covers(n.heads) {
			t := s
			t.nodes[i].noted = false
			out = w.raise(t, i, n.least)
		}
		if !n.noted || least.covers(n.heads) {
			t := s
			m := &t.nodes[i]
			m.noted, m.least, m.heads = true, least, heads
			if t != s {
				out = append(out, move{fmt.Sprintf("look at all members at %d", i), t})
			}
		}
		return out
	}
}

func (w *world) raise(s state, i int, least marks) []move {
	t := s
	n := &t.nodes[i]
	n.floor = n.floor.join(s.stamps(least))
	if n.floor == s.nodes[i].floor {
		return nil
	}
	n.least, n.heads = marks{}, marks{}
	w.sweep(n)
	return []move{{fmt.Sprintf("raise the floor at %d", i), t}}
}

// The rules. Ours is the last.
func ageOnly() rule { return rule{name: "age", collect: byAge, receive: joinAll} }

func activeOnly() rule { return rule{name: "active members", collect: byVectors, receive: notAgain} }

func oneSidedRule() rule { return rule{name: "one-sided", collect: byAge, receive: oneSided} }

func vectorsAlone() rule {
	return rule{name: "minimum of vectors", collect: byVectors, receive: notAgain}
}

func oneStep() rule {
	return rule{name: "floor in one step, nothing held", collect: byFloor(1), receive: unheld, floors: true}
}

func ours() rule {
	return rule{name: "floor in two steps", collect: byFloor(2), receive: judged, floors: true}
}
