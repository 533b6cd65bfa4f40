package sim

import (
	"errors"
	"fmt"

	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// nodeBook is how far a node was checked, so that every check looks at what is
// new alone.
type nodeBook struct {
	covered   map[resource.ID]*write // by incarnation: found to be in the state up to here
	published int                    // own events found to be in the stream,
	// of this incarnation
	incarnation resource.ID
	restored    bool
	down        bool // and its log was read since
	snapshot    bool // one was written
	parked      bool // something was, when last looked at
	dead        map[resource.ID]bool
	// fate is what lives returned last, for a log that ended at fateAt.
	fate   map[resource.ID]fate
	fateAt uint64
}

// fate is whether a node knows of a record, and whether it lives there.
type fate struct{ live, known bool }

func newNodeBook() *nodeBook {
	return &nodeBook{covered: map[resource.ID]*write{}, dead: map[resource.ID]bool{}, fate: map[resource.ID]fate{}}
}

// supersedes is P7: a write that was not refused is what a reader sees now.
func (r *run) supersedes(n *loopback.Node, o *Op, got resource.Resource) error {
	chain := r.books.chains[branch{n.Index(), n.Store.Identity().Incarnation}]
	w := chain[len(chain)-1]
	switch o.Do {
	case Put, Large, CAS, Create, Child, Claim:
		d := w.record.Deletion // one that pends goes on pending, whoever writes
		if d != nil && d.Stamp.HLC != w.hlc && rankedAbove(d.Stamp, w.record.Desired.Stamp) && w.record.Desired.Stamp.HLC == w.hlc {
			return violation("P7", "node %d: %s %s was acknowledged at %s and does not show", n.Index(), o.Do, o.address(), w.hlc)
		}
	case Delete:
		if got.DeletionTimestamp == nil && !got.Deleted {
			return violation("P7", "node %d: the deletion of %s was acknowledged at %s and does not show", n.Index(), o.address(), w.hlc)
		}
	}
	return nil
}

// durable is P1: what a node acknowledged is there after a restart.
func (r *run) durable(n *loopback.Node) error {
	id, head := n.Store.Identity(), n.Store.Head()
	for _, w := range r.books.chains[branch{n.Index(), id.Incarnation}] {
		if w.acked && w.node == n.Index() && w.seq > head.Own.Seq {
			return violation("P1", "node %d acknowledged event %d and came back with %d", n.Index(), w.seq, head.Own.Seq)
		}
		if w.seq == head.Own.Seq && w.hash != head.Own.Hash {
			return violation("P1", "node %d came back with another event %d", n.Index(), w.seq)
		}
	}
	return nil
}

// cheap is what is checked after every step.
func (r *run) cheap() error {
	if broken := r.f.Broken(); len(broken) > 0 {
		return violation("P3", "%s", broken[0])
	}
	for _, n := range r.f.Nodes() {
		id, head := n.Store.Identity(), n.Store.Head()
		down := !n.Up() && !r.seen[n.Index()].down
		r.seen[n.Index()].down = !n.Up()
		if down || uint64(len(r.books.chains[branch{n.Index(), id.Incarnation}])) < head.Own.Seq {
			// A commit of which nobody was told, or events that the node issued anew.
			if err := r.books.catchUp(n, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// invariants is what is checked now and then.
func (r *run) invariants() error {
	for _, n := range r.f.Nodes() {
		for _, check := range []func(*loopback.Node) error{r.vectorTrue, r.publishedTrue, r.appliedTrue, r.noteParked} {
			if err := check(n); err != nil {
				return err
			}
		}
	}
	return r.bury()
}

// endedAt reports whether the time of a position may be another event's: of an
// author whose clock was wrong, who vouches up to its last, or of another branch
// that was taken in too.
func (b *books) endedAt(inc resource.ID, p store.Position) bool {
	for at, w := range b.byDot {
		if at.incarnation == inc && w.hlc == p.HLC {
			return true
		}
	}
	return false
}

// vectorTrue: every event that the vector covers is in the state.
func (r *run) vectorTrue(n *loopback.Node) error {
	book := r.seen[n.Index()]
	vector := n.Store.Summary().Vector
	for _, inc := range vector.Incarnations() {
		p := vector[inc]
		w := r.books.byDot[dot{inc, p.Seq, p.Hash}]
		if p.Seq == 0 && r.books.endedAt(inc, p) {
			continue // none of its events stands
		}
		if w == nil {
			return violation("vector", "node %d covers event %s/%d, which nobody wrote so", n.Index(), inc, p.Seq)
		}
		if w.hlc != p.HLC && !r.books.endedAt(inc, p) {
			return violation("vector", "node %d covers event %s/%d at %s, it was written at %s", n.Index(), inc, p.Seq, p.HLC, w.hlc)
		}
		for ; w != nil && w != book.covered[inc]; w = w.prev {
			if err := r.includes(n, w); err != nil {
				return err
			}
		}
		book.covered[inc] = r.books.byDot[dot{inc, p.Seq, p.Hash}]
	}
	return nil
}

func (r *run) includes(n *loopback.Node, w *write) error {
	rec, err := n.Store.Record(w.record.ID.String())
	here := &rec
	if errors.Is(err, resource.ErrNotFound) {
		here = nil
	} else if err != nil {
		return err
	}
	for _, v := range w.versions {
		if !v.renamed && !r.books.included(here, v) && !r.setAside(v) {
			return violation("vector", "node %d covers event %s/%d and does not hold its %s of %s, written at %s%s", n.Index(), w.incarnation, w.seq, v.name, w.record.Name, v.stamp.Point(), described(here))
		}
	}
	return nil
}

// setAside reports whether a version is in some ledger as collected: unsent work
// on a record that the others had forgotten, which its node gave up with the
// record when it rejoined, and vouches for all the same.
func (r *run) setAside(v *version) bool {
	for _, n := range r.f.Nodes() {
		rows, err := n.Store.Ledger(1 << 20)
		if err != nil {
			continue
		}
		for i := range rows {
			l := &rows[i]
			if l.Reason == "collected" && l.Record.ID == v.id && l.Register == v.name && l.Stamp.Point() == v.stamp.Point() {
				return true
			}
		}
	}
	return false
}

// described lists what a record holds.
func described(rec *resource.Record) string {
	if rec == nil {
		return "; it is not there"
	}
	text := fmt.Sprintf("; created %s", rec.Creation.Point())
	for _, v := range registersOf(rec) {
		text += fmt.Sprintf("\n    %s %s", v.name, v.stamp.Point())
	}
	return text
}

// publishedTrue: the outbox's cursor passes only what the stream took.
func (r *run) publishedTrue(n *loopback.Node) error {
	if !n.Up() {
		return nil
	}
	book, published := r.seen[n.Index()], n.Status().Published
	inc := n.Store.Identity().Incarnation
	chain := r.books.chains[branch{n.Index(), inc}]
	if inc != book.incarnation {
		book.incarnation, book.published = inc, 0
	}
	for book.published < len(chain) && chain[book.published].logSeq <= published {
		w := chain[book.published]
		if !r.f.Accepted(inc, w.seq) && len(w.record.Desired.Value.Spec) < 100<<10 {
			return violation("published", "node %d says that its log is in the stream up to %d, and event %d is not", n.Index(), published, w.seq)
		}
		book.published++
	}
	return nil
}

// appliedTrue holds what a node believes of the others against the truth: none
// of its events counts as applied where it is not durable.
func (r *run) appliedTrue(n *loopback.Node) error {
	if !n.Up() || len(r.f.Nodes()) > r.o.Nodes {
		return nil // two processes answer for one name: the figures check it at the end
	}
	own := n.Store.Identity().Incarnation
	for _, p := range n.Status().Peers {
		for _, m := range r.f.Nodes() {
			if m.Store.Identity().Instance != p.Instance || m == n || r.seen[m.Index()].restored {
				continue
			}
			if has := m.Store.Summary().Vector[own].Seq; p.Applied > has {
				return violation("applied", "node %d believes that node %d has applied its event %d, where %d is the last", n.Index(), m.Index(), p.Applied, has)
			}
		}
	}
	return nil
}

// bury notes the records whose deletion every member has seen, and holds those
// that were buried before, and not written to since, to staying dead: P4.
func (r *run) bury() error {
	for _, id := range r.books.records {
		writes := len(r.books.known[id])
		if buried, ok := r.buried[id]; ok && buried != writes {
			delete(r.buried, id)
		}
		deadOn, liveOn := 0, -1
		for _, n := range r.f.Nodes() {
			live, known, err := r.lives(n, id)
			if err != nil {
				return err
			}
			r.noteReturn(n, id, live, known)
			switch {
			case live && !r.seen[n.Index()].restored:
				liveOn = n.Index()
			case known && !live:
				deadOn++
			}
		}
		if _, ok := r.buried[id]; ok && liveOn >= 0 {
			return violation("P4", "record %s: every member had seen its deletion, nobody wrote to it since, and it lives on node %d", id, liveOn)
		}
		if deadOn == len(r.f.Nodes()) {
			if _, ok := r.buried[id]; !ok {
				r.reached["buried"]++
			}
			r.buried[id] = writes
		}
	}
	return nil
}

// lives reports whether a record is live on a node, and whether the node knows
// of it at all.
func (r *run) lives(n *loopback.Node, id resource.ID) (live, known bool, err error) {
	book, head := r.seen[n.Index()], n.Store.Head().Seq
	if head != book.fateAt {
		clear(book.fate)
		book.fateAt = head
	}
	if f, ok := book.fate[id]; ok {
		return f.live, f.known, nil
	}
	rec, err := n.Store.Record(id.String())
	if err != nil && !errors.Is(err, resource.ErrNotFound) {
		return false, false, err
	}
	f := fate{live: err == nil && !dead(&rec), known: err == nil}
	book.fate[id] = f
	return f.live, f.known, nil
}
