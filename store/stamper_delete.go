package store

import (
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// Delete judges OpDelete, OpTeardown and OpDestroy.
func (s Stamper) Delete(existing *resource.Record, w *Write, now hlc.Timestamp) (Post, error) {
	if existing == nil || existing.Deleted() {
		return Post{}, fmt.Errorf("%w: delete", resource.ErrNotFound)
	}
	d, err := s.begin(existing, w, now)
	if err != nil {
		return Post{}, err
	}
	if err := d.ownerAllows(w.Owner); err != nil {
		return Post{}, err
	}
	if w.Op == OpDestroy && existing.Finalized() {
		return Post{}, fmt.Errorf("%w: destroy: finalizers stand: %v", resource.ErrConflict, standing(existing))
	}
	want := resource.Deletion{Strength: resource.Delete, RequestedAt: d.stamp.HLC, Ends: existing.Incarnation()}
	if w.Op == OpTeardown {
		want.Strength = resource.Teardown
	}
	if existing.Requested() {
		old := existing.Deletion
		want.RequestedAt, want.Ends = old.Value.RequestedAt, old.Value.Ends
		want.Strength = max(want.Strength, old.Value.Strength)
		if want.Strength == old.Value.Strength && !d.rises(old.Stamp) {
			return d.finish(), nil // terminating already
		}
	}
	if err := d.outranks(); err != nil {
		return Post{}, err
	}
	reg := resource.NewRegister(d.stamp, d.known(), want)
	d.rec.Deletion, d.changed = &reg, true
	return d.finish(), nil
}

func standing(r *resource.Record) (keys []string) {
	for _, f := range r.Finalizers {
		if f.Present {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// Release judges a person's giving the record back to automation: release
// rises, and the record steps down from a person's rank. A pending or complete
// deletion is stamped along, so that it stays one.
func (s Stamper) Release(existing *resource.Record, w *Write, now hlc.Timestamp) (Post, error) {
	if w.Actor != resource.Human {
		return Post{}, fmt.Errorf("%w: only a person releases a record", resource.ErrOutranked)
	}
	if existing == nil {
		return Post{}, fmt.Errorf("%w: release", resource.ErrNotFound)
	}
	d, err := s.begin(existing, w, now)
	if err != nil {
		return Post{}, err
	}
	if d.stamp.Release >= resource.MaxRank {
		return Post{}, fmt.Errorf("%w: the record was released %d times, which is all there is", resource.ErrInvalid, d.stamp.Release)
	}
	d.stamp.Release++
	d.stamp.Actor = resource.Agent
	d.restamp()
	return d.finish(), nil
}

// Claim judges a new holder's claim: the fence rises by one, told apart from
// concurrent claims by the claim's own stamp.
func (s Stamper) Claim(existing *resource.Record, w *Write, now hlc.Timestamp) (Post, error) {
	if existing == nil || existing.Deleted() {
		return Post{}, fmt.Errorf("%w: claim", resource.ErrNotFound)
	}
	claim := *w
	claim.Epoch = resource.Epoch{} // a claim needs no token: it makes one
	d, err := s.begin(existing, &claim, now)
	if err != nil {
		return Post{}, err
	}
	if existing.Fence.Number >= resource.MaxRank {
		return Post{}, fmt.Errorf("%w: the record was claimed %d times, which is all there is", resource.ErrInvalid, existing.Fence.Number)
	}
	d.stamp.Epoch = resource.Epoch{Number: existing.Fence.Number + 1, Claim: d.stamp.Point()}
	if err := d.outranks(); err != nil {
		return Post{}, err
	}
	d.restamp()
	return d.finish(), nil
}

// restamp writes the registers that say what the record is anew, unchanged in
// value.
func (d *draft) restamp() {
	d.rec.Desired = resource.Restamp(d.existing.Desired, d.stamp, d.known())
	if d.existing.Requested() {
		del := resource.Restamp(*d.existing.Deletion, d.stamp, d.known())
		d.rec.Deletion = &del
	}
	d.changed = true
}
