package sim

import (
	"strings"

	"driftless.dev/resource"
)

// included reports whether a state that holds a record so (nil: not at all) has
// a version in it: it is there, or something above it is, or it went with what
// was collected.
func (b *books) included(r *resource.Record, v *version) bool {
	if r == nil || v.write != nil && r.Creation.Point() != v.write.record.Creation.Point() && b.ended(v, resource.Point{}) {
		// Another life, or one that was created apart: the version's own ended, and
		// may have been collected before the two met.
		return b.ended(v, resource.Point{})
	}
	if have, ok := held(r, v.name); ok && (have.stamp == v.stamp || !above(v, &have)) {
		return true
	}
	if strings.HasPrefix(v.name, finalizers) && (len(b.keys[v.id]) > resource.MaxFinalizers || b.swept(v)) {
		return true
	}
	return b.ended(v, r.Creation.Point())
}

// swept reports whether a finalizer's entry may be gone: its last word is a
// removal.
func (b *books) swept(v *version) bool {
	_, last := highest(b.versions[v.register])
	return last != nil && !last.present
}

// ended reports whether a version belongs to a life of its record that was
// deleted before the moment given, or, with none given, at all: some deletion
// stands above it and above every other write of that life.
func (b *books) ended(v *version, before resource.Point) bool {
	for _, d := range b.versions[register{v.id, deletion}] {
		if !before.IsZero() && !pointAbove(before, d.stamp.Point()) {
			continue
		}
		switch v.name {
		case desired, deletion:
			if !rankedAbove(v.stamp, d.stamp) {
				return true
			}
		default: // status and finalizers go with the record, whatever their time
			return true
		}
	}
	return false
}
