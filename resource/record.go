package resource

import (
	"crypto/sha256"

	"driftless.dev/hlc"
)

// Record is the replicated form of a resource: what is stored, joined and
// shipped. Nothing lives outside identity, registers and counters. Byte slices
// inside a Record are shared and must not be changed.
type Record struct {
	ID       ID
	Kind     GroupKind
	Scope    Scope
	Name     string
	Creation Creation

	Desired  Register[Desired]
	Deletion *Register[Deletion]
	Observed *Register[Observed]
	// Finalizers are sorted by key; removed entries stay as entries, so that
	// the join knows of the removal.
	Finalizers []Finalizer

	// SyncVersion counts writes, Version those that changed desired's or
	// observed's value, Fence is the highest epoch ever joined. A join takes
	// the maximum of each, so none falls.
	SyncVersion uint64
	Version     uint64
	Fence       Epoch
}

// Creation is how a record came to be. It joins by minimum, so that records of
// identity "name" created apart agree on it.
type Creation struct {
	HLC    hlc.Timestamp
	Writer ID
	Actor  Actor
	// Origin is the instance (not the incarnation) that created the record.
	Origin ID
}

// Point returns the creation stamp.
func (c Creation) Point() Point { return Point{HLC: c.HLC, Writer: c.Writer} }

// Context is what a register's writer knew: per writer the HLC of the latest
// of its writes in the chain of predecessors, sorted by writer, at most
// MaxContext entries (the oldest are dropped).
type Context []Point

// MaxContext bounds a register's context.
const MaxContext = 32

// Knows reports whether the write at p was knowingly replaced by a register
// with this context. It errs towards no: a false alarm is acceptable, a silent
// loss is not.
func (c Context) Knows(p Point) bool {
	for _, e := range c {
		if e.Writer == p.Writer {
			return e.HLC >= p.HLC
		}
	}
	return false
}

// Register is a part of a record that is written and joined on its own. Its
// body is one canonical blob, kept verbatim for as long as it wins, so that a
// register written by a newer node passes through an older one unharmed.
type Register[V any] struct {
	Stamp   Stamp
	Context Context
	Value   V
	// body is the canonical form of all of the above and of fields that this
	// version does not know.
	body []byte
	// Signature is the slot for the writer's signature over the body; it is
	// not covered by the digest.
	Signature []byte
}

// Digest is the SHA-256 of the register's body, without the signature.
func (r *Register[V]) Digest() [32]byte { return sha256.Sum256(r.body) }

// Body returns the canonical bytes; they are shared.
func (r *Register[V]) Body() []byte { return r.body }

// Desired is what the record is asked to be.
type Desired struct {
	APIVersion      string
	Labels          map[string]string
	Annotations     map[string]string
	Spec            []byte // canonical JSON, nil when unset
	Owner           string
	OwnerReferences []OwnerReference
	ValidFrom       string // RFC 3339 in UTC, "" when unset
	ValidTo         string
}

// Deletion is a request to end one incarnation of the record.
type Deletion struct {
	Strength    Strength
	RequestedAt hlc.Timestamp
	// Ends is the record incarnation that the request is about.
	Ends Point
}

// Observed is what controllers report of one incarnation of the record.
type Observed struct {
	Incarnation Point
	Status      []byte // canonical JSON, nil when unset
}

// Finalizer is one key's entry: present or removed, by whom, for which
// incarnation of the record.
type Finalizer struct {
	Key         string
	Incarnation Point
	At          Point
	Present     bool
}

// MaxFinalizers bounds the keys of one record, removed ones included.
const MaxFinalizers = 64

// MaxRecordSize bounds a record that a node takes a write of, encoded, in
// bytes. Two nodes may each take a write within it, of desired and of observed,
// whose join is larger: MaxFrameSize bounds that.
const (
	MaxRecordSize = 8 << 20
	MaxFrameSize  = 2*MaxRecordSize + 1<<20
)

// Compare orders entries of one key: by incarnation, time, writer; a present
// entry wins what is left.
func (f Finalizer) Compare(o Finalizer) int {
	if c := f.Incarnation.Compare(o.Incarnation); c != 0 {
		return c
	}
	if c := f.At.Compare(o.At); c != 0 {
		return c
	}
	switch {
	case f.Present == o.Present:
		return 0
	case f.Present:
		return 1
	default:
		return -1
	}
}

// Realm is the replication partition of the record.
func (r *Record) Realm() string { return r.Scope.Realm() }

// Requested reports whether a deletion is asked for: its stamp is not below
// desired's. A later desired write takes it back.
func (r *Record) Requested() bool {
	return r.Deletion != nil && r.Deletion.Stamp.Compare(r.Desired.Stamp) >= 0
}

// Deleted reports whether the record is a tombstone.
func (r *Record) Deleted() bool {
	return r.Requested() && r.Deletion.Value.Strength == Delete && !r.Finalized()
}

// Finalized reports whether any finalizer stands.
func (r *Record) Finalized() bool {
	for i := range r.Finalizers {
		if r.Finalizers[i].Present {
			return true
		}
	}
	return false
}

// Incarnation is derived: the one that a pending deletion names; else the
// stamp of the newest deletion; else the first, which is the zero point. The
// first is not named by the creation stamp, because that falls when records of
// identity "name" that were created apart are joined, and what was written for
// the first incarnation must stay written for it.
func (r *Record) Incarnation() Point {
	switch {
	case r.Requested():
		return r.Deletion.Value.Ends
	case r.Deletion != nil:
		return r.Deletion.Stamp.Point()
	default:
		return Point{}
	}
}

// ShownIncarnation is Incarnation as people see it: the first goes by the
// creation stamp.
func (r *Record) ShownIncarnation() Point {
	if inc := r.Incarnation(); !inc.IsZero() {
		return inc
	}
	return r.Creation.Point()
}

// Top is the higher of desired's and deletion's stamps: what a write must
// outrank.
func (r *Record) Top() Stamp {
	if r.Requested() {
		return r.Deletion.Stamp
	}
	return r.Desired.Stamp
}

// Newest is the highest point of any register or finalizer entry.
func (r *Record) Newest() Point {
	p := r.Desired.Stamp.Point()
	for q := range r.points {
		if q.Compare(p) > 0 {
			p = q
		}
	}
	return p
}

// points yields every stamp's point, creation's too.
func (r *Record) points(yield func(Point) bool) {
	if !yield(r.Creation.Point()) || !yield(r.Desired.Stamp.Point()) {
		return
	}
	if r.Deletion != nil && !yield(r.Deletion.Stamp.Point()) {
		return
	}
	if r.Observed != nil && !yield(r.Observed.Stamp.Point()) {
		return
	}
	for i := range r.Finalizers {
		if !yield(r.Finalizers[i].At) {
			return
		}
	}
}

// Points yields the point of every stamp in the record, creation included: a
// clock that accepts the record observes the highest of them.
func (r *Record) Points() func(yield func(Point) bool) { return r.points }

// Holds reports whether the write at p is what some register or finalizer
// holds.
func (r *Record) Holds(p Point) bool {
	first := true
	for q := range r.points {
		if q == p && !first {
			return true
		}
		first = false // creation is no register
	}
	return false
}

// Digest is the SHA-256 over everything that replicas must agree on: the
// Merkle leaf and the ETag.
func (r *Record) Digest() [32]byte {
	var room [1024]byte
	return sha256.Sum256(r.appendDigested(room[:0]))
}
