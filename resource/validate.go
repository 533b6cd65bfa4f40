package resource

import (
	"fmt"
	"slices"
	"strings"

	"driftless.dev/hlc"
)

// MaxCounter bounds SyncVersion and Version, MaxRank a stamp's release and an
// epoch's number: far beyond what a fleet reaches, and low enough that a
// hostile peer's value leaves room to count on from.
//
// MaxHLC bounds stamps: times beyond the year 9999 have no RFC 3339 form, and a
// clock that stood at its end would issue one stamp for ever.
const (
	MaxHLC     = hlc.Timestamp(253_402_300_799_000 << 16)
	MaxCounter = 1 << 62
	MaxRank    = 1 << 32
)

// Validate checks the protocol constants that every node judges alike at
// merge. Schemas, quotas and configured limits are not among them: they are
// judged once, by the node that takes the write.
func (r *Record) Validate() error {
	if r.ID.IsZero() {
		return fmt.Errorf("%w: record without id", ErrInvalid)
	}
	if r.Kind.Kind == "" || strings.ContainsAny(r.Kind.Kind, "./ ") {
		return fmt.Errorf("%w: record %s has no kind", ErrInvalid, r.ID)
	}
	if err := ValidateName("name", r.Name); err != nil {
		return err
	}
	if err := r.Scope.Validate(); err != nil {
		return err
	}
	if r.Creation.HLC == 0 || r.Creation.Writer.IsZero() || r.Creation.Origin.IsZero() {
		return fmt.Errorf("%w: record %s has no creation stamp", ErrInvalid, r.ID)
	}
	if group, version := SplitAPIVersion(r.Desired.Value.APIVersion); group != r.Kind.Group || version == "" {
		return fmt.Errorf("%w: record %s of kind %s has apiVersion %q", ErrInvalid, r.ID, r.Kind, r.Desired.Value.APIVersion)
	}
	if r.SyncVersion > MaxCounter || r.Version > MaxCounter {
		return fmt.Errorf("%w: record %s has a counter out of bounds", ErrInvalid, r.ID)
	}
	if err := r.validateStamps(); err != nil {
		return err
	}
	if err := r.validateSizes(); err != nil {
		return err
	}
	return r.validateJSON()
}

// maxDeletionSize bounds a deletion register, which holds nothing large.
const maxDeletionSize = 64 << 10

// validateSizes bounds each register on its own, so that no join of valid
// records is larger than a frame may be.
func (r *Record) validateSizes() error {
	sizes := [...]struct{ size, most int }{{registerSize(&r.Desired), MaxRecordSize}, {registerSize(r.Deletion), maxDeletionSize}, {registerSize(r.Observed), MaxRecordSize}}
	for _, s := range sizes {
		if s.size > s.most {
			return fmt.Errorf("%w: record %s: register of %d bytes, at most %d", ErrTooLarge, r.ID, s.size, s.most)
		}
	}
	for _, f := range r.Finalizers {
		if len(f.Key) > MaxNameSize {
			return fmt.Errorf("%w: record %s: finalizer key of %d bytes", ErrInvalid, r.ID, len(f.Key))
		}
	}
	return nil
}

func registerSize[V any](r *Register[V]) int {
	if r == nil {
		return 0
	}
	return len(r.body) + len(r.Signature)
}

// validateStamps checks that no stamp's rank is out of bounds, and that the
// fence is the highest epoch, or nobody could write under it.
func (r *Record) validateStamps() error {
	for p := range r.points {
		if p.HLC > MaxHLC {
			return fmt.Errorf("%w: record %s: stamp %s lies beyond the year 9999", ErrInvalid, r.ID, p)
		}
	}
	if r.Deletion != nil && r.Deletion.Value.RequestedAt > MaxHLC || r.Fence.Claim.HLC > MaxHLC {
		return fmt.Errorf("%w: record %s holds a time beyond the year 9999", ErrInvalid, r.ID)
	}
	stamps := []Stamp{r.Desired.Stamp}
	if r.Deletion != nil {
		stamps = append(stamps, r.Deletion.Stamp)
	}
	if r.Observed != nil {
		stamps = append(stamps, r.Observed.Stamp)
	}
	for _, s := range stamps {
		if s.Release > MaxRank || s.Epoch.Compare(r.Fence) > 0 {
			return fmt.Errorf("%w: record %s: stamp %s has a release or epoch out of bounds", ErrInvalid, r.ID, s.Point())
		}
	}
	if r.Fence.Number > MaxRank {
		return fmt.Errorf("%w: record %s has a fence out of bounds", ErrInvalid, r.ID)
	}
	return nil
}

// validateJSON checks that spec and status are in canonical form, so that the
// digest of a register is the digest of one meaning.
func (r *Record) validateJSON() error {
	blobs := [...]struct {
		name string
		json []byte
	}{{"spec", r.Desired.Value.Spec}, {"status", nil}}
	if r.Observed != nil {
		blobs[1].json = r.Observed.Value.Status
	}
	for _, b := range blobs {
		if b.json == nil {
			continue
		}
		if string(b.json) == "null" {
			return fmt.Errorf("%w: record %s: %s is null, unset is nil", ErrInvalid, r.ID, b.name)
		}
		c, err := Canonical(b.json)
		if err != nil {
			return fmt.Errorf("record %s: %s: %w", r.ID, b.name, err)
		}
		if !slices.Equal(c, b.json) {
			return fmt.Errorf("%w: record %s: %s is not canonical JSON", ErrInvalid, r.ID, b.name)
		}
	}
	return nil
}
