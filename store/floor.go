package store

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/mutant"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Floor says, per incarnation, up to which stamp every member is known to hold
// everything, and to have heard of nothing older that was still on its way:
// tombstones that lie wholly at or below it are gone for good. It only rises.
// How it is raised is replicate's; what it means for a record is here, and is a
// pure function of record and floor, so that nodes that share a floor share
// what they collect.
type Floor map[resource.ID]hlc.Timestamp

// Clone returns a copy.
func (f Floor) Clone() Floor { return maps.Clone(f) }

// Covers reports whether the write at p is at or below the floor.
func (f Floor) Covers(p resource.Point) bool { return p.HLC <= f[p.Writer] }

// CoversAll reports whether every stamp of a record is at or below the floor,
// its creation's too.
func (f Floor) CoversAll(r *resource.Record) bool {
	for p := range r.Points() {
		if !f.Covers(p) {
			return false
		}
	}
	return true
}

// Under reports whether a state that covers v has seen everything that the
// floor speaks of. Only such a state may take part in joins with one that has
// collected by this floor.
func (f Floor) Under(v Vector) bool {
	for inc, at := range f {
		if v[inc].HLC < at {
			return false
		}
	}
	return true
}

// Reaches reports whether f is at or above o everywhere.
func (f Floor) Reaches(o Floor) bool {
	for inc, at := range o {
		if f[inc] < at {
			return false
		}
	}
	return true
}

// Join returns the maximum of both. Neither is changed; the result may be f.
func (f Floor) Join(o Floor) Floor {
	if f.Reaches(o) {
		return f
	}
	out := f.Clone()
	if out == nil {
		out = Floor{}
	}
	for inc, at := range o {
		out[inc] = max(out[inc], at)
	}
	return out
}

// Cut returns the floor with no entry above at.
func (f Floor) Cut(at hlc.Timestamp) Floor {
	out := Floor{}
	for inc, t := range f {
		out[inc] = min(t, at)
	}
	return out
}

// Incarnations returns the keys in byte order.
func (f Floor) Incarnations() []resource.ID {
	ids := slices.Collect(maps.Keys(f))
	slices.SortFunc(ids, func(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// Digest is the SHA-256 of the floor's canonical bytes.
func (f Floor) Digest() [32]byte {
	b := pack.AppendArray(nil, 2*len(f))
	for _, inc := range f.Incarnations() {
		b = pack.AppendUint(pack.AppendBin(b, inc[:]), uint64(f[inc]))
	}
	return sha256.Sum256(b)
}

// FloorOf is the highest floor that a vector alone would allow.
func FloorOf(v Vector) Floor {
	f := Floor{}
	for inc, p := range v {
		f[inc] = p.HLC
	}
	return f
}

// Collected reports whether a record is to go under a floor: a tombstone that
// lies wholly at or below it.
func Collected(r *resource.Record, f Floor) bool {
	return r.Deleted() && (f.CoversAll(r) || mutant.AgeCollection)
}

// Swept returns the record without the finalizer entries that a floor makes
// meaningless: removed ones at or below it. ok is false when there are none;
// the record is then the one given.
func Swept(r *resource.Record, f Floor) (out *resource.Record, ok bool) {
	return without(r, func(e *resource.Finalizer) bool { return !e.Present && f.Covers(e.At) })
}

func without(r *resource.Record, drop func(*resource.Finalizer) bool) (*resource.Record, bool) {
	var kept []resource.Finalizer
	for i := range r.Finalizers {
		if !drop(&r.Finalizers[i]) {
			kept = append(kept, r.Finalizers[i])
		}
	}
	if len(kept) == len(r.Finalizers) {
		return r, false
	}
	out := *r
	out.Finalizers = kept
	return &out, true
}

// Verdict says what may become of a record that comes in.
type Verdict uint8

// The verdicts.
const (
	// Join it.
	Join Verdict = iota
	// Gone: everything in it was collected here. It is in the state, as
	// nothing.
	Gone
	// Held: it writes to a record whose earlier life was collected here, or may
	// have been where it was written. Only a comparison with a member that has
	// seen the floor can tell a write that brings the record back on purpose
	// from one that never heard of the end.
	Held
)

// Receive judges an incoming record against what is here (nil when nothing is)
// and the floor. byEvent says that it came with an event, off the stream, where
// nobody vouches for what its writer had seen. It returns the record to join,
// which is the incoming one without finalizer entries that were collected here.
func Receive(current, incoming *resource.Record, f Floor, byEvent bool) (*resource.Record, Verdict) {
	if byEvent && current != nil && current.Deleted() && incoming.Creation.Point().Compare(current.Creation.Point()) > 0 {
		// Its writer did not know the life that ended here: it created apart, or
		// has collected that life, and its new one must not meet the tombstone. A
		// comparison joins floors first, and then tells.
		return incoming, Held
	}
	if len(f) == 0 {
		return incoming, Join
	}
	earlier := current == nil || incoming.Creation.Point().Compare(current.Creation.Point()) < 0
	switch {
	case current != nil && !byEvent && oneLife(current, incoming):
		// Created under another name since (resource.Reissue).
	case earlier && f.CoversAll(incoming):
		return incoming, Gone
	case earlier && byEvent && f.Covers(incoming.Creation.Point()):
		return incoming, Held
	}
	out, _ := without(incoming, func(e *resource.Finalizer) bool {
		return f.Covers(e.At) && (!e.Present || current != nil && !hasFinalizer(current, e.Key))
	})
	return out, Join
}

// oneLife reports whether two versions hold a write in common, whatever they say
// of their creation.
func oneLife(a, b *resource.Record) bool {
	return a.Holds(b.Desired.Stamp.Point()) ||
		b.Deletion != nil && a.Holds(b.Deletion.Stamp.Point()) ||
		b.Observed != nil && a.Holds(b.Observed.Stamp.Point())
}

func hasFinalizer(r *resource.Record, key string) bool {
	for i := range r.Finalizers {
		if r.Finalizers[i].Key == key {
			return true
		}
	}
	return false
}
