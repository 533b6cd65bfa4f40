package resource

import (
	"bytes"
	"maps"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/pack"
)

// Versions of the two frames below. A decoder refuses a higher one: the record
// is quarantined, not guessed at.
const (
	recordVersion   = 1
	registerVersion = 1
)

// digestTag separates record digests from every other hash.
const digestTag = "driftless-record/1"

// value is what a register's value must do: append itself as one array.
type value interface {
	appendTo(b []byte) []byte
	// sizeHint is about the size of what may be large in it, in bytes.
	sizeHint() int
}

func (d Desired) sizeHint() int  { return len(d.Spec) }
func (d Deletion) sizeHint() int { return 0 }
func (o Observed) sizeHint() int { return len(o.Status) }

// NewRegister builds a register and its canonical body.
func NewRegister[V value](stamp Stamp, context Context, v V) Register[V] {
	b := pack.AppendArray(make([]byte, 0, 256+v.sizeHint()), 4)
	b = pack.AppendUint(b, registerVersion)
	b = appendStamp(b, stamp)
	b = appendContext(b, context)
	b = v.appendTo(b)
	return Register[V]{Stamp: stamp, Context: context, Value: v, body: b}
}

// Restamp builds the register anew under another stamp and context, with the
// same value. Fields that this version does not know cannot follow, since the
// new writer does not vouch for them.
func Restamp[V value](r Register[V], stamp Stamp, context Context) Register[V] {
	return NewRegister(stamp, context, r.Value)
}

// SameValue reports whether two registers hold the same value, whatever their
// stamps.
func (r *Register[V]) SameValue(o *Register[V]) bool {
	return bytes.Equal(appendValue(r.Value), appendValue(o.Value))
}

// SameContent reports whether two registers differ in stamp, context and
// signature alone. Unlike SameValue it counts fields of a later version.
func (r *Register[V]) SameContent(o *Register[V]) bool {
	a, b := pack.NewReader(r.body), pack.NewReader(o.body)
	n := a.Array()
	same := n == b.Array()
	a.Skip(3) // version, stamp, context
	b.Skip(3)
	for i := 3; i < n && same; i++ {
		same = bytes.Equal(a.Raw(), b.Raw())
	}
	return same && a.Err() == nil && b.Err() == nil
}

func appendValue(v any) []byte {
	if v, ok := v.(value); ok {
		return v.appendTo(make([]byte, 0, 256+v.sizeHint()))
	}
	return nil
}

func appendID(b []byte, id ID) []byte {
	if id.IsZero() {
		return pack.AppendNil(b)
	}
	return pack.AppendBin(b, id[:])
}

func appendPoint(b []byte, p Point) []byte {
	return appendID(pack.AppendUint(b, uint64(p.HLC)), p.Writer)
}

func appendStamp(b []byte, s Stamp) []byte {
	b = pack.AppendArray(b, 7)
	b = pack.AppendUint(b, s.Release)
	b = pack.AppendUint(b, uint64(s.Actor))
	b = pack.AppendUint(b, s.Epoch.Number)
	b = appendPoint(b, s.Epoch.Claim)
	return appendPoint(b, s.Point())
}

func appendContext(b []byte, c Context) []byte {
	b = pack.AppendArray(b, len(c))
	for _, p := range c {
		b = pack.AppendArray(b, 2)
		b = pack.AppendBin(b, p.Writer[:])
		b = pack.AppendUint(b, uint64(p.HLC))
	}
	return b
}

func appendMap(b []byte, m map[string]string) []byte {
	b = pack.AppendArray(b, 2*len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = pack.AppendText(pack.AppendText(b, k), m[k])
	}
	return b
}

func (d Desired) appendTo(b []byte) []byte {
	b = pack.AppendArray(b, 8)
	b = pack.AppendText(b, d.APIVersion)
	b = appendMap(b, d.Labels)
	b = appendMap(b, d.Annotations)
	b = pack.AppendBin(b, d.Spec)
	b = pack.AppendText(b, d.Owner)
	b = pack.AppendArray(b, len(d.OwnerReferences))
	for _, o := range d.OwnerReferences {
		b = pack.AppendArray(b, 9)
		for _, s := range [...]string{o.APIVersion, o.Kind, o.Name, o.ID} {
			b = pack.AppendText(b, s)
		}
		b = appendPoint(b, o.Incarnation)
		b = appendPoint(b, o.Creation)
		b = pack.AppendBool(b, o.Controller)
	}
	b = pack.AppendText(b, d.ValidFrom)
	return pack.AppendText(b, d.ValidTo)
}

func (d Deletion) appendTo(b []byte) []byte {
	b = pack.AppendArray(b, 4)
	b = pack.AppendUint(b, uint64(d.Strength))
	b = pack.AppendUint(b, uint64(d.RequestedAt))
	return appendPoint(b, d.Ends)
}

func (o Observed) appendTo(b []byte) []byte {
	b = pack.AppendArray(b, 3)
	b = appendPoint(b, o.Incarnation)
	return pack.AppendBin(b, o.Status)
}

// appendIdentity appends the identity block's five values.
func (r *Record) appendIdentity(b []byte) []byte {
	b = pack.AppendBin(b, r.ID[:])
	b = pack.AppendText(b, r.Kind.String())
	b = pack.AppendArray(b, 3)
	for _, s := range [...]string{r.Scope.Instance, r.Scope.Project, r.Scope.Workspace} {
		b = pack.AppendText(b, s)
	}
	b = pack.AppendText(b, r.Name)
	b = pack.AppendArray(b, 4)
	b = appendPoint(b, r.Creation.Point())
	b = pack.AppendUint(b, uint64(r.Creation.Actor))
	return appendID(b, r.Creation.Origin)
}

func (r *Record) appendFinalizers(b []byte) []byte {
	b = pack.AppendArray(b, len(r.Finalizers))
	for _, f := range r.Finalizers {
		b = pack.AppendArray(b, 6)
		b = pack.AppendText(b, f.Key)
		b = appendPoint(b, f.Incarnation)
		b = appendPoint(b, f.At)
		b = pack.AppendBool(b, f.Present)
	}
	return b
}

func (r *Record) appendCounters(b []byte) []byte {
	b = pack.AppendArray(b, 5)
	b = pack.AppendUint(b, r.SyncVersion)
	b = pack.AppendUint(b, r.Version)
	b = pack.AppendUint(b, r.Fence.Number)
	return appendPoint(b, r.Fence.Claim)
}

func appendRegister[V value](b []byte, r *Register[V]) []byte {
	if r == nil {
		return pack.AppendNil(b)
	}
	b = pack.AppendArray(b, 2)
	b = pack.AppendBin(b, r.body)
	return pack.AppendBin(b, r.Signature)
}

// SizeHint is about the size of the record's frame, in bytes: what to make room
// for.
func (r *Record) SizeHint() int {
	n := 512 + len(r.Desired.body)
	if r.Observed != nil {
		n += len(r.Observed.body)
	}
	return n
}

// AppendTo appends the record's frame: one array in a fixed field order, a
// version first.
func (r *Record) AppendTo(b []byte) []byte {
	b = pack.AppendArray(b, 11)
	b = pack.AppendUint(b, recordVersion)
	b = r.appendIdentity(b)
	b = appendRegister(b, &r.Desired)
	b = appendRegister(b, r.Deletion)
	b = appendRegister(b, r.Observed)
	b = r.appendFinalizers(b)
	return r.appendCounters(b)
}

// appendDigested appends what the digest covers: the identity block, the
// register digests in fixed order, the finalizer entries, the counters.
func (r *Record) appendDigested(b []byte) []byte {
	b = pack.AppendArray(b, 11)
	b = pack.AppendText(b, digestTag)
	b = r.appendIdentity(b)
	b = appendDigest(b, &r.Desired)
	b = appendDigest(b, r.Deletion)
	b = appendDigest(b, r.Observed)
	b = r.appendFinalizers(b)
	return r.appendCounters(b)
}

func appendDigest[V any](b []byte, r *Register[V]) []byte {
	if r == nil {
		return pack.AppendNil(b)
	}
	d := r.Digest()
	return pack.AppendBin(b, d[:])
}

func readID(r *pack.Reader) (id ID) {
	if !r.Nil() {
		r.Fixed(id[:])
		if id.IsZero() {
			r.Fail("zero id is written as nil")
		}
	}
	return id
}

// readPoint reads a point: whole, or zero.
func readPoint(r *pack.Reader) Point {
	p := Point{HLC: hlc.Timestamp(r.Uint()), Writer: readID(r)}
	if !p.valid() {
		r.Fail("point of half a stamp")
	}
	return p
}

// readEpoch reads an epoch: whole, or zero.
func readEpoch(r *pack.Reader) Epoch {
	e := Epoch{Number: r.Uint(), Claim: readPoint(r)}
	if (e.Number == 0) != e.Claim.IsZero() {
		r.Fail("epoch of half a claim")
	}
	return e
}

func readActor(r *pack.Reader) Actor {
	a := r.Uint()
	if a > uint64(Human) {
		r.Fail("actor %d is unknown", a)
	}
	return Actor(a)
}
