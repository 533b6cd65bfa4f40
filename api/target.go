package api

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// target is what a path addresses: an id, or kind, scope and, save for a
// create, name.
type target struct {
	id    resource.ID
	word  string // the kind, in any form that the registry resolves
	scope resource.Scope
	name  string
}

// target reads a path that addresses a record.
func (c *call) target() (t target, err error) {
	if c.r.PathValue("id") != "" {
		t.id, err = c.id()
		return t, err
	}
	if t.scope, err = c.scope(); err != nil {
		return t, err
	}
	t.name, err = c.name()
	t.word = c.r.PathValue("kind")
	return t, err
}

// address is the target as a write's.
func (t target) address(op store.Op) store.Write {
	return store.Write{Op: op, ID: t.id, Kind: t.word, Scope: t.scope, Name: t.name}
}

// read returns the live record that the target means.
func (c *call) read(t target) (resource.Resource, error) {
	if !t.id.IsZero() {
		return c.store().GetByID(c.r.Context(), t.id.String())
	}
	return c.store().Get(c.r.Context(), t.word, t.scope, t.name)
}

func (c *call) store() *store.Store { return c.cfg.Node.Store() }

// document reads a body that says what a target shall be.
func (c *call) document(t target) (resource.Resource, resource.Given, error) {
	r, given, err := c.form()
	if err != nil {
		return resource.Resource{}, resource.Given{}, err
	}
	return r, given, c.complete(&r, t)
}

// complete fills in what a body left out from what the path says, and refuses
// what disagrees.
func (c *call) complete(r *resource.Resource, t target) error {
	if !t.id.IsZero() {
		cur, err := c.read(t)
		if errors.Is(err, resource.ErrNotFound) && r.APIVersion != "" && r.Kind != "" && r.Name != "" {
			return nil // a tombstone that returns, if it is that: the store judges
		}
		if err != nil {
			return err
		}
		return agree(r, cur)
	}
	want := resource.Resource{Scope: t.scope, Name: t.name}
	kind, err := c.store().Registry().Resolve(t.word)
	switch {
	case err == nil:
		want.APIVersion, want.Kind = kind.APIVersion, kind.Name
	case errors.Is(err, resource.ErrNotFound) && r.APIVersion != "" && means(t.word, r.GroupKind()):
		// An unknown kind: the store tells whether a parked record has the name.
		want.APIVersion, want.Kind = r.APIVersion, r.Kind
	default:
		return err
	}
	return agree(r, want)
}

// means reports whether a path's word is the name of a kind, qualified or not.
func means(word string, g resource.GroupKind) bool {
	return strings.EqualFold(word, g.Kind) || strings.EqualFold(word, kindWord(g))
}

// kindWord is the form of a kind that is never ambiguous: the dot stands also
// before an empty group.
func kindWord(g resource.GroupKind) string { return g.Kind + "." + g.Group }

// agree fills in absent parts of the address and holds the rest to it. The
// version of apiVersion is the body's own.
func agree(r *resource.Resource, want resource.Resource) error {
	if r.APIVersion == "" {
		r.APIVersion = want.APIVersion
	}
	if r.Kind == "" {
		r.Kind = want.Kind
	}
	if r.Scope.IsGlobal() {
		r.Scope = want.Scope
	}
	if r.Name == "" {
		r.Name = want.Name
	}
	got, expected := r.GroupKind(), want.GroupKind()
	switch {
	case got.Kind != expected.Kind:
		return disagrees("kind", got.Kind, expected.Kind)
	case got.Group != expected.Group:
		return disagrees("apiVersion", r.APIVersion, want.APIVersion)
	case r.Scope != want.Scope:
		return disagrees("metadata.scope", r.Scope.String(), want.Scope.String())
	case want.Name != "" && r.Name != want.Name:
		return disagrees("metadata.name", r.Name, want.Name)
	}
	return nil
}

func disagrees(field, body, path string) error {
	return fmt.Errorf("%w: %s: the body says %.64q, the path %.64q", resource.ErrInvalid, field, body, path)
}

// pathOf is the path by which a record is reached.
func pathOf(r *resource.Resource) string {
	return "/v1/scopes/" + url.PathEscape(r.Scope.String()) + "/resources/" + url.PathEscape(kindWord(r.GroupKind())) + "/" + url.PathEscape(r.Name)
}
