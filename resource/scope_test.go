package resource_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

func TestScope_TextRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := resourcetest.Record(t, resourcetest.Options{Wide: true}).Scope
		if got, err := resource.ParseScope(s.String()); err != nil || got != s {
			t.Fatalf("%q: %+v, %v", s, got, err)
		}
	})
}

func TestScope_Text(t *testing.T) {
	for text, want := range map[string]resource.Scope{
		"":                                 {},
		"global":                           {},
		"instance=i":                       {Instance: "i"},
		"instance=global":                  {Instance: "global"},
		"workspace=w,project=p,instance=i": {Instance: "i", Project: "p", Workspace: "w"},
	} {
		if got, err := resource.ParseScope(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if s := (resource.Scope{Instance: "i", Workspace: "w"}).String(); s != "instance=i,workspace=w" {
		t.Errorf("String is %q", s)
	}
}

func TestScope_RefusesOtherSpellings(t *testing.T) {
	for _, text := range []string{
		"Global", "global,project=p", "p", "project", "project=", "project=p,", ",project=p", "project=p,project=p", "project=p,project=q",
		"Project=p", " project=p", "realm=p", "project=a=b", "project=a/b", "project=_", "project=e\u0301", "instance=.", "project=\x00",
		"project=" + strings.Repeat("a", 254),
	} {
		if s, err := resource.ParseScope(text); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestScope_Realm(t *testing.T) {
	for want, s := range map[string]resource.Scope{"_": {Instance: "i", Workspace: "w"}, "p": {Instance: "i", Project: "p"}} {
		if got := s.Realm(); got != want {
			t.Errorf("realm of %s is %q", s, got)
		}
	}
}

func TestScope_Order(t *testing.T) {
	want := []resource.Scope{
		{}, {Workspace: "a"}, {Project: "a"}, {Project: "a", Workspace: "a"}, {Project: "b"}, {Instance: "a"}, {Instance: "a", Project: "a"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, resource.Scope.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("order is %v", got)
	}
	if !want[0].IsGlobal() || want[1].IsGlobal() {
		t.Error("only the zero scope is global")
	}
}

func TestGroupKind_Text(t *testing.T) {
	for text, want := range map[string]resource.GroupKind{
		"Skill": {Kind: "Skill"}, "Skill.example.dev": {Group: "example.dev", Kind: "Skill"},
	} {
		if got := resource.ParseGroupKind(text); got != want || got.String() != text {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for version, want := range map[string][2]string{"v1": {"", "v1"}, "example.dev/v1": {"example.dev", "v1"}, "a/": {"a", ""}} {
		if group, v := resource.SplitAPIVersion(version); group != want[0] || v != want[1] {
			t.Errorf("%q: %q, %q", version, group, v)
		}
	}
}
