package resource_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"driftless.dev/resource"
)

func skill() resource.Kind {
	return resource.Kind{
		APIVersion: "skill.example.dev/v1", Name: "Skill", Singular: "skill", Plural: "skills", Aliases: []string{"sk"},
		Schema:       json.RawMessage(`{"properties":{"size":{"type":"integer"}},"required":["size"],"type":"object"}`),
		Identity:     resource.IdentityUnique,
		Level:        resource.LevelScoped,
		DefaultScope: resource.Scope{Project: "atlas"},
		PrintColumns: []resource.PrintColumn{{Name: "Size", JSONPath: ".spec.size", Type: "integer"}},
	}
}

func coreRegistry(t testing.TB) *resource.Registry {
	reg := resource.NewRegistry()
	if err := resource.RegisterCoreKinds(reg); err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestKind_RecordName(t *testing.T) {
	for _, c := range []struct{ apiVersion, name, plural, want string }{
		{"skill.example.dev/v1", "Skill", "skills", "skills.v1.skill.example.dev"},
		{"skill.example.dev/v1", "Skill", "", "skill.v1.skill.example.dev"},
		{"v1", "Skill", "skills", "skills.v1"},
		{resource.CoreGroupVersion, resource.KindKind, "kinds", "kinds.v1alpha1.core.driftless.dev"},
	} {
		k := resource.Kind{APIVersion: c.apiVersion, Name: c.name, Plural: c.plural}
		if got := k.RecordName(); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
		if err := k.Validate(); err != nil {
			t.Error(err)
		}
	}
	if g := skill().GroupKind(); g != (resource.GroupKind{Group: "skill.example.dev", Kind: "Skill"}) {
		t.Error(g)
	}
}

// The foundation's names for the core.
func TestCoreConstants(t *testing.T) {
	if resource.CoreGroupVersion != "core.driftless.dev/v1alpha1" || resource.KindKind != "Kind" || resource.MemberKind != "Member" {
		t.Fatal("a constant changed")
	}
}

// Kinds are data, Kind included: each core kind is a resource that the kind
// Kind admits, and reads back unchanged.
func TestCoreKinds_ValidateAgainstKind(t *testing.T) {
	reg := coreRegistry(t)
	for _, k := range append(resource.CoreKinds(), skill()) {
		r, err := resource.KindResource(k, resource.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != k.RecordName() || r.APIVersion != resource.CoreGroupVersion || r.Kind != resource.KindKind {
			t.Fatalf("%+v", r)
		}
		if err := reg.Validate(r.APIVersion, r.Kind, r.Spec); err != nil {
			t.Errorf("%s: %v", k.Name, err)
		}
		checkCanonical(t, r.Spec)
		back, err := resource.KindFromResource(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(k.Schema) > 0 {
			if k.Schema, err = resource.Canonical(k.Schema); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(k, back); diff != "" {
			t.Error(diff)
		}
		if err := reg.Check(back); err != nil {
			t.Error(err)
		}
	}
	for _, k := range resource.CoreKinds() {
		if !k.NamedByAddress() || !k.FleetLevel() {
			t.Errorf("%s: identity %s, level %s", k.Name, k.Identity, k.Level)
		}
	}
}

func TestKindResource_LeavesEmptyOptionsOut(t *testing.T) {
	r, err := resource.KindResource(resource.Kind{APIVersion: "a.dev/v1", Name: "Note", Schema: json.RawMessage{}}, resource.Scope{})
	if want := `{"apiVersion":"a.dev/v1","name":"Note"}`; err != nil || string(r.Spec) != want {
		t.Fatalf("%s, %v, want %s", r.Spec, err, want)
	}
	if err := coreRegistry(t).Validate(r.APIVersion, r.Kind, r.Spec); err != nil {
		t.Fatal(err)
	}
	_, err = resource.KindResource(skill(), resource.Scope{Project: "atlas"})
	wantInvalid(t, err, "scope", "global")
}

func TestKind_ValidateRefuses(t *testing.T) {
	for says, change := range map[string]func(*resource.Kind){
		"spec/apiVersion: version":     func(k *resource.Kind) { k.APIVersion = "" },
		`version "V1"`:                 func(k *resource.Kind) { k.APIVersion = "a.dev/V1" },
		`version "v1/x"`:               func(k *resource.Kind) { k.APIVersion = "a.dev/v1/x" },
		`group "A.dev"`:                func(k *resource.Kind) { k.APIVersion = "A.dev/v1" },
		`group ""`:                     func(k *resource.Kind) { k.APIVersion = "/v1" },
		`spec/name: ""`:                func(k *resource.Kind) { k.Name = "" },
		`spec/name: "A.b"`:             func(k *resource.Kind) { k.Name = "A.b" },
		`spec/name: "A b"`:             func(k *resource.Kind) { k.Name = "A b" },
		"spec/singular":                func(k *resource.Kind) { k.Singular = "Skill" },
		"spec/plural":                  func(k *resource.Kind) { k.Plural = "sk.ills" },
		"spec/aliases/0":               func(k *resource.Kind) { k.Aliases = []string{""} },
		"spec/aliases/1: \"a\" is":     func(k *resource.Kind) { k.Aliases = []string{"a", "a"} },
		"spec/identity":                func(k *resource.Kind) { k.Identity = "Unique" },
		"spec/level":                   func(k *resource.Kind) { k.Level = "global" },
		"spec/defaultScope":            func(k *resource.Kind) { k.DefaultScope.Project = "a/b" },
		"level fleet":                  func(k *resource.Kind) { k.Level = resource.LevelFleet },
		"spec/printColumns/0/name":     func(k *resource.Kind) { k.PrintColumns[0].Name = "" },
		"spec/printColumns/0/jsonPath": func(k *resource.Kind) { k.PrintColumns[0].JSONPath = "spec" },
		"spec/printColumns/0/type":     func(k *resource.Kind) { k.PrintColumns[0].Type = "int" },
		"metadata/name: ":              func(k *resource.Kind) { k.APIVersion = strings.Repeat("a.", 125) + "a/v1" },
	} {
		k := skill()
		change(&k)
		wantInvalid(t, k.Validate(), says)
		wantInvalid(t, resource.NewRegistry().Register(k), says)
	}
}

func TestKindFromResource_IsStrict(t *testing.T) {
	good, err := resource.KindResource(skill(), resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*resource.Resource){
		"spec/later: unknown field":           func(r *resource.Resource) { r.Spec = json.RawMessage(`{"apiVersion":"a/v1","name":"A","later":1}`) },
		"spec/NAME: unknown field":            func(r *resource.Resource) { r.Spec = json.RawMessage(`{"apiVersion":"a/v1","NAME":"A"}`) },
		"spec/printColumns/0/x: unknown":      func(r *resource.Resource) { r.Spec = json.RawMessage(`{"printColumns":[{"x":1}]}`) },
		"spec/name":                           func(r *resource.Resource) { r.Spec = json.RawMessage(`{"apiVersion":"a/v1","name":1}`) },
		"spec":                                func(r *resource.Resource) { r.Spec = nil },
		"Skill.core.driftless.dev":            func(r *resource.Resource) { r.Kind = "Skill" },
		"Kind.other.dev":                      func(r *resource.Resource) { r.APIVersion = "other.dev/v1" },
		`named "skills.v1.skill.example.dev"`: func(r *resource.Resource) { r.Name = "skills" },
		"in the global scope":                 func(r *resource.Resource) { r.Scope.Project = "atlas" },
	} {
		r := good
		change(&r)
		_, err := resource.KindFromResource(r)
		wantInvalid(t, err, says)
	}
}

func TestMember_IsOpen(t *testing.T) {
	reg := coreRegistry(t)
	valid := `{"name":"a","incarnations":["x"],"realms":["_"],"evicted":false,"later":{"any":1}}`
	if err := reg.Validate(resource.CoreGroupVersion, resource.MemberKind, []byte(valid)); err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, reg.Validate(resource.CoreGroupVersion, resource.MemberKind, []byte(`{"name":"a","realms":[1]}`)), "spec/realms/0: got number, want string")
	if err := reg.Validate(resource.CoreGroupVersion, resource.PolicyKind, []byte(`{"any":["thing"]}`)); err != nil {
		t.Fatal(err)
	}
}
