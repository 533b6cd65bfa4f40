package resource

import (
	"bytes"
	"fmt"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/pack"
)

// DecodeRecord reads a record's frame. The record aliases b, which must not
// change while the record is used. Bytes that are not one canonical frame are
// an error that wraps pack.ErrMalformed. What came from a peer must pass
// Validate too; what this node stored has passed it.
func DecodeRecord(b []byte) (Record, error) {
	if len(b) > MaxFrameSize {
		return Record{}, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(b), MaxFrameSize)
	}
	var rec Record
	r := pack.NewReader(b)
	if n := r.Array(); r.Err() == nil && n != 11 {
		r.Fail("record of %d fields", n)
	}
	if v := r.Uint(); r.Err() == nil && v != recordVersion {
		r.Fail("record version %d is not known here", v)
	}
	readIdentity(r, &rec)
	if d := readRegister(r, readDesired); d != nil {
		rec.Desired = *d
	} else {
		r.Fail("record without desired register")
	}
	rec.Deletion = readRegister(r, readDeletion)
	rec.Observed = readRegister(r, readObserved)
	rec.Finalizers = readFinalizers(r)
	readCounters(r, &rec)
	if err := r.Close(); err != nil {
		return Record{}, fmt.Errorf("decode record: %w", err)
	}
	return rec, nil
}

func exactly(r *pack.Reader, n int) {
	if got := r.Array(); r.Err() == nil && got != n {
		r.Fail("%d fields wanted, found %d", n, got)
	}
}

func readIdentity(r *pack.Reader, rec *Record) {
	r.Fixed(rec.ID[:])
	kind := r.Text()
	if rec.Kind = ParseGroupKind(kind); rec.Kind.String() != kind {
		r.Fail("kind %.64q is not Kind.group", kind)
	}
	exactly(r, 3)
	rec.Scope = Scope{Instance: r.Text(), Project: r.Text(), Workspace: r.Text()}
	rec.Name = r.Text()
	exactly(r, 4)
	p := readPoint(r)
	rec.Creation = Creation{HLC: p.HLC, Writer: p.Writer, Actor: readActor(r), Origin: readID(r)}
}

func readRegister[V any](r *pack.Reader, read func(*pack.Reader) V) *Register[V] {
	if r.Nil() || r.Err() != nil {
		return nil
	}
	exactly(r, 2)
	reg := &Register[V]{body: r.Bin(), Signature: r.Bin()}
	if reg.Signature != nil && len(reg.Signature) == 0 {
		r.Fail("empty signature is written as nil")
	}
	if r.Err() != nil {
		return nil
	}
	in := pack.NewReader(reg.body)
	extra := in.ArrayOf(4)
	if v := in.Uint(); in.Err() == nil && v != registerVersion {
		in.Fail("register version %d is not known here", v)
	}
	reg.Stamp = readStamp(in)
	reg.Context = readContext(in)
	reg.Value = read(in)
	in.Skip(extra)
	if err := in.Close(); err != nil {
		r.Fail("register: %v", err)
		return nil
	}
	return reg
}

func readStamp(r *pack.Reader) Stamp {
	exactly(r, 7)
	s := Stamp{Release: r.Uint(), Actor: readActor(r)}
	s.Epoch = readEpoch(r)
	p := readPoint(r)
	s.HLC, s.Writer = p.HLC, p.Writer
	if r.Err() == nil && (s.HLC == 0 || s.Writer.IsZero()) {
		r.Fail("stamp without time or writer")
	}
	return s
}

func readContext(r *pack.Reader) Context {
	n := r.Array()
	if n > MaxContext {
		r.Fail("context of %d entries", n)
	}
	if n == 0 || r.Err() != nil {
		return nil
	}
	c := make(Context, n)
	for i := range c {
		exactly(r, 2)
		r.Fixed(c[i].Writer[:])
		c[i].HLC = hlc.Timestamp(r.Uint())
		if i > 0 && bytes.Compare(c[i-1].Writer[:], c[i].Writer[:]) >= 0 {
			r.Fail("context out of order")
		}
	}
	return c
}

func readMap(r *pack.Reader) map[string]string {
	n := r.Array()
	if n%2 != 0 {
		r.Fail("odd number of map entries")
	}
	if n == 0 || r.Err() != nil {
		return nil
	}
	m, last := make(map[string]string, min(n/2, 64)), ""
	for i := 0; i < n/2 && r.Err() == nil; i++ {
		k := r.Text()
		if i > 0 && k <= last {
			r.Fail("map out of order")
		}
		m[k], last = r.Text(), k
	}
	return m
}

func readDesired(r *pack.Reader) (d Desired) {
	extra := r.ArrayOf(8)
	d.APIVersion = r.Text()
	d.Labels = readMap(r)
	d.Annotations = readMap(r)
	d.Spec = r.Bin()
	d.Owner = r.Text()
	for range r.Array() {
		exactly(r, 9)
		o := OwnerReference{APIVersion: r.Text(), Kind: r.Text(), Name: r.Text(), ID: r.Text()}
		o.Incarnation, o.Creation, o.Controller = readPoint(r), readPoint(r), r.Bool()
		if r.Err() != nil {
			break
		}
		d.OwnerReferences = append(d.OwnerReferences, o)
	}
	d.ValidFrom, d.ValidTo = readTime(r), readTime(r)
	r.Skip(extra)
	return d
}

func readTime(r *pack.Reader) string {
	s := r.Text()
	if s == "" {
		return ""
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err != nil || formatTime(&t) != s {
		r.Fail("time %.64q is not canonical", s)
	}
	return s
}

func readDeletion(r *pack.Reader) (d Deletion) {
	extra := r.ArrayOf(4)
	s := r.Uint()
	if r.Err() == nil && (s < uint64(Teardown) || s > uint64(Delete)) {
		r.Fail("deletion strength %d is unknown", s)
	}
	d = Deletion{Strength: Strength(s), RequestedAt: hlc.Timestamp(r.Uint()), Ends: readPoint(r)}
	r.Skip(extra)
	return d
}

func readObserved(r *pack.Reader) (o Observed) {
	extra := r.ArrayOf(3)
	o = Observed{Incarnation: readPoint(r), Status: r.Bin()}
	r.Skip(extra)
	return o
}

func readFinalizers(r *pack.Reader) []Finalizer {
	n := r.Array()
	if n > MaxFinalizers {
		r.Fail("%d finalizers", n)
	}
	if n == 0 || r.Err() != nil {
		return nil
	}
	fs := make([]Finalizer, n)
	for i := range fs {
		exactly(r, 6)
		fs[i] = Finalizer{Key: r.Text(), Incarnation: readPoint(r), At: readPoint(r), Present: r.Bool()}
		if i > 0 && fs[i-1].Key >= fs[i].Key {
			r.Fail("finalizers out of order")
		}
	}
	return fs
}

func readCounters(r *pack.Reader, rec *Record) {
	exactly(r, 5)
	rec.SyncVersion, rec.Version = r.Uint(), r.Uint()
	rec.Fence = readEpoch(r)
}
