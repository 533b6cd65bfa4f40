package resource_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"driftless.dev/resource"
)

// What DESIGN section 2 lists is in the hashes, and nothing else is.
var (
	inContent = []string{
		"APIVersion", "Kind", "Name", "Scope.Instance", "Scope.Project", "Scope.Workspace", "Labels", "Annotations", "Spec", "Status",
		"Envelope.Deleted", "Envelope.ValidFrom", "Envelope.ValidTo",
	}
	inSpec = []string{"APIVersion", "Kind", "Spec"}
)

// shown is a resource with every field set.
func shown() resource.Resource {
	rec := whole()
	r := rec.Resource()
	now := time.UnixMilli(5)
	r.GenerateName, r.DeletionTimestamp = "g-", &now
	r.Status = []byte(`{"ok":true}`)
	return r
}

func hashesOf(t *testing.T, r resource.Resource) (content, spec string) {
	content, err := resource.Hash(r)
	if err != nil {
		t.Fatal(err)
	}
	spec, err = resource.SpecHash(r)
	if err != nil {
		t.Fatal(err)
	}
	c, s, err := resource.Hashes(r)
	if err != nil || c != content || s != spec {
		t.Fatalf("Hashes: %s, %s, %v", c, s, err)
	}
	return content, spec
}

func TestHash_CoversContentAlone(t *testing.T) {
	original := shown()
	content, spec := hashesOf(t, original)
	n := 0
	leaves(reflect.ValueOf(&original), "", func(path string, _ reflect.Value) {
		n++
		r := shown()
		leaves(reflect.ValueOf(&r), "", func(p string, leaf reflect.Value) {
			if p == path {
				change(t, p, leaf)
			}
		})
		c, s := hashesOf(t, r)
		if (c != content) != slices.Contains(inContent, path) {
			t.Errorf("changing %s: content hash changed: %t", path, c != content)
		}
		if (s != spec) != slices.Contains(inSpec, path) {
			t.Errorf("changing %s: spec hash changed: %t", path, s != spec)
		}
	})
	if n < 60 {
		t.Errorf("only %d fields were found", n)
	}
}

func TestHash_OneMeaningOneHash(t *testing.T) {
	zone := time.FixedZone("", 3600)
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	there := noon.In(zone)
	for name, c := range map[string]struct{ a, b resource.Resource }{
		"key order":  {resource.Resource{Spec: []byte(`{"a":1,"b":2}`)}, resource.Resource{Spec: []byte(` { "b" : 2, "a":1 } `)}},
		"escapes":    {resource.Resource{Spec: []byte(`"<é"`)}, resource.Resource{Spec: []byte(`"\u003c\u00e9"`)}},
		"status too": {resource.Resource{Status: []byte(`{"a":1,"b":2}`)}, resource.Resource{Status: []byte(`{"b":2,"a":1}`)}},
		"null":       {resource.Resource{}, resource.Resource{Spec: []byte(`null`), Status: []byte(` null`)}},
		"empty":      {resource.Resource{}, resource.Resource{Spec: json.RawMessage{}, Labels: map[string]string{}, Annotations: map[string]string{}}},
		"time zones": {resource.Resource{Envelope: resource.Envelope{ValidFrom: &noon}}, resource.Resource{Envelope: resource.Envelope{ValidFrom: &there}}},
	} {
		c1, s1 := hashesOf(t, c.a)
		c2, s2 := hashesOf(t, c.b)
		if c1 != c2 || s1 != s2 {
			t.Errorf("%s: hashes differ", name)
		}
	}
}

func TestHash_NumbersAreWhatWasWritten(t *testing.T) {
	seen := map[string]string{}
	for _, spec := range []string{`9007199254740992`, `9007199254740993`, `1`, `1.0`, `1e0`, `-0`, `0`, `1e-5`, `0.00001`, `1e21`, `1e400`, `""`, `{}`, `[]`} {
		h, _ := hashesOf(t, resource.Resource{Spec: []byte(spec)})
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s hash alike", spec, other)
		}
		seen[h] = spec
	}
}

func TestHash_RefusesWhatIsNotJSON(t *testing.T) {
	for _, r := range []resource.Resource{{Spec: []byte(`{`)}, {Status: []byte(`{"a":1,"a":2}`)}} {
		if _, err := resource.Hash(r); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("Hash: %v", err)
		}
		if _, err := resource.SpecHash(r); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("SpecHash: %v", err)
		}
	}
}
