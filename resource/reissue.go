package resource

import (
	"bytes"
	"cmp"
	"slices"

	"driftless.dev/hlc"
)

// Reissue gives the writes of one incarnation after a moment to another: what a
// node does with its own when it finds that somebody else wrote under its
// incarnation too. The writes keep their times, and so their place in the
// order; only their names change, so that no two writes share one.
type Reissue struct {
	From, To ID
	// After is the last write that both sides share.
	After hlc.Timestamp
	// Time, when set, gives each write its new time: for a node whose clock was
	// wrong.
	Time func(hlc.Timestamp) hlc.Timestamp
}

func (m *Reissue) moves(p Point) bool { return p.Writer == m.From && p.HLC > m.After }

func (m *Reissue) point(p Point) Point {
	if m.moves(p) {
		p.Writer, p.HLC = m.To, m.at(p.HLC)
	}
	return p
}

func (m *Reissue) at(t hlc.Timestamp) hlc.Timestamp {
	if m.Time == nil {
		return t
	}
	return m.Time(t)
}

// Record returns the record with its stamps, and what refers to them inside it,
// renamed; ok is false when there are none, and the record is then r. Creation is
// renamed too: under its old name a floor might speak of it that another branch
// has raised. Epochs keep their claims: their holders carry them.
func (m *Reissue) Record(r *Record) (out *Record, ok bool) {
	for p := range r.Points() {
		ok = ok || m.moves(p)
	}
	if !ok {
		return r, false
	}
	c := *r
	created := m.point(r.Creation.Point())
	c.Creation.HLC, c.Creation.Writer = created.HLC, created.Writer
	c.Desired = moved(m, r.Desired, r.Desired.Value)
	if d := r.Deletion; d != nil {
		v := d.Value
		v.Ends = m.point(v.Ends)
		if m.moves(d.Stamp.Point()) && v.RequestedAt > m.After {
			v.RequestedAt = m.at(v.RequestedAt)
		}
		reg := moved(m, *d, v)
		c.Deletion = &reg
	}
	if o := r.Observed; o != nil {
		v := o.Value
		v.Incarnation = m.point(v.Incarnation)
		reg := moved(m, *o, v)
		c.Observed = &reg
	}
	c.Finalizers = slices.Clone(r.Finalizers)
	for i := range c.Finalizers {
		f := &c.Finalizers[i]
		f.At, f.Incarnation = m.point(f.At), m.point(f.Incarnation)
	}
	return &c, true
}

// moved builds a register anew under its renamed stamp and context, or leaves
// the bytes alone when nothing in it changes.
func moved[V value](m *Reissue, r Register[V], v V) Register[V] {
	stamp := r.Stamp
	p := m.point(r.Stamp.Point())
	stamp.Writer, stamp.HLC = p.Writer, p.HLC
	context := m.context(r.Context)
	if stamp == r.Stamp && slices.Equal(context, r.Context) && bytes.Equal(appendValue(v), appendValue(r.Value)) {
		return r
	}
	return NewRegister(stamp, context, v)
}

// context renames what a writer knew: of the shared incarnation it knew no more
// than both sides share.
func (m *Reissue) context(c Context) Context {
	i := slices.IndexFunc(c, m.moves)
	if i < 0 {
		return c
	}
	out := slices.Delete(slices.Clone(c), i, i+1)
	out = append(out, m.point(c[i]))
	if m.After > 0 {
		out = append(out, Point{Writer: m.From, HLC: m.After})
	}
	if len(out) > MaxContext {
		oldest := slices.IndexFunc(out, func(p Point) bool {
			return p == slices.MinFunc(out, func(a, b Point) int { return cmp.Compare(a.HLC, b.HLC) })
		})
		out = slices.Delete(out, oldest, oldest+1)
	}
	slices.SortFunc(out, func(a, b Point) int { return bytes.Compare(a.Writer[:], b.Writer[:]) })
	return out
}
