package resource

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// Resource returns what the record means: a pure function of it, so equal
// records give equal resources on every node. The result owns its memory.
func (r *Record) Resource() Resource {
	d := &r.Desired.Value
	out := Resource{
		APIVersion:  d.APIVersion,
		Kind:        r.Kind.Kind,
		ID:          r.ID.String(),
		Name:        r.Name,
		Scope:       r.Scope,
		Labels:      cloneMap(d.Labels),
		Annotations: cloneMap(d.Annotations),
		Spec:        cloneJSON(d.Spec),
		Status:      cloneJSON(r.shownStatus()),
		Owner:       d.Owner,
	}
	out.Envelope = r.envelope()
	content, spec := hashes(&out)
	out.ContentHash, out.SpecHash = hex.EncodeToString(content[:]), hex.EncodeToString(spec[:])
	return out
}

func (r *Record) envelope() Envelope {
	d := &r.Desired.Value
	last := r.Desired.Stamp
	if r.Deletion != nil && r.Deletion.Stamp.Point().Compare(last.Point()) >= 0 {
		last = r.Deletion.Stamp
	}
	digest := r.Digest()
	e := Envelope{
		SyncVersion:      int64(r.SyncVersion),
		Version:          int64(r.Version),
		OriginInstanceID: r.Creation.Origin.String(),
		UpdatedHLC:       last.HLC,
		LastWriterID:     last.Writer.String(),
		WriterActor:      last.Actor,
		Deleted:          r.Deleted(),
		OwnerReferences:  slices.Clone(d.OwnerReferences),
		Digest:           hex.EncodeToString(digest[:]),
		ValidFrom:        parseTime(d.ValidFrom),
		ValidTo:          parseTime(d.ValidTo),
		CreatedAt:        r.Creation.HLC.Time(),
		UpdatedAt:        r.Newest().HLC.Time(),
		Incarnation:      r.ShownIncarnation(),
		Fence:            r.Fence,
		DesiredStamp:     r.Desired.Stamp,
	}
	for _, f := range r.Finalizers {
		if f.Present {
			e.Finalizers = append(e.Finalizers, f.Key)
		}
	}
	if r.Deletion != nil {
		e.DeletionStamp = r.Deletion.Stamp
	}
	if r.Observed != nil {
		e.ObservedStamp = r.Observed.Stamp
	}
	if r.Requested() {
		at := r.Deletion.Value.RequestedAt.Time()
		e.DeletionTimestamp, e.DeletionStrength = &at, r.Deletion.Value.Strength
	}
	return e
}

// shownStatus is the status of the current incarnation: one written for an
// earlier incarnation is kept, and not shown.
func (r *Record) shownStatus() []byte {
	if r.Observed == nil || r.Observed.Value.Incarnation != r.Incarnation() {
		return nil
	}
	return r.Observed.Value.Status
}

func cloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func cloneJSON(b []byte) json.RawMessage {
	if b == nil {
		return nil
	}
	return append(make(json.RawMessage, 0, len(b)), b...)
}

// formatTime is the canonical text of an optional time: RFC 3339 in UTC, ""
// for nil.
func formatTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(s string) *time.Time {
	if s == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return nil // readTime has refused it
	}
	return &t
}

// Desire turns a resource's own fields into the value of the desired register,
// canonicalising the spec. Empty maps and lists count as absent.
func Desire(r Resource) (Desired, error) {
	d := Desired{
		APIVersion:      r.APIVersion,
		Labels:          cloneMap(r.Labels),
		Annotations:     cloneMap(r.Annotations),
		Owner:           r.Owner,
		OwnerReferences: slices.Clone(r.OwnerReferences),
		ValidFrom:       formatTime(r.ValidFrom),
		ValidTo:         formatTime(r.ValidTo),
	}
	if len(d.OwnerReferences) == 0 {
		d.OwnerReferences = nil
	}
	if !d.isText() {
		return Desired{}, fmt.Errorf("%w: a text of the resource is not UTF-8", ErrInvalid)
	}
	for _, t := range [...]*time.Time{r.ValidFrom, r.ValidTo} {
		if t != nil && (t.UTC().Year() < 0 || t.UTC().Year() > 9999) {
			return Desired{}, fmt.Errorf("%w: validFrom and validTo lie in the years 0 to 9999", ErrInvalid)
		}
	}
	var err error
	d.Spec, err = canonicalOrNil("spec", r.Spec)
	return d, err
}

// isText reports whether every text is UTF-8: what is not would be written and
// never read again.
func (d *Desired) isText() bool {
	ok := utf8.ValidString(d.APIVersion) && utf8.ValidString(d.Owner)
	for _, m := range [...]map[string]string{d.Labels, d.Annotations} {
		for k, v := range m {
			ok = ok && utf8.ValidString(k) && utf8.ValidString(v)
		}
	}
	for _, o := range d.OwnerReferences {
		ok = ok && utf8.ValidString(o.APIVersion) && utf8.ValidString(o.Kind) && utf8.ValidString(o.Name) && utf8.ValidString(o.ID)
	}
	return ok
}

// CanonicalStatus returns the canonical bytes of a status, nil for an unset
// one.
func CanonicalStatus(status json.RawMessage) ([]byte, error) {
	return canonicalOrNil("status", status)
}

func canonicalOrNil(field string, b json.RawMessage) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	c, err := Canonical(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if string(c) == "null" {
		return nil, nil // null says unset in every JSON dialect of records
	}
	return c, nil
}
