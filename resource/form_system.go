package resource

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/hlc"
)

// clientMeta is the metadata as a server writes it and a client reads it.
type clientMeta struct {
	callerMeta
	systemMeta
}

// serverMeta is the metadata as a server reads it.
type serverMeta struct {
	callerMeta
	ignoredMeta
}

// systemMeta is the metadata that the system owns. Release and epoch are
// desired's.
type systemMeta struct {
	ID                string      `json:"id,omitzero"`
	Digest            string      `json:"digest,omitzero"`
	Version           int64       `json:"version,omitzero"`
	SyncVersion       int64       `json:"syncVersion,omitzero"`
	ContentHash       string      `json:"contentHash,omitzero"`
	SpecHash          string      `json:"specHash,omitzero"`
	Release           uint64      `json:"release,omitzero"`
	Epoch             uint64      `json:"epoch,omitzero"`
	EpochClaim        Point       `json:"epochClaim,omitzero"`
	Fence             Epoch       `json:"fence,omitzero"`
	Incarnation       Point       `json:"incarnation,omitzero"`
	OriginInstance    string      `json:"originInstance,omitzero"`
	CreatedAt         time.Time   `json:"createdAt,omitzero"`
	UpdatedAt         time.Time   `json:"updatedAt,omitzero"`
	DeletionTimestamp *time.Time  `json:"deletionTimestamp,omitzero"`
	DeletionStrength  string      `json:"deletionStrength,omitzero"`
	Deleted           bool        `json:"deleted,omitzero"`
	Desired           stampForm   `json:"desired,omitzero"`
	Deletion          rankedStamp `json:"deletion,omitzero"`
	Observed          rankedStamp `json:"observed,omitzero"`
}

// ignoredMeta has systemMeta's names (a test holds them together) and takes
// whatever stands there, so that an old server reads what a newer one wrote.
type ignoredMeta struct {
	ID                ignored `json:"id"`
	Digest            ignored `json:"digest"`
	Version           ignored `json:"version"`
	SyncVersion       ignored `json:"syncVersion"`
	ContentHash       ignored `json:"contentHash"`
	SpecHash          ignored `json:"specHash"`
	Release           ignored `json:"release"`
	Epoch             ignored `json:"epoch"`
	EpochClaim        ignored `json:"epochClaim"`
	Fence             ignored `json:"fence"`
	Incarnation       ignored `json:"incarnation"`
	OriginInstance    ignored `json:"originInstance"`
	CreatedAt         ignored `json:"createdAt"`
	UpdatedAt         ignored `json:"updatedAt"`
	DeletionTimestamp ignored `json:"deletionTimestamp"`
	DeletionStrength  ignored `json:"deletionStrength"`
	Deleted           ignored `json:"deleted"`
	Desired           ignored `json:"desired"`
	Deletion          ignored `json:"deletion"`
	Observed          ignored `json:"observed"`
}

type ignored struct{}

func (*ignored) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

// stampForm is who wrote a register, and when.
type stampForm struct {
	HLC    hlc.Timestamp `json:"hlc,omitzero"`
	Writer string        `json:"writer,omitzero"`
	Actor  string        `json:"actor,omitzero"`
}

// rankedStamp is a whole stamp.
type rankedStamp struct {
	stampForm
	Release    uint64 `json:"release,omitzero"`
	Epoch      uint64 `json:"epoch,omitzero"`
	EpochClaim Point  `json:"epochClaim,omitzero"`
}

func formOfStamp(s Stamp) stampForm {
	if s.IsZero() {
		return stampForm{}
	}
	return stampForm{HLC: s.HLC, Writer: s.Writer.String(), Actor: s.Actor.String()}
}

func rankedForm(s Stamp) rankedStamp {
	return rankedStamp{formOfStamp(s), s.Release, s.Epoch.Number, s.Epoch.Claim}
}

func (f rankedStamp) stamp(field string) (Stamp, error) {
	s := Stamp{Release: f.Release, Epoch: Epoch{Number: f.Epoch, Claim: f.EpochClaim}, HLC: f.HLC}
	var err error
	if s.Actor, err = ParseActor(f.Actor); err != nil {
		return Stamp{}, fmt.Errorf("%s/actor: %w", field, err)
	}
	if f.Writer == "" {
		return s, nil
	}
	if s.Writer, err = ParseID(f.Writer); err != nil {
		return Stamp{}, fmt.Errorf("%s/writer: %w", field, err)
	}
	return s, nil
}

func (r Resource) systemMeta() systemMeta {
	return systemMeta{
		ID:                r.ID,
		Digest:            r.Digest,
		Version:           r.Version,
		SyncVersion:       r.SyncVersion,
		ContentHash:       r.ContentHash,
		SpecHash:          r.SpecHash,
		Release:           r.DesiredStamp.Release,
		Epoch:             r.DesiredStamp.Epoch.Number,
		EpochClaim:        r.DesiredStamp.Epoch.Claim,
		Fence:             r.Fence,
		Incarnation:       r.Incarnation,
		OriginInstance:    r.OriginInstanceID,
		CreatedAt:         r.CreatedAt.UTC(),
		UpdatedAt:         r.UpdatedAt.UTC(),
		DeletionTimestamp: inUTC(r.DeletionTimestamp),
		DeletionStrength:  r.DeletionStrength.String(),
		Deleted:           r.Deleted,
		Desired:           formOfStamp(r.DesiredStamp),
		Deletion:          rankedForm(r.DeletionStamp),
		Observed:          rankedForm(r.ObservedStamp),
	}
}

// into writes the system's metadata into a resource.
func (m systemMeta) into(r *Resource) (err error) {
	r.ID, r.Digest, r.Version, r.SyncVersion = m.ID, m.Digest, m.Version, m.SyncVersion
	r.ContentHash, r.SpecHash, r.OriginInstanceID = m.ContentHash, m.SpecHash, m.OriginInstance
	r.CreatedAt, r.UpdatedAt = m.CreatedAt.UTC(), m.UpdatedAt.UTC()
	r.Fence = m.Fence
	r.Incarnation, r.Deleted, r.DeletionTimestamp = m.Incarnation, m.Deleted, inUTC(m.DeletionTimestamp)
	if r.DeletionStrength, err = parseStrength(m.DeletionStrength); err != nil {
		return err
	}
	desired := rankedStamp{m.Desired, m.Release, m.Epoch, m.EpochClaim}
	if r.DesiredStamp, err = desired.stamp("metadata/desired"); err != nil {
		return err
	}
	if r.DeletionStamp, err = m.Deletion.stamp("metadata/deletion"); err != nil {
		return err
	}
	if r.ObservedStamp, err = m.Observed.stamp("metadata/observed"); err != nil {
		return err
	}
	last := r.DesiredStamp
	if !r.DeletionStamp.IsZero() && r.DeletionStamp.Point().Compare(last.Point()) >= 0 {
		last = r.DeletionStamp
	}
	r.UpdatedHLC, r.LastWriterID, r.WriterActor = last.HLC, last.Writer.String(), last.Actor
	return nil
}

func parseStrength(s string) (Strength, error) {
	for _, strength := range [...]Strength{NoDeletion, Teardown, Delete} {
		if s == strength.String() {
			return strength, nil
		}
	}
	return NoDeletion, invalidAt("metadata/deletionStrength", fmt.Sprintf("%.64q is not teardown or delete", s))
}
