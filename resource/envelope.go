package resource

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"driftless.dev/hlc"
)

// foreignIDTag separates ids made of another model's free-form writer names.
const foreignIDTag = "driftless-foreign/1"

// FromEnvelope builds a record from a resource of the foundation model, which
// has a single envelope: all registers are stamped by it. A resource read from
// a driftless store keeps its own stamps.
func FromEnvelope(r Resource) (Record, error) {
	if err := ValidateForMerge(r); err != nil {
		return Record{}, err
	}
	id, err := ParseID(r.ID)
	if err != nil {
		return Record{}, err
	}
	d, err := Desire(r)
	if err != nil {
		return Record{}, err
	}
	status, err := CanonicalStatus(r.Status)
	if err != nil {
		return Record{}, err
	}
	if err := ValidateFinalizers(r.Finalizers); err != nil {
		return Record{}, err
	}
	envelope := r.envelopeStamp()
	rec := Record{
		ID: id, Kind: r.GroupKind(), Scope: r.Scope, Name: r.Name,
		Creation:    Creation{HLC: r.creationHLC(), Writer: foreignID(r.OriginInstanceID), Origin: foreignID(r.OriginInstanceID)},
		SyncVersion: uint64(max(r.SyncVersion, 0)), Version: uint64(max(r.Version, 0)), Fence: r.Fence,
		Desired: NewRegister(r.WriteStamp(), nil, d),
	}
	if r.Deleted || r.DeletionTimestamp != nil || r.returned() {
		reg := NewRegister(orElse(r.DeletionStamp, envelope), nil, r.deletion())
		rec.Deletion = &reg
	}
	if status != nil {
		reg := NewRegister(orElse(r.ObservedStamp, envelope), nil, Observed{Incarnation: rec.Incarnation(), Status: status})
		rec.Observed = &reg
	}
	for _, k := range slices.Sorted(slices.Values(r.Finalizers)) {
		rec.Finalizers = append(rec.Finalizers, Finalizer{Key: k, Incarnation: rec.Incarnation(), At: envelope.Point(), Present: true})
	}
	for _, s := range [...]Stamp{r.DesiredStamp, r.DeletionStamp, r.ObservedStamp} {
		if s.Epoch.Compare(rec.Fence) > 0 {
			rec.Fence = s.Epoch
		}
	}
	return rec, rec.Validate()
}

// WriteStamp is the stamp of desired; for a resource of the foundation model,
// which has none, the stamp that its single envelope stands for.
func (r Resource) WriteStamp() Stamp { return orElse(r.DesiredStamp, r.envelopeStamp()) }

func (r Resource) envelopeStamp() Stamp {
	return Stamp{Actor: r.WriterActor, HLC: r.UpdatedHLC, Writer: foreignID(r.LastWriterID)}
}

// returned tells of a deletion that was taken back: the present incarnation
// goes by it.
func (r Resource) returned() bool {
	return !r.DeletionStamp.IsZero() && r.Incarnation == r.DeletionStamp.Point() && r.DeletionStamp.Compare(r.WriteStamp()) < 0
}

// deletion is the deletion that the envelope tells of. The foundation model
// knows one strength.
func (r Resource) deletion() Deletion {
	d := Deletion{Strength: r.DeletionStrength, RequestedAt: orElse(r.DeletionStamp, r.envelopeStamp()).HLC}
	if r.DeletionTimestamp != nil {
		d.RequestedAt = hlc.At(r.DeletionTimestamp.UnixMilli(), 0)
	}
	if d.Strength == NoDeletion || r.Deleted {
		d.Strength = Delete
	}
	// The first incarnation is shown by the creation stamp, of which the
	// envelope keeps the millisecond; the foundation model knows no other.
	if r.Incarnation.HLC.Millis() > r.CreatedAt.UnixMilli() && !r.returned() {
		d.Ends = r.Incarnation
	}
	return d
}

// creationHLC derives a creation stamp from CreatedAt, else from the last
// write: a record without either was created no later than that.
func (r Resource) creationHLC() hlc.Timestamp {
	if ms := r.CreatedAt.UnixMilli(); !r.CreatedAt.IsZero() && ms > 0 {
		return hlc.At(ms, 0)
	}
	return r.UpdatedHLC
}

func orElse(s, fallback Stamp) Stamp {
	if s.IsZero() {
		return fallback
	}
	return s
}

// foreignID reads an id's text form, or derives one from a free-form name.
func foreignID(name string) ID {
	if id, err := ParseID(name); err == nil {
		return id
	}
	sum := sha256.Sum256([]byte(foreignIDTag + "\x00" + name))
	return ID(sum[:16])
}

// ValidateForMerge checks that a replicated resource carries the envelope that
// a merge relies on.
func ValidateForMerge(r Resource) error {
	for _, f := range [...]struct {
		name    string
		missing bool
	}{
		{"id", r.ID == ""}, {"apiVersion", r.APIVersion == ""}, {"kind", r.Kind == ""}, {"name", r.Name == ""},
		{"updatedHLC", r.UpdatedHLC == 0}, {"originInstanceID", r.OriginInstanceID == ""}, {"lastWriterID", r.LastWriterID == ""},
	} {
		if f.missing {
			return fmt.Errorf("%w: merge resource: %s is missing", ErrInvalid, f.name)
		}
	}
	return nil
}
