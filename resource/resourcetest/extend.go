package resourcetest

import (
	"fmt"

	"pgregory.net/rapid"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Fields of a record's frame.
const (
	DesiredField = iota + 6
	DeletionField
	ObservedField
)

// The values that NewRegister takes.
type value interface {
	resource.Desired | resource.Deletion | resource.Observed
}

func register[V value](g *drawing, label string, v V) *resource.Register[V] {
	reg := newRegister(g.stamp(label), g.context(), v)
	if g.bool("signed") {
		reg.Signature = rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(g.T, "signature")
	}
	return &reg
}

func newRegister[V value](s resource.Stamp, c resource.Context, v V) resource.Register[V] {
	var out any
	switch v := any(v).(type) {
	case resource.Desired:
		out = resource.NewRegister(s, c, v)
	case resource.Deletion:
		out = resource.NewRegister(s, c, v)
	case resource.Observed:
		out = resource.NewRegister(s, c, v)
	}
	return out.(resource.Register[V])
}

// extended adds fields of a later version to some of the record's registers.
func extended(g *drawing, rec resource.Record) resource.Record {
	for _, field := range []int{DesiredField, DeletionField, ObservedField} {
		absent := field == DeletionField && rec.Deletion == nil || field == ObservedField && rec.Observed == nil
		if absent || g.int("later", 0, 3) > 0 {
			continue
		}
		extra := pack.AppendText(nil, g.pick("later", "x", "y"))
		var err error
		if rec, err = Extend(rec, field, g.int("inValue", 0, 1) == 1, extra); err != nil {
			g.Fatalf("extend: %v", err)
		}
	}
	return rec
}

// Extend appends one packed value, a field that this version does not know, to
// a register's body or to the value inside it.
func Extend(rec resource.Record, field int, inValue bool, extra []byte) (resource.Record, error) {
	frame := Split(rec.AppendTo(nil))
	reg := pack.NewReader(frame[field])
	reg.Array()
	body := Split(reg.Bin())
	signature := reg.Raw()
	if err := reg.Close(); err != nil {
		return rec, fmt.Errorf("register: %w", err)
	}
	if inValue {
		body[3] = Join(append(Split(body[3]), extra))
	} else {
		body = append(body, extra)
	}
	frame[field] = append(pack.AppendBin(pack.AppendArray(nil, 2), Join(body)), signature...)
	return resource.DecodeRecord(Join(frame))
}

// Split returns the packed values of an array.
func Split(b []byte) (fields [][]byte) {
	r := pack.NewReader(b)
	for range r.Array() {
		fields = append(fields, r.Raw())
	}
	return fields
}

// Join is the array of packed values.
func Join(fields [][]byte) []byte {
	b := pack.AppendArray(nil, len(fields))
	for _, f := range fields {
		b = append(b, f...)
	}
	return b
}
