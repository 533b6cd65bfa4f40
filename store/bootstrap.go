package store

import (
	"driftless.dev/pack"
	"driftless.dev/resolve"
	"driftless.dev/resource"
)

// Bootstrap is a member's word on what this state must become where the two
// differ, for a state that has not seen everything the member's floor speaks
// of: joined as equals, it would bring back what the others have collected.
// What the member has seen it has judged, and its version stands. What it has
// not seen is this node's own unsent work: that is kept, or set aside in the
// ledger as "collected" where its record has ended meanwhile.
type Bootstrap struct {
	Vector Vector
	Floor  Floor
	// From is the member's instance, for the ledger.
	From resource.ID
	// Absent are records that the member does not have.
	Absent []resource.ID
}

// seen reports whether the member has judged everything in a record.
func (b *Bootstrap) seen(r *resource.Record) bool {
	for p := range r.Points() {
		if p.HLC > b.Vector[p.Writer].HLC {
			return false
		}
	}
	return true
}

// Fate is what a bootstrap makes of a record.
type Fate uint8

// The fates.
const (
	// TakeTheirs: the member has judged what is here; its version stands, or
	// its absence.
	TakeTheirs Fate = iota
	// SetAside: the same, but what is here was never seen there: to the ledger.
	SetAside
	// JoinBoth: what is here is unsent work on the record that the member has.
	JoinBoth
	// KeepOurs: what is here was made here and never sent, or went here.
	KeepOurs
)

// Judge says what becomes of a record that is here (nil for none) where the
// member has theirs (nil for none), own being the floor here: two sides of a
// fleet that each took the other off its roster have each collected what the
// other has not, and neither's is to come back.
func (b *Bootstrap) Judge(here, theirs *resource.Record, own Floor) Fate {
	switch {
	case here == nil && own.CoversAll(theirs):
		return KeepOurs // it ended here, and the member has not heard of it
	case here == nil:
		return TakeTheirs
	case theirs == nil:
		switch {
		case !b.Floor.Covers(here.Creation.Point()):
			return KeepOurs
		case b.Floor.CoversAll(here):
			return TakeTheirs
		}
		return SetAside
	case b.seen(here):
		return TakeTheirs
	case b.Floor.Covers(here.Creation.Point()) && here.Creation.Point().Compare(theirs.Creation.Point()) < 0:
		return SetAside
	}
	return JoinBoth
}

// replace takes the member's version of a record.
func (t *txn) replace(prev *stored, in *Incoming, b *Bootstrap, out *Applied) error {
	rec := &in.Record
	var here *resource.Record
	if prev != nil {
		here = &prev.rec
	}
	switch b.Judge(here, rec, t.floor) {
	case KeepOurs:
		out.Gone++
		return t.broken
	case SetAside:
		t.setAside(here, b.Floor, rec.Desired.Stamp, in.From, out)
	case JoinBoth:
		return t.join(prev, in, rec, out)
	}
	img := imageOf(rec)
	if prev != nil && prev.digest == img.digest {
		out.Unchanged++
		return t.broken
	}
	for p := range rec.Points() {
		t.s.clock.Observe(p.HLC)
	}
	out.Applied++
	t.project(prev, img, merged, nil, dot{})
	return t.broken
}

// bootstrapAbsent removes what the member has collected. A record whose earlier
// life it collected goes too, but not without a trace; one that was made here
// and never sent stays, and is offered once this state is a member's again.
func (t *txn) bootstrapAbsent(b *Bootstrap, out *Applied) {
	if b == nil {
		return
	}
	for _, id := range b.Absent {
		st, err := lookup(t.s, t.tx, id)
		if err != nil || st == nil {
			continue
		}
		switch b.Judge(&st.rec, nil, t.floor) {
		case KeepOurs:
			continue
		case SetAside:
			t.setAside(&st.rec, b.Floor, resource.Stamp{}, b.From, out)
		}
		out.Gone++
		t.collect(st)
	}
}

// setAside enters a version in the ledger whose record was collected by the
// others: a person may restore it. Each part that they have not collected is an
// entry, whatever else of the record is in the ledger already.
func (t *txn) setAside(r *resource.Record, f Floor, winner resource.Stamp, from resource.ID, out *Applied) {
	for _, l := range unsent(r, f) {
		l.Winner, l.Reason, l.Record = winner, resolve.Collected, *r
		if t.recordLoss(l, from) {
			out.Conflicts++
		}
	}
}

// unsent lists the parts of a record that a floor does not cover; desired
// stands for what has no entry of its own.
func unsent(r *resource.Record, f Floor) (out []resolve.Loser) {
	add := func(register string, s resource.Stamp) {
		if !f.Covers(s.Point()) {
			out = append(out, resolve.Loser{Register: register, Stamp: s})
		}
	}
	add("desired", r.Desired.Stamp)
	if r.Deletion != nil {
		add("deletion", r.Deletion.Stamp)
	}
	if r.Observed != nil {
		add("observed", r.Observed.Stamp)
	}
	for _, e := range r.Finalizers {
		if e.Present {
			add(resolve.FinalizerRegister(e.Key), resource.Stamp{HLC: e.At.HLC, Writer: e.At.Writer})
		}
	}
	if len(out) == 0 {
		out = append(out, resolve.Loser{Register: "desired", Stamp: r.Desired.Stamp})
	}
	return out
}

// RejoinAllowed reports whether this store may re-bootstrap by itself: it is
// new, or was restored, or an operator said so. It ends when the state is a
// member's.
func (s *Store) RejoinAllowed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rejoin
}

// AllowRejoin is the operator's word that this store may give up what its fleet
// has collected meanwhile.
func (s *Store) AllowRejoin() error {
	return s.commits.do(func(t *txn) error {
		t.allowRejoin(true)
		return t.broken
	})
}

// DisallowRejoin ends it.
func (s *Store) DisallowRejoin() error {
	return s.commits.do(func(t *txn) error {
		t.allowRejoin(false)
		return t.broken
	})
}

func (t *txn) allowRejoin(yes bool) {
	if t.rejoin != yes {
		t.rejoin = yes
		t.metas[metaRejoin] = pack.AppendBool(nil, yes)
	}
}

func (s *Store) loadRejoin(tx Tx) error {
	r, err := getMeta(tx, metaRejoin)
	if r == nil || err != nil {
		return err
	}
	s.rejoin = r.Bool()
	return damagedMeta(metaRejoin, r.Close())
}
