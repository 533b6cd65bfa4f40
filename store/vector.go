package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Position says how far an incarnation's events are in a state: every event up
// to Seq, the last of them written at HLC, with that event's hash.
type Position struct {
	Seq  uint64
	HLC  hlc.Timestamp
	Hash [32]byte
}

// Vector holds a Position per incarnation: what a state covers. An entry moves
// by an event whose predecessor is in, or by adoption of a vector whose state
// is provably included; never because of a single pulled record.
type Vector map[resource.ID]Position

// Clone returns a copy.
func (v Vector) Clone() Vector { return maps.Clone(v) }

// above reports whether p rises q when it is joined into it.
func (p Position) above(q Position) bool { return q.join(p) != q }

// join is the maximum, event and time apart. Two states may have taken in
// different events under one dot, from both sides of a fork that has been
// settled since: then the higher hash stands, or they would never agree. And an
// author whose clock was wrong vouches for more of its time than its last event
// says.
func (p Position) join(q Position) Position {
	at := max(p.HLC, q.HLC)
	if cmp.Or(cmp.Compare(q.Seq, p.Seq), bytes.Compare(q.Hash[:], p.Hash[:])) > 0 {
		p = q
	}
	p.HLC = at
	return p
}

// Least is the minimum of two positions, event and time apart: what both cover.
func (p Position) Least(q Position) Position {
	at := min(p.HLC, q.HLC)
	if q.Seq < p.Seq {
		p = q
	}
	p.HLC = at
	return p
}

// Covers reports whether v is at or beyond every entry of o.
func (v Vector) Covers(o Vector) bool {
	for id, p := range o {
		if p.above(v[id]) {
			return false
		}
	}
	return true
}

// Join raises v's entries to o's and reports which rose.
func (v Vector) Join(o Vector) (rose []resource.ID) {
	for _, id := range o.Incarnations() {
		if o[id].above(v[id]) {
			v[id] = v[id].join(o[id])
			rose = append(rose, id)
		}
	}
	return rose
}

// Incarnations returns the keys in byte order, so that nothing depends on the
// order of a map.
func (v Vector) Incarnations() []resource.ID {
	ids := slices.Collect(maps.Keys(v))
	slices.SortFunc(ids, func(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// Digest is the SHA-256 of the vector's canonical bytes.
func (v Vector) Digest() [32]byte { return sha256.Sum256(v.AppendTo(nil)) }

// AppendTo appends the vector as one array, sorted by incarnation.
func (v Vector) AppendTo(b []byte) []byte {
	b = pack.AppendArray(b, len(v))
	for _, id := range v.Incarnations() {
		p := v[id]
		b = pack.AppendArray(b, 4)
		b = pack.AppendBin(b, id[:])
		b = appendPosition(b, p)
	}
	return b
}

func appendPosition(b []byte, p Position) []byte {
	b = pack.AppendUint(b, p.Seq)
	b = pack.AppendUint(b, uint64(p.HLC))
	return pack.AppendBin(b, p.Hash[:])
}

func readPosition(r *pack.Reader) (p Position) {
	p.Seq = r.Uint()
	p.HLC = hlc.Timestamp(r.Uint())
	r.Fixed(p.Hash[:])
	return p
}
