package resource_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resource"
)

func drawID(t *rapid.T) (id resource.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	id[15] |= 1 // never zero
	return id
}

func TestID_TextRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := drawID(t)
		s := id.String()
		if got, err := resource.ParseID(s); err != nil || got != id || len(s) != 26 {
			t.Fatalf("%q: %v, %v", s, got, err)
		}
	})
}

func TestID_ZeroHasNoText(t *testing.T) {
	if s := (resource.ID{}).String(); s != "" {
		t.Errorf("the zero id is %q", s)
	}
}

func TestID_RefusesOtherSpellings(t *testing.T) {
	id := "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if _, err := resource.ParseID(id); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{
		"empty": "", "zero": strings.Repeat("0", 26), "short": id[1:], "long": id + "0", "lower case": strings.ToLower(id),
		"i for 1": "0I" + id[2:], "l for 1": "0L" + id[2:], "o for 0": "O" + id[1:], "u": "U" + id[1:], "over 128 bits": "8" + id[1:],
		"hyphen": id[:25] + "-", "not ASCII": id[:24] + "é",
	} {
		if _, err := resource.ParseID(s); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%s: %q: %v", name, s, err)
		}
	}
}

// NameID is a function of every part of the address, and no part runs into the
// next.
func TestNameID(t *testing.T) {
	type address struct {
		kind  resource.GroupKind
		scope resource.Scope
		name  string
	}
	seen := map[resource.ID]address{}
	for _, a := range []address{
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{}, "n"},
		{resource.GroupKind{Group: "", Kind: "Kg"}, resource.Scope{}, "n"},
		{resource.GroupKind{Group: "gK", Kind: ""}, resource.Scope{}, "n"},
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{Instance: "n"}, ""},
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{Instance: "a"}, "n"},
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{Project: "a"}, "n"},
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{Workspace: "a"}, "n"},
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{Workspace: "an"}, ""},
		{resource.GroupKind{Group: "g", Kind: "K"}, resource.Scope{}, "m"},
	} {
		id := resource.NameID(a.kind, a.scope, a.name)
		if other, ok := seen[id]; ok || id.IsZero() {
			t.Errorf("%+v has the id of %+v", a, other)
		}
		if id != resource.NameID(a.kind, a.scope, a.name) {
			t.Errorf("%+v: not a function", a)
		}
		seen[id] = a
	}
}
