package store

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// Put judges a create or an update. id is the new record's when existing is
// nil; the resource's spec, names and kind have passed admission.
func (s Stamper) Put(existing *resource.Record, w *Write, id resource.ID, now hlc.Timestamp) (Post, error) {
	d, err := s.begin(existing, w, now)
	if err != nil {
		return Post{}, err
	}
	if existing == nil {
		d.create(id)
	}
	steps := []func() error{d.desire, d.finalize}
	if w.Given == nil || w.Given.Status {
		steps = append(steps, d.observe)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return Post{}, err
		}
	}
	return d.finish(), nil
}

// Status judges a write of observed alone. It can neither undelete nor touch
// what a person wrote.
func (s Stamper) Status(existing *resource.Record, w *Write, now hlc.Timestamp) (Post, error) {
	if existing == nil || existing.Deleted() {
		return Post{}, fmt.Errorf("%w: write status", resource.ErrNotFound)
	}
	d, err := s.begin(existing, w, now)
	if err != nil {
		return Post{}, err
	}
	if err := d.observe(); err != nil {
		return Post{}, err
	}
	return d.finish(), nil
}

func (d *draft) create(id resource.ID) {
	r := &d.w.Resource
	d.rec = resource.Record{
		ID: id, Kind: r.GroupKind(), Scope: r.Scope, Name: r.Name,
		Creation: resource.Creation{HLC: d.stamp.HLC, Writer: d.s.Incarnation, Actor: d.w.Actor, Origin: d.s.Instance},
	}
}

// desire writes the desired register when its value differs, when the record
// returns from the dead, or when the write has more standing than the last.
func (d *draft) desire() error {
	want := d.w.desired
	caller := cmp.Or(d.w.Owner, want.Owner)
	want.Owner = cmp.Or(want.Owner, d.w.Owner)
	if d.existing == nil {
		d.rec.Desired = resource.NewRegister(d.stamp, nil, want)
		d.changed, d.valued = true, true
		return nil
	}
	old := &d.existing.Desired
	if d.live {
		if err := d.ownerAllows(caller); err != nil {
			return err
		}
		want.Owner = old.Value.Owner
		if d.w.Given != nil && !d.w.Given.OwnerReferences {
			want.OwnerReferences = old.Value.OwnerReferences
		}
	}
	reg := resource.NewRegister(d.stamp, d.known(), want)
	same := bytes.Equal(want.Spec, old.Value.Spec) && reg.SameValue(old)
	if d.live && same && !d.rises(d.existing.Top()) {
		return nil
	}
	if err := d.outranks(); err != nil {
		return err
	}
	d.rec.Desired = reg
	d.changed, d.valued = true, d.valued || !same || !d.live
	if d.live && d.existing.Requested() {
		// A put neither sets nor clears a pending deletion: it would clear it
		// by outranking it, so both are stamped together.
		del := resource.NewRegister(d.stamp, d.known(), d.existing.Deletion.Value)
		d.rec.Deletion = &del
	}
	return nil
}

// finalize brings the set of standing finalizers to the one that is wanted.
func (d *draft) finalize() error {
	var want []string
	switch {
	case d.w.Given == nil || d.w.Given.Finalizers:
		want = slices.Compact(slices.Sorted(slices.Values(d.w.Resource.Finalizers)))
	case d.live:
		return nil
	}
	terminating := d.live && d.existing.Requested()
	inc := d.rec.Incarnation()
	entries := slices.Clone(d.rec.Finalizers)
	find := func(key string) (int, bool) {
		return slices.BinarySearchFunc(entries, key, func(f resource.Finalizer, k string) int { return strings.Compare(f.Key, k) })
	}
	changed := false
	for i := range entries {
		if entries[i].Present && !slices.Contains(want, entries[i].Key) {
			entries[i] = d.entry(inc, entries[i])
			changed = true
		}
	}
	for _, key := range want {
		i, found := find(key)
		if found && entries[i].Present {
			continue
		}
		if terminating {
			return fmt.Errorf("%w: finalizer %q cannot be added: the record is terminating", resource.ErrInvalid, key)
		}
		f := resource.Finalizer{Key: key}
		if found {
			f = entries[i]
		} else {
			entries = slices.Insert(entries, i, f)
		}
		entries[i] = d.entry(inc, f)
		entries[i].Present = true
		changed = true
	}
	if len(entries) > resource.MaxFinalizers {
		return fmt.Errorf("%w: over %d finalizer keys, removed ones that are not collected yet included", resource.ErrInvalid, resource.MaxFinalizers)
	}
	if changed {
		d.rec.Finalizers, d.changed = entries, true
	}
	return nil
}

// entry is a finalizer's new entry, removed. Entries are joined by incarnation
// first, and the record's may have fallen behind an entry's: a person's earlier
// deletion, merged late, names an earlier one.
func (d *draft) entry(inc resource.Point, old resource.Finalizer) resource.Finalizer {
	if inc.Compare(old.Incarnation) < 0 {
		inc = old.Incarnation
	}
	return resource.Finalizer{Key: old.Key, Incarnation: inc, At: d.stamp.Point()}
}

// observe writes the observed register when the status that shows differs.
func (d *draft) observe() error {
	status := d.w.status
	want := resource.Observed{Incarnation: d.rec.Incarnation(), Status: status}
	old := d.rec.Observed
	if old == nil || old.Value.Incarnation != want.Incarnation {
		if status == nil {
			return nil // nothing shows and nothing is asked for
		}
		d.valued = true
	} else if string(old.Value.Status) != string(status) || (old.Value.Status == nil) != (status == nil) {
		d.valued = true
	} else if d.w.Op != OpStatus || !d.risesObserved(old.Stamp) {
		return nil
	}
	if old != nil && d.stamp.CompareObserved(old.Stamp) <= 0 {
		return fmt.Errorf("%w: status is held under epoch %s: pass that epoch, or claim the record", resource.ErrOutranked, old.Stamp.Epoch)
	}
	reg := resource.NewRegister(d.stamp, chain(old), want)
	d.rec.Observed = &reg
	d.changed = true
	return nil
}
