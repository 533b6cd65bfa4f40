package replicate

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// MemberSpec is the spec of a Member record: one per instance, named by its id,
// written by the instance itself. The live ones are the fleet's roster.
type MemberSpec struct {
	Name string `json:"name"`
	// Incarnations are the instance's, the present one last.
	Incarnations []string `json:"incarnations"`
	Realms       []string `json:"realms"`
	// Ended are incarnations of which not every event stands: what comes after
	// the last was written anew under another, and is void.
	Ended []Ended `json:"ended,omitempty"`
}

// Ended says up to where an incarnation's events stand.
type Ended struct {
	Incarnation string `json:"incarnation"`
	LastSeq     uint64 `json:"lastSeq"`
}

// maxIncarnations bounds what a Member record tells of the past.
const maxIncarnations = 32

// Roster is who the fleet's members are, as the Member records name them.
type Roster struct {
	// Names are the members' by instance, this node's included.
	Names map[resource.ID]string
	// Ended are the last events that stand, by incarnation.
	Ended map[resource.ID]uint64
}

// ReadRoster reads the live Member records of a store; name is its own.
func ReadRoster(ctx context.Context, s *store.Store, name string) (Roster, error) {
	// One damaged record must not keep the node from the others, who have it.
	page, err := s.Query(ctx, store.Query{Kind: resource.MemberKind, Scope: &resource.Scope{}, Sound: true})
	if err != nil {
		return Roster{}, err
	}
	r := Roster{Names: map[resource.ID]string{}, Ended: map[resource.ID]uint64{}}
	for i := range page.Items {
		r.add(&page.Items[i])
	}
	r.Names[s.Identity().Instance] = name
	return r, nil
}

func (r *Roster) add(m *resource.Resource) {
	id, err := resource.ParseID(m.Name)
	if err != nil {
		return // not written by a node: nobody to wait for
	}
	spec, err := resource.DecodeSpec[MemberSpec](*m)
	if err != nil || spec.Name == "" {
		spec.Name = m.Name
	}
	r.Names[id] = spec.Name
	for _, e := range spec.Ended {
		if inc, err := resource.ParseID(e.Incarnation); err == nil {
			r.Ended[inc] = e.LastSeq
		}
	}
}

// SayMember makes a store's own Member record say what it should, and leaves one
// that does. removed says that there was none: it is written again, unless a
// person's removal stands, which refuses it.
func SayMember(ctx context.Context, s *store.Store, name string) (removed bool, err error) {
	id := s.Identity().Instance.String()
	say := func(r *resource.Resource) error { return sayMember(s, name, r) }
	_, err = s.Update(ctx, resource.MemberKind, resource.Scope{}, id, say, store.As(resource.System))
	if !errors.Is(err, resource.ErrNotFound) {
		return false, err
	}
	r := resource.Resource{APIVersion: resource.CoreGroupVersion, Kind: resource.MemberKind, Name: id}
	if err := say(&r); err != nil {
		return true, err
	}
	_, err = s.Put(ctx, r, store.As(resource.System))
	return true, err
}

// sayMember writes what a store is into its Member record, or leaves one that
// says so.
func sayMember(s *store.Store, name string, r *resource.Resource) error {
	inc := s.Identity().Incarnation.String()
	want := MemberSpec{Name: name, Realms: []string{"*"}}
	had, err := resource.DecodeSpec[MemberSpec](*r)
	if err == nil {
		want.Incarnations = had.Incarnations
	}
	if !slices.Contains(want.Incarnations, inc) {
		want.Incarnations = append(slices.Clone(want.Incarnations), inc)
		want.Incarnations = want.Incarnations[max(0, len(want.Incarnations)-maxIncarnations):]
	}
	for _, p := range s.Past() {
		if p.Cut {
			want.Ended = append(want.Ended, Ended{Incarnation: p.Incarnation.String(), LastSeq: p.Last})
		}
	}
	want.Ended = want.Ended[max(0, len(want.Ended)-maxIncarnations):]
	if err == nil && reflect.DeepEqual(had, want) {
		return resource.ErrSkipUpdate
	}
	r.Spec, err = resource.EncodeSpec(want)
	return err
}
