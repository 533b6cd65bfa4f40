package cli

import (
	"errors"
	"strings"

	"driftless.dev/resource"
)

// kindSet is the kinds that a node knows, resolved by the node's own rules.
type kindSet struct {
	all []resource.Kind
	reg *resource.Registry
}

func newKindSet(kinds []resource.Kind) kindSet {
	s := kindSet{kinds, resource.NewRegistry()}
	for _, k := range kinds {
		k.Schema = nil // nothing is admitted here, and compiling takes time
		// A newer node may have kinds that this program does not take: they are
		// not found, and addressed by id.
		_ = s.reg.Register(k)
	}
	return s
}

// resolve returns the kind that a person's word means.
func (s kindSet) resolve(word string) (resource.Kind, error) { return s.reg.Resolve(word) }

// of returns the kind of a record, the version it was written in if that is
// served.
func (s kindSet) of(r *resource.Resource) (resource.Kind, bool) {
	if k, ok := s.reg.Lookup(r.APIVersion, r.Kind); ok {
		return k, true
	}
	return s.reg.LookupKind(r.GroupKind())
}

// word is the shortest unambiguous word for a kind: "skill", or
// "skill.skill.example.dev" where two groups have one.
func (s kindSet) word(g resource.GroupKind) string {
	word := strings.ToLower(g.Kind)
	if k, ok := s.reg.LookupKind(g); ok && k.Singular != "" {
		word = k.Singular
	}
	k, err := s.reg.Resolve(word)
	if err == nil && k.GroupKind() != g || errors.Is(err, resource.ErrAmbiguous) {
		return word + "." + g.Group
	}
	return word
}

// label names a record for people: "skill/summarise".
func (s kindSet) label(r *resource.Resource) string { return s.word(r.GroupKind()) + "/" + r.Name }

// pathWord is a kind as the API takes it without doubt: the dot stands also
// before an empty group.
func pathWord(g resource.GroupKind) string { return g.Kind + "." + g.Group }
