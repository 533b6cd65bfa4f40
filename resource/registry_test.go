package resource_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"driftless.dev/resource"
)

func register(t testing.TB, reg *resource.Registry, kinds ...resource.Kind) {
	t.Helper()
	for _, k := range kinds {
		if err := reg.Register(k); err != nil {
			t.Fatal(err)
		}
	}
}

func kind(apiVersion, name string, words ...string) resource.Kind {
	k := resource.Kind{APIVersion: apiVersion, Name: name, Aliases: words}
	return k
}

func TestRegistry_BadSchemaErrorsAtRegister(t *testing.T) {
	reg := resource.NewRegistry()
	for schema, says := range map[string]string{
		`{"type":"strin"}`:                    "schema/type",
		`{"pattern":"(?=x)"}`:                 "schema/pattern",
		`{"$ref":"https://example.com/x"}`:    "not loaded",
		`{"a":1,"a":2}`:                       "schema/a: duplicate key",
		`{"type":`:                            "schema/type",
		`7`:                                   "got number",
		`{"properties":{"x":{"$ref":"#/y"}}}`: "not found",
	} {
		k := skill()
		k.Schema = []byte(schema)
		wantInvalid(t, reg.Register(k), "Skill.skill.example.dev", says)
		wantInvalid(t, reg.Check(k), says)
	}
	if len(reg.Kinds()) != 0 {
		t.Fatal("a refused kind is registered")
	}
}

func TestRegistry_KindsAndLookup(t *testing.T) {
	reg := resource.NewRegistry()
	register(t, reg, kind("b.dev/v1", "Z"), kind("b.dev/v1", "A"), kind("a.dev/v2", "M"), kind("a.dev/v1", "M"))
	var got []string
	for _, k := range reg.Kinds() {
		got = append(got, k.APIVersion+" "+k.Name)
	}
	if diff := cmp.Diff([]string{"a.dev/v1 M", "a.dev/v2 M", "b.dev/v1 A", "b.dev/v1 Z"}, got); diff != "" {
		t.Fatal(diff)
	}
	if k, ok := reg.Lookup("a.dev/v1", "M"); !ok || k.APIVersion != "a.dev/v1" {
		t.Fatal(k, ok)
	}
	if _, ok := reg.Lookup("a.dev/v3", "M"); ok {
		t.Fatal("found")
	}
	reg.Unregister("a.dev/v1", "M")
	reg.Unregister("a.dev/v1", "absent")
	if _, ok := reg.Lookup("a.dev/v1", "M"); ok || len(reg.Kinds()) != 3 {
		t.Fatal("still there")
	}
}

func TestRegistry_LookupKindIsTheHighestVersion(t *testing.T) {
	reg := resource.NewRegistry()
	for _, v := range []string{"v1alpha1", "v2beta1", "v1", "v10", "v2", "next"} {
		register(t, reg, kind("a.dev/"+v, "M"))
	}
	want := []string{"v10", "v2", "v1", "v2beta1", "v1alpha1", "next"}
	for _, v := range want {
		k, ok := reg.LookupKind(resource.GroupKind{Group: "a.dev", Kind: "M"})
		if !ok || k.APIVersion != "a.dev/"+v {
			t.Fatalf("%s, want %s", k.APIVersion, v)
		}
		reg.Unregister(k.APIVersion, "M")
	}
	if _, ok := reg.LookupKind(resource.GroupKind{Group: "a.dev", Kind: "M"}); ok {
		t.Fatal("found")
	}
}

func TestRegistry_ReplacesAndKeepsIdentityAndLevel(t *testing.T) {
	reg := resource.NewRegistry()
	register(t, reg, skill())
	k := skill()
	k.Schema, k.Identity, k.Level = nil, "", "" // the defaults are unique and scoped
	register(t, reg, k)
	if got, _ := reg.Lookup(k.APIVersion, k.Name); len(reg.Kinds()) != 1 || got.Schema != nil {
		t.Fatalf("%+v", got)
	}
	for _, apiVersion := range []string{"skill.example.dev/v1", "skill.example.dev/v2"} {
		k := skill()
		k.APIVersion, k.Identity = apiVersion, resource.IdentityName
		wantInvalid(t, reg.Check(k), "spec/identity", "never changes")
		wantInvalid(t, reg.Register(k), "spec/identity", "never changes")
		k = skill()
		k.APIVersion, k.Level, k.DefaultScope = apiVersion, resource.LevelFleet, resource.Scope{}
		wantInvalid(t, reg.Register(k), "spec/level", "never changes")
	}
	k.APIVersion = "other.dev/v1"
	k.Identity = resource.IdentityName
	if err := reg.Check(k); err != nil || len(reg.Kinds()) != 1 {
		t.Fatalf("Check: %v, %d kinds", err, len(reg.Kinds()))
	}
}

func TestRegistry_ClonesWhatItIsGiven(t *testing.T) {
	reg := resource.NewRegistry()
	k := skill()
	register(t, reg, k)
	k.Aliases[0] = "changed"
	clear(k.Schema)
	if got, _ := reg.Lookup(k.APIVersion, k.Name); got.Aliases[0] != "sk" || got.Schema[0] != '{' {
		t.Fatalf("%+v", got)
	}
}

func TestRegistry_Resolve(t *testing.T) {
	reg := resource.NewRegistry()
	register(t, reg, skill(), kind("skill.example.dev/v2", "Skill", "ability"),
		kind("game.example.dev/v1", "Skill", "talent"), kind("game.example.dev/v1", "Tool", "sk"),
		kind("v1", "Note", "nt"), kind("game.example.dev/v1", "Note"), kind("game.example.dev/v1", "Alike", "note"))
	for word, want := range map[string]string{
		"skills":                  "skill.example.dev/v2 Skill",
		"SKILLS":                  "skill.example.dev/v2 Skill",
		"ability":                 "skill.example.dev/v2 Skill",
		"talent":                  "game.example.dev/v1 Skill",
		"skill.skill.example.dev": "skill.example.dev/v2 Skill",
		"Skill.Skill.Example.Dev": "skill.example.dev/v2 Skill",
		"Skill.game.example.dev":  "game.example.dev/v1 Skill",
		"sk.game.example.dev":     "game.example.dev/v1 Tool",
		"tool":                    "game.example.dev/v1 Tool",
		"nt":                      "v1 Note",
		"note.":                   "v1 Note",
		"Note.game.example.dev":   "game.example.dev/v1 Note",
	} {
		k, err := reg.Resolve(word)
		if got := k.APIVersion + " " + k.Name; err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", word, got, err, want)
		}
	}
	for word, says := range map[string]string{
		"skill":                 "Skill.game.example.dev, Skill.skill.example.dev",
		"Skill":                 "Skill.game.example.dev, Skill.skill.example.dev",
		"sk":                    "Skill.skill.example.dev, Tool.game.example.dev",
		"note":                  "Note., Alike.game.example.dev",
		"note.game.example.dev": "Alike.game.example.dev, Note.game.example.dev",
	} {
		_, err := reg.Resolve(word)
		if !errors.Is(err, resource.ErrAmbiguous) {
			t.Errorf("%s: %v", word, err)
			continue
		}
		for part := range strings.SplitSeq(says, ", ") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %s", word, err, part)
			}
		}
	}
	for _, word := range []string{"", ".", "nope", "skill.nope.dev", "skills.v1.skill.example.dev", "Skill."} {
		if _, err := reg.Resolve(word); !errors.Is(err, resource.ErrNotFound) || !strings.Contains(err.Error(), "driftless kinds") {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestRegistry_Validate(t *testing.T) {
	reg := resource.NewRegistry()
	register(t, reg, skill(), kind("a.dev/v1", "Free"))
	valid := func(spec string) error { return reg.Validate("skill.example.dev/v1", "Skill", []byte(spec)) }
	if err := valid(`{"size":9007199254740993}`); err != nil {
		t.Error(err)
	}
	wantInvalid(t, valid(`{"size":"x"}`), "spec/size: got string, want integer")
	wantInvalid(t, valid(`{"size":1.5}`), "spec/size: got number, want integer")
	wantInvalid(t, valid(``), "spec: missing property 'size'")
	wantInvalid(t, valid(`null`), "spec: got null, want object")
	wantInvalid(t, valid(`{"size":1,"size":2}`), "spec/size: duplicate key")
	wantInvalid(t, valid(`{"size":`), "spec/size: value wanted")
	for _, spec := range []string{"", "{}", "null", `[1e400]`} {
		if err := reg.Validate("a.dev/v1", "Free", []byte(spec)); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	wantInvalid(t, reg.Validate("a.dev/v1", "Free", []byte("{")), "spec")
	err := reg.Validate("skill.example.dev/v2", "Skill", nil)
	wantInvalid(t, err, "Skill of skill.example.dev/v2 is not registered", "apply its Kind", "driftless kinds")
}

// contrary is an engine that refuses everything.
type contrary struct{}

func (contrary) Compile([]byte) (resource.Validator, error) { return contrary{}, nil }
func (contrary) Validate(any) error                         { return errors.New("no") }

func TestRegistry_WithSchemaCompiler(t *testing.T) {
	reg := resource.NewRegistry(resource.WithSchemaCompiler(contrary{}))
	register(t, reg, skill(), kind("a.dev/v1", "Free"))
	wantInvalid(t, reg.Validate("skill.example.dev/v1", "Skill", []byte(`{"size":1}`)), "spec: no")
	if err := reg.Validate("a.dev/v1", "Free", nil); err != nil {
		t.Fatal("a kind without a schema reached the engine:", err)
	}
}

// The engine that callers get and admission's own agree.
func TestNewSchemaCompiler_SameVerdictsAsTheRegistry(t *testing.T) {
	reg := coreRegistry(t)
	register(t, reg, skill())
	for _, k := range reg.Kinds() {
		if k.Schema == nil {
			continue
		}
		v, err := resource.NewSchemaCompiler().Compile(k.Schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range []string{
			`{}`, `null`, `[]`, `{"size":1}`, `{"size":"x"}`, `{"name":"a"}`, `{"name":1}`, `{"apiVersion":"v1","name":"A"}`,
			`{"apiVersion":"v1","name":"A","x":1,"y":2}`, `{"name":"A","realms":[1,2],"evicted":"no"}`, `{"size":1e9999999}`,
		} {
			instance, err := resource.DecodeInstance([]byte(spec))
			if err != nil {
				t.Fatal(err)
			}
			direct, admitted := v.Validate(instance), reg.Validate(k.APIVersion, k.Name, []byte(spec))
			if (direct == nil) != (admitted == nil) {
				t.Errorf("%s %s: %v, %v", k.Name, spec, direct, admitted)
			}
			if direct != nil && !strings.HasSuffix(admitted.Error(), direct.Error()) {
				t.Errorf("%s %s: %q, %q", k.Name, spec, direct, admitted)
			}
		}
	}
}

func TestRegistry_ConcurrentUse(t *testing.T) {
	reg := coreRegistry(t)
	register(t, reg, skill())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				k := kind(fmt.Sprintf("g%d.dev/v%d", i, j%3+1), "Thing", fmt.Sprintf("thing%d", i))
				k.Schema = skill().Schema
				if err := reg.Register(k); err != nil {
					t.Error(err)
				}
				if j%5 == 0 {
					reg.Unregister(k.APIVersion, k.Name)
				}
			}
		})
		wg.Go(func() {
			for range 200 {
				if err := reg.Validate("skill.example.dev/v1", "Skill", []byte(`{"size":1}`)); err != nil {
					t.Error(err)
				}
				if reg.Validate("skill.example.dev/v1", "Skill", []byte(`{"size":"x"}`)) == nil {
					t.Error("admitted")
				}
				if k, err := reg.Resolve("sk"); err != nil || k.Name != "Skill" {
					t.Error(k, err)
				}
				_, _ = reg.Resolve("thing1")
				_, _ = reg.LookupKind(resource.GroupKind{Group: "g1.dev", Kind: "Thing"})
				_ = reg.Kinds()
			}
		})
	}
	wg.Wait()
}
