package sim

import (
	"bytes"

	"driftless.dev/resource"
)

// The order of versions, written down a second time, from the rules and not
// from the code: what package resolve does is held against it.

// above reports whether a stands above b in the order of their register.
func above(a, b *version) bool {
	switch a.name {
	case desired, deletion:
		return rankedAbove(a.stamp, b.stamp)
	case observed:
		x, y := a.stamp, b.stamp
		if x.Release != y.Release {
			return x.Release > y.Release
		}
		if x.Epoch != y.Epoch {
			return epochAbove(x.Epoch, y.Epoch)
		}
		return pointAbove(x.Point(), y.Point())
	}
	if a.incarnation != b.incarnation {
		return pointAbove(a.incarnation, b.incarnation)
	}
	if a.stamp.Point() != b.stamp.Point() {
		return pointAbove(a.stamp.Point(), b.stamp.Point())
	}
	return a.present && !b.present
}

// rankedAbove: release; a person above automation; of two automated writes the
// later epoch; the later time; the higher writer.
func rankedAbove(x, y resource.Stamp) bool {
	if x.Release != y.Release {
		return x.Release > y.Release
	}
	xh, yh := x.Actor == resource.Human, y.Actor == resource.Human
	if xh != yh {
		return xh
	}
	if !xh && x.Epoch != y.Epoch {
		return epochAbove(x.Epoch, y.Epoch)
	}
	return pointAbove(x.Point(), y.Point())
}

func epochAbove(a, b resource.Epoch) bool {
	if a.Number != b.Number {
		return a.Number > b.Number
	}
	return pointAbove(a.Claim, b.Claim)
}

func pointAbove(a, b resource.Point) bool {
	if a.HLC != b.HLC {
		return a.HLC > b.HLC
	}
	return bytes.Compare(a.Writer[:], b.Writer[:]) > 0
}

// highest returns the highest version that nothing destroyed, and the highest
// of all.
func highest(vs []*version) (safe, all *version) {
	for _, v := range vs {
		if all == nil || above(v, all) {
			all = v
		}
		if !v.gone && !v.renamed && v.acked && (safe == nil || above(v, safe)) {
			safe = v
		}
	}
	return safe, all
}

// held returns what a record holds in one register.
func held(r *resource.Record, name string) (v version, ok bool) {
	for _, v := range registersOf(r) {
		if v.name == name {
			return v, true
		}
	}
	return version{}, false
}

// dead reports whether a record is a tombstone, from its registers.
func dead(r *resource.Record) bool {
	if r.Deletion == nil || r.Deletion.Value.Strength != resource.Delete || rankedAbove(r.Desired.Stamp, r.Deletion.Stamp) {
		return false
	}
	for _, f := range r.Finalizers {
		if f.Present {
			return false
		}
	}
	return true
}
