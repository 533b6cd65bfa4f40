package store

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// Stamper computes the post-image of a write: a pure function of what is
// stored, what is wanted and the stamp that was issued. Every backend and
// every kind of write goes through it, so the rules stand in one place. It
// persists nothing.
type Stamper struct {
	// Instance creates records; Incarnation writes registers.
	Instance, Incarnation resource.ID
}

// Post is a stamper's verdict on a write that it allows.
type Post struct {
	Record resource.Record
	// Changed is false when the write asks for what is there already: no
	// event is written and no version moves.
	Changed bool
	// Created tells a create or a return after a deletion.
	Created bool
	// Died tells that the write turned a live record into a tombstone.
	Died bool
}

// draft is one write in the making.
type draft struct {
	s        Stamper
	existing *resource.Record // nil when the record does not exist
	live     bool
	w        *Write
	stamp    resource.Stamp // what the registers that change are stamped with
	rec      resource.Record
	// changed: an event is due; valued: desired's or observed's value differs.
	changed, valued bool
}

// begin checks what every write must satisfy and prepares the stamp.
func (s Stamper) begin(existing *resource.Record, w *Write, now hlc.Timestamp) (*draft, error) {
	if err := w.prepare(); err != nil {
		return nil, err
	}
	d := &draft{s: s, existing: existing, w: w, live: existing != nil && !existing.Deleted()}
	if err := d.precondition(); err != nil {
		return nil, err
	}
	d.stamp = resource.Stamp{Actor: w.Actor, Epoch: w.Epoch, HLC: now, Writer: s.Incarnation}
	if existing == nil {
		if !w.Epoch.IsZero() {
			return nil, fmt.Errorf("%w: the record does not exist, so nobody holds epoch %s", resource.ErrFenced, w.Epoch)
		}
		return d, nil
	}
	d.rec = *existing
	if !w.Epoch.IsZero() && w.Epoch != existing.Fence {
		return nil, fmt.Errorf("%w: the write carries epoch %s, the record's is %s: claim it again",
			resource.ErrFenced, w.Epoch, cmp.Or(existing.Fence.String(), "none"))
	}
	if w.Actor == resource.Human {
		d.stamp.Epoch = existing.Fence // carried along, not compared
	}
	d.stamp.Release = existing.Desired.Stamp.Release
	if existing.Deletion != nil {
		d.stamp.Release = max(d.stamp.Release, existing.Deletion.Stamp.Release)
	}
	return d, nil
}

// precondition is the opt-in optimistic concurrency.
func (d *draft) precondition() error {
	w, e := d.w, d.existing
	if w.CreateOnly && d.live {
		return fmt.Errorf("%w: %s %q in scope %s", resource.ErrExists, e.Kind, e.Name, e.Scope)
	}
	if w.IfDigest != "" {
		if !d.live {
			return fmt.Errorf("%w: digest %s is asked for, the record does not exist", resource.ErrConflict, w.IfDigest)
		}
		if have := e.Digest(); hex.EncodeToString(have[:]) != w.IfDigest {
			return fmt.Errorf("%w: digest %s is asked for, the record's is %x: re-read and retry", resource.ErrConflict, w.IfDigest, have)
		}
	}
	r := &w.Resource
	if r.SyncVersion == 0 {
		return nil
	}
	if !d.live || uint64(r.SyncVersion) != e.SyncVersion {
		have := uint64(0)
		if d.live {
			have = e.SyncVersion
		}
		return fmt.Errorf("%w: syncVersion %d is asked for, the record's is %d: re-read and retry", resource.ErrConflict, r.SyncVersion, have)
	}
	if have := e.Digest(); r.Digest != "" && r.Digest != hex.EncodeToString(have[:]) {
		return fmt.Errorf("%w: another version was merged in since digest %s was read: re-read and retry", resource.ErrConflict, r.Digest)
	}
	return d.stampsMatch()
}

// stampsMatch closes the ABA that a merge can open: the counter may have come
// back to the number that the caller read, the stamps cannot. The digest says
// more (finalizers have no stamp), but a caller may have only these.
func (d *draft) stampsMatch() error {
	for _, p := range [...]struct{ read, stored resource.Stamp }{
		{d.w.Resource.DesiredStamp, d.existing.Desired.Stamp},
		{d.w.Resource.DeletionStamp, stampOf(d.existing.Deletion)},
		{d.w.Resource.ObservedStamp, stampOf(d.existing.Observed)},
	} {
		if !p.read.IsZero() && p.read != p.stored {
			return fmt.Errorf("%w: another write was merged in at %s: re-read and retry", resource.ErrConflict, p.stored.Point())
		}
	}
	return nil
}

func stampOf[V any](r *resource.Register[V]) resource.Stamp {
	if r == nil {
		return resource.Stamp{}
	}
	return r.Stamp
}

// outranks refuses a write that could not win against what it would replace:
// accepted, it would be lost at the next merge.
func (d *draft) outranks() error {
	top := d.existing.Top()
	if d.stamp.Compare(top) > 0 {
		return nil
	}
	by := top.Actor.String()
	switch {
	case top.Actor == resource.Human && d.stamp.Actor != resource.Human:
		return fmt.Errorf("%w: held by a person: written by %s at %s; write as a person, or release it", resource.ErrOutranked, top.Writer, top.HLC)
	case d.stamp.Epoch.Compare(top.Epoch) < 0 && d.stamp.Actor != resource.Human:
		return fmt.Errorf("%w: held under epoch %s: pass that epoch, or claim the record", resource.ErrOutranked, top.Epoch)
	}
	return fmt.Errorf("%w: the record carries a later %s write by %s at %s", resource.ErrOutranked, by, top.Writer, top.HLC)
}

// rises reports whether the write has more standing than the last one, which
// is worth an event even when the content is the same.
func (d *draft) rises(over resource.Stamp) bool {
	a, b := d.stamp, over
	a.HLC, a.Writer, b.HLC, b.Writer = 0, resource.ID{}, 0, resource.ID{}
	return a.Compare(b) > 0
}

// risesObserved is rises in the order of observed: a holder that confirms what
// the last one reported must not lose it to that one's late write.
func (d *draft) risesObserved(over resource.Stamp) bool {
	a, b := d.stamp, over
	a.HLC, a.Writer, b.HLC, b.Writer = 0, resource.ID{}, 0, resource.ID{}
	return a.CompareObserved(b) > 0
}

// ownerAllows holds automation to the controller that created the record.
func (d *draft) ownerAllows(owner string) error {
	have := d.existing.Desired.Value.Owner
	if d.w.Actor == resource.Human || !d.live || have == "" || have == owner {
		return nil
	}
	return &OwnerConflictError{Owner: have, Caller: owner}
}

// OwnerConflictError names the controller that owns the record; it is
// resource.ErrOwnerConflict.
type OwnerConflictError struct{ Owner, Caller string }

// Error says who owns the record.
func (e *OwnerConflictError) Error() string {
	return fmt.Sprintf("%v: owner is %q, the caller is %q", resource.ErrOwnerConflict, e.Owner, e.Caller)
}

// Unwrap returns resource.ErrOwnerConflict.
func (e *OwnerConflictError) Unwrap() error { return resource.ErrOwnerConflict }

// known is the context of a write of desired or deletion: what it replaces, in
// both registers, since either can undo the other.
func (d *draft) known() resource.Context {
	if d.existing == nil {
		return nil
	}
	c := chain(&d.existing.Desired)
	for _, p := range chain(d.existing.Deletion) {
		c = with(c, p)
	}
	return c
}

// chain is what a register and its predecessors knew, and the register itself.
func chain[V any](prev *resource.Register[V]) resource.Context {
	if prev == nil || prev.Stamp.IsZero() {
		return nil
	}
	return with(slices.Clone(prev.Context), prev.Stamp.Point())
}

// with adds a write to a context, which it may change; the oldest entry makes
// room.
func with(c resource.Context, p resource.Point) resource.Context {
	i, found := slices.BinarySearchFunc(c, p, func(e, t resource.Point) int {
		return bytes.Compare(e.Writer[:], t.Writer[:])
	})
	if found {
		c[i].HLC = max(c[i].HLC, p.HLC)
		return c
	}
	c = slices.Insert(c, i, p)
	if len(c) > resource.MaxContext {
		oldest := 0
		for i := range c {
			if c[i].HLC < c[oldest].HLC {
				oldest = i
			}
		}
		c = slices.Delete(c, oldest, oldest+1)
	}
	return c
}

// finish settles counters and the fence.
func (d *draft) finish() Post {
	if !d.changed {
		return Post{Record: *d.existing}
	}
	// At their bound, which only a hostile peer can bring about, the counters
	// stand still: a record beyond it would be refused everywhere.
	d.rec.SyncVersion = min(d.rec.SyncVersion+1, resource.MaxCounter)
	if d.valued {
		d.rec.Version = min(d.rec.Version+1, resource.MaxCounter)
	}
	if d.stamp.Epoch.Compare(d.rec.Fence) > 0 {
		d.rec.Fence = d.stamp.Epoch
	}
	dead := d.rec.Deleted()
	return Post{Record: d.rec, Changed: true, Created: !d.live && !dead, Died: d.live && dead}
}
