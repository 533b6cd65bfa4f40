package search_test

import (
	"fmt"

	"driftless.dev/store"
)

// scope says what may happen in a search, and how often.
type scope struct {
	depth         int
	puts, deletes uint8
	nodes         int // that take part
	restore       bool
	evict         bool
	sleeps        uint8
	person        bool // deletes; automation writes
}

// rule is how tombstones go, and what becomes of records that come in.
type rule struct {
	name string
	// collect may free the record of node i, or take a step towards it.
	collect func(*world, state, int) []move
	// receive judges a record that comes in; ok is false when it is to be left
	// alone, and seen says whether its event counts as taken in.
	receive func(w *world, s *state, i int, in uint16, byEvent bool) (rec uint16, ok, seen bool)
	// floors: nodes join floors, and a state that is older than one bootstraps.
	floors bool
	// absent: what the other side covers and lacks is dropped.
	absent bool
}

type world struct {
	lib  *library
	rule rule
	sc   scope
}

type move struct {
	name string
	to   state
}

// take joins a record into a node. seen is whether it may count as taken in.
func (w *world) take(s *state, i int, in uint16, byEvent bool) (seen bool) {
	n := &s.nodes[i]
	rec, ok, seen := w.rule.receive(w, s, i, in, byEvent)
	if ok {
		n.rec = w.lib.join(n.rec, rec)
		n.clock = max(n.clock, w.lib.newest(rec))
	}
	return seen
}

// moves lists everything that can happen next.
func (w *world) moves(s state) (out []move) {
	for i := range w.sc.nodes {
		out = append(out, w.writes(s, i)...)
		out = append(out, w.arrivals(s, i)...)
		out = append(out, w.rule.collect(w, s, i)...)
		for j := range w.sc.nodes {
			if i != j {
				out = append(out, w.heartbeat(s, i, j)...)
			}
			if i < j {
				out = append(out, w.sync(s, i, j)...)
			}
		}
	}
	if w.sc.restore {
		out = append(out, w.restores(s)...)
	}
	if w.sc.evict && !s.evicted {
		for i := range w.sc.nodes - 1 {
			t := s
			t.nodes[i].gone |= 1 << (w.sc.nodes - 1)
			t.evicted = true
			out = append(out, move{fmt.Sprintf("%d evicts %d", i, w.sc.nodes-1), t})
		}
	}
	if s.slept < w.sc.sleeps {
		t := s
		t.slept++
		out = append(out, move{"the tombstone's age passes", t})
	}
	return out
}

func (w *world) writes(s state, i int) (out []move) {
	n := s.nodes[i]
	if int(s.wrote[n.as]) == maxEvents {
		return nil
	}
	for _, del := range [...]bool{false, true} {
		if del && (s.deletes == w.sc.deletes || n.rec == 0 || w.lib.dead(n.rec)) || !del && s.puts == w.sc.puts {
			continue
		}
		at := n.clock + 1
		rec := w.lib.write(n.rec, del, del && w.sc.person, n.as, uint8(i), at)
		if rec == 0 {
			continue
		}
		t := s
		m := &t.nodes[i]
		t.events[n.as][s.wrote[n.as]] = event{rec, at}
		t.wrote[n.as]++
		m.rec, m.clock, m.vec[n.as] = rec, at, t.wrote[n.as]
		name := "put"
		if del {
			name = "delete"
			t.deletes++
		} else {
			t.puts++
		}
		out = append(out, move{fmt.Sprintf("%s at %d", name, i), t})
	}
	return out
}

// arrivals: any event of another may arrive, in order or early; one that is not
// next is joined and not covered.
func (w *world) arrivals(s state, i int) (out []move) {
	n := s.nodes[i]
	for o := range uint8(writers) {
		if o == n.as {
			continue
		}
		for seq := n.vec[o] + 1; seq <= s.wrote[o]; seq++ {
			t := s
			if seen := w.take(&t, i, s.events[o][seq-1].rec, true); seen && seq == n.vec[o]+1 {
				t.nodes[i].vec[o] = seq
			}
			if t != s {
				out = append(out, move{fmt.Sprintf("event %d.%d arrives at %d", o, seq, i), t})
			}
		}
	}
	return out
}

// heartbeat tells j where i stands.
func (w *world) heartbeat(s state, i, j int) []move {
	t := s
	from, to := s.nodes[i], &t.nodes[j]
	to.known[i] = to.known[i].join(from.vec)
	if w.rule.floors && s.stamps(to.vec).covers(from.floor) {
		to.floor = to.floor.join(from.floor)
		w.sweep(to)
	}
	if t == s {
		return nil
	}
	return []move{{fmt.Sprintf("heartbeat %d to %d", i, j), t}}
}

// sweep collects what a node's floor covers.
func (w *world) sweep(n *node) {
	if n.rec != 0 && store.Collected(w.lib.records[n.rec], floorOf(n.floor)) {
		n.buried, n.rec = max(n.buried, w.lib.deletion(n.rec)), 0
	}
}

// sync is a whole reconciliation of two nodes.
func (w *world) sync(s state, i, j int) []move {
	t := s
	a, b := &t.nodes[i], &t.nodes[j]
	name := fmt.Sprintf("sync %d and %d", i, j)
	if w.rule.floors {
		over, under := s.stamps(a.vec).covers(b.floor), s.stamps(b.vec).covers(a.floor)
		switch {
		case !over && !under: // either may be told to go first
			u := s
			w.bootstrap(&t, i, j)
			w.bootstrap(&u, j, i)
			return []move{{name + ": the first bootstraps", t}, {name + ": the second bootstraps", u}}
		case !over:
			w.bootstrap(&t, i, j)
			return []move{{name + ": the first bootstraps", t}}
		case !under:
			w.bootstrap(&t, j, i)
			return []move{{name + ": the second bootstraps", t}}
		}
		f := a.floor.join(b.floor)
		a.floor, b.floor = f, f
		w.sweep(a)
		w.sweep(b)
	}
	ra, rb := a.rec, b.rec
	if w.rule.absent {
		// Covered by who lacks it: it was collected there.
		if ra == 0 && rb != 0 && w.coveredBy(&s, a.vec, rb) {
			b.rec, rb = 0, 0
		}
		if rb == 0 && ra != 0 && w.coveredBy(&s, b.vec, ra) {
			a.rec, ra = 0, 0
		}
	}
	if rb != 0 {
		w.take(&t, i, rb, false)
	}
	if ra != 0 {
		w.take(&t, j, ra, false)
	}
	v := a.vec.join(b.vec)
	a.vec, b.vec = v, v
	for _, n := range [...]*node{a, b} {
		n.known[i], n.known[j] = n.known[i].join(v), n.known[j].join(v)
	}
	if t == s {
		return nil
	}
	return []move{{name, t}}
}

// coveredBy reports whether every stamp of a record is covered by a vector.
func (w *world) coveredBy(s *state, seqs marks, rec uint16) bool {
	return floorOf(s.stamps(seqs)).CoversAll(w.lib.records[rec])
}

// bootstrap makes node i what node j vouches for.
func (w *world) bootstrap(s *state, i, j int) {
	n, m := &s.nodes[i], s.nodes[j]
	boot := &store.Bootstrap{Vector: s.vectorOf(m.vec), Floor: floorOf(m.floor)}
	switch boot.Judge(w.lib.records[n.rec], w.lib.records[m.rec], floorOf(n.floor)) {
	case store.TakeTheirs, store.SetAside:
		if n.rec != 0 && m.rec == 0 {
			n.buried = max(n.buried, w.lib.deletion(n.rec))
		}
		n.rec = m.rec
	case store.JoinBoth:
		n.rec = w.lib.join(n.rec, m.rec)
	}
	n.clock = max(n.clock, w.lib.newest(n.rec))
	n.vec, n.floor = n.vec.join(m.vec), n.floor.join(m.floor)
	n.gone, n.noted = n.gone&^(1<<i), false
	w.sweep(n)
	s.nodes[j].known[i] = s.nodes[j].known[i].join(n.vec)
	s.nodes[j].gone &^= 1 << i // its word is taken again
	n.known[j] = n.known[j].join(m.vec)
}

// restores: the second node's directory is copied, and put back once; it goes
// on under another name.
func (w *world) restores(s state) []move {
	t := s
	switch s.backed {
	case 0:
		t.backup, t.backed = s.nodes[1], 1
		return []move{{"back up 1", t}}
	case 1:
		t.nodes[1], t.backup, t.backed = s.backup, node{}, 2
		t.nodes[1].as = nodes
		t.nodes[1].noted = false
		return []move{{"restore 1", t}}
	}
	return nil
}
