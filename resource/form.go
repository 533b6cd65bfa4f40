package resource

import (
	"encoding/json"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// form is the JSON form of a resource, in the order people read it. M is its
// metadata: clientMeta with the system's part, serverMeta without.
type form[M any] struct {
	APIVersion string         `json:"apiVersion,omitzero"`
	Kind       string         `json:"kind,omitzero"`
	Metadata   M              `json:"metadata"`
	Spec       jsontext.Value `json:"spec,omitzero"`
	Status     jsontext.Value `json:"status,omitzero"`
}

// callerMeta is the metadata that a caller may write.
type callerMeta struct {
	Name            string                  `json:"name,omitzero"`
	GenerateName    string                  `json:"generateName,omitzero"`
	Scope           Scope                   `json:"scope,omitzero"`
	Labels          part[map[string]string] `json:"labels,omitzero"`
	Annotations     part[map[string]string] `json:"annotations,omitzero"`
	Finalizers      part[[]string]          `json:"finalizers,omitzero"`
	OwnerReferences part[[]OwnerReference]  `json:"ownerReferences,omitzero"`
	Owner           string                  `json:"owner,omitzero"`
	ValidFrom       *time.Time              `json:"validFrom,omitzero"`
	ValidTo         *time.Time              `json:"validTo,omitzero"`
}

// part is a value that knows whether the document named it. A null names it,
// and is empty.
type part[T any] struct {
	named bool
	value T
}

func (p part[T]) IsZero() bool { return !p.named }

func (p part[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	return jsonv2.MarshalEncode(enc, p.value)
}

func (p *part[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	p.named = true
	return jsonv2.UnmarshalDecode(dec, &p.value)
}

// Given says which parts of a resource a document named, be it with null. The
// parts that it left out stay as they are stored.
type Given struct {
	Finalizers, OwnerReferences, Status, Labels, Annotations bool
}

// MarshalJSON writes the JSON form: apiVersion, kind, metadata, spec, status,
// with the canonical bytes of spec and status as they are and empty fields left
// out. The envelope's triple of last writer, actor and HLC is not written: it
// follows from the stamps.
func (r Resource) MarshalJSON() ([]byte, error) {
	f := form[clientMeta]{
		APIVersion: r.APIVersion,
		Kind:       r.Kind,
		Metadata: clientMeta{
			callerMeta: callerMeta{
				Name:            r.Name,
				GenerateName:    r.GenerateName,
				Scope:           r.Scope,
				Labels:          part[map[string]string]{len(r.Labels) > 0, r.Labels},
				Annotations:     part[map[string]string]{len(r.Annotations) > 0, r.Annotations},
				Finalizers:      part[[]string]{len(r.Finalizers) > 0, r.Finalizers},
				OwnerReferences: part[[]OwnerReference]{len(r.OwnerReferences) > 0, r.OwnerReferences},
				Owner:           r.Owner,
				ValidFrom:       inUTC(r.ValidFrom),
				ValidTo:         inUTC(r.ValidTo),
			},
			systemMeta: r.systemMeta(),
		},
	}
	if len(r.Spec) > 0 {
		f.Spec = jsontext.Value(r.Spec)
	}
	if len(r.Status) > 0 {
		f.Status = jsontext.Value(r.Status)
	}
	return jsonv2.Marshal(f, typedOptions, jsonv2.Deterministic(true))
}

// UnmarshalJSON reads all that MarshalJSON writes, the system's fields too: it
// is for clients, who hand back the stamps and versions that they read. Fields
// it does not know are passed over, since a server may be newer; duplicate keys
// and names in another case are not. Spec and status come out canonical. Errors
// wrap ErrInvalid and name the place.
func (r *Resource) UnmarshalJSON(data []byte) error {
	var f form[clientMeta]
	if err := unmarshalForm(data, &f); err != nil {
		return err
	}
	out, err := resourceOf(f, f.Metadata.callerMeta)
	if err != nil {
		return err
	}
	if err := f.Metadata.systemMeta.into(&out); err != nil {
		return err
	}
	*r = out
	return nil
}

// ParseForm reads the JSON form as a server does. What the system owns is
// accepted, so that what was read can be written back, and dropped. Everything
// else is strict: an unknown field, a name in another case ("ACTOR" beside
// "actor"), a duplicate, bad UTF-8 is ErrInvalid with the place. Spec and
// status come out canonical, and a null one nil; the rest is not validated.
func ParseForm(data []byte) (Resource, Given, error) {
	var f form[serverMeta]
	if err := unmarshalForm(data, &f, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Resource{}, Given{}, err
	}
	m := f.Metadata.callerMeta
	given := Given{
		Finalizers:      m.Finalizers.named,
		OwnerReferences: m.OwnerReferences.named,
		Status:          f.Status != nil,
		Labels:          m.Labels.named,
		Annotations:     m.Annotations.named,
	}
	r, err := resourceOf(f, m)
	if err != nil {
		return Resource{}, Given{}, err
	}
	return r, given, nil
}

func unmarshalForm(data []byte, f any, opts ...jsonv2.Options) error {
	if err := jsonv2.Unmarshal(data, f, opts...); err != nil {
		return invalidJSON("", err)
	}
	if jsontext.Value(data).Kind() != jsontext.KindBeginObject {
		return invalidAt("", "the JSON form of a resource is an object")
	}
	return nil
}

// resourceOf takes over a form, save the system's metadata.
func resourceOf[M any](f form[M], m callerMeta) (Resource, error) {
	r := Resource{
		APIVersion:   f.APIVersion,
		Kind:         f.Kind,
		Name:         m.Name,
		GenerateName: m.GenerateName,
		Scope:        m.Scope,
		Labels:       NormalizeStrings(m.Labels.value),
		Annotations:  NormalizeStrings(m.Annotations.value),
		Owner:        m.Owner,
	}
	if len(m.Finalizers.value) > 0 {
		r.Finalizers = m.Finalizers.value
	}
	if len(m.OwnerReferences.value) > 0 {
		r.OwnerReferences = m.OwnerReferences.value
	}
	r.ValidFrom, r.ValidTo = inUTC(m.ValidFrom), inUTC(m.ValidTo)
	var err error
	if r.Spec, err = canonicalPart("spec", f.Spec); err != nil {
		return Resource{}, err
	}
	if r.Status, err = canonicalPart("status", f.Status); err != nil {
		return Resource{}, err
	}
	return r, nil
}

// canonicalPart is the canonical form of a spec or status; absent and null are
// both nil.
func canonicalPart(field string, v jsontext.Value) (json.RawMessage, error) {
	if v == nil || v.Kind() == jsontext.KindNull {
		return nil, nil
	}
	return canonicalAt(field, v)
}

// inUTC is a copy of an optional time: equal instants have one text.
func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
