package resource_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"driftless.dev/resource"
)

func TestValidateName(t *testing.T) {
	for _, legal := range []string{
		"a", "skills.v1.skill.example.dev", "mem-01J0000000000000000000000", "Ünïcode", "日本語", "a b", "a:b*?#%",
		"...", "a.", strings.Repeat("x", 253),
	} {
		if err := resource.ValidateName("name", legal); err != nil {
			t.Errorf("%q: %v", legal, err)
		}
	}
	for illegal, says := range map[string]string{
		"":                       "empty",
		".":                      "paths",
		"..":                     "paths",
		"a/b":                    "one of",
		"a,b":                    "one of",
		"a=b":                    "one of",
		"a\x00b":                 "control",
		"a\nb":                   "control",
		"a\u0085b":               "control",
		"a\u2028b":               "control",
		"a\u2029":                "control",
		"a\xffb":                 "UTF-8",
		"e\u0301":                "normal form C",
		strings.Repeat("x", 254): "254 bytes, over 253",
	} {
		wantInvalid(t, resource.ValidateName("metadata.name", illegal), "metadata.name", says)
	}
}

func TestValidateLabels(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, legal := range []map[string]string{
		nil, {}, {"app": ""}, {"app": "web"}, {"example.dev/app": "a-b_c.d"}, {long: long}, {"A1": "Z9"},
	} {
		if err := resource.ValidateLabels(legal); err != nil {
			t.Errorf("%v: %v", legal, err)
		}
	}
	for says, illegal := range map[string]map[string]string{
		`key ""`:           {"": "v"},
		`key "a b"`:        {"a b": "v"},
		`key "/a"`:         {"/a": "v"},
		`key "a/b/c"`:      {"a/b/c": "v"},
		`key "UP.dev/a"`:   {"UP.dev/a": "v"},
		`key "-a"`:         {"-a": "v"},
		"labels/k: value":  {"k": "a b"},
		"labels/d~1k: val": {"d/k": "-"},
		`value "` + long:   {"k": long + "x"},
	} {
		wantInvalid(t, resource.ValidateLabels(illegal), "labels", says)
	}
}

func TestValidateLabels_NamesTheLowestKey(t *testing.T) {
	bad := map[string]string{}
	for i := range 50 {
		bad[fmt.Sprintf("bad key %02d", i)] = "v"
	}
	for range 20 {
		wantInvalid(t, resource.ValidateLabels(maps.Clone(bad)), "bad key 00")
	}
}

func TestValidateAnnotations(t *testing.T) {
	if err := resource.ValidateAnnotations(map[string]string{"example.dev/note": "any <text>\n日本語\x00"}); err != nil {
		t.Fatal(err)
	}
	if err := resource.ValidateAnnotations(map[string]string{"k": strings.Repeat("x", 256<<10-1)}); err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, resource.ValidateAnnotations(map[string]string{"k": strings.Repeat("x", 256<<10)}), "annotations", "over 262144")
	wantInvalid(t, resource.ValidateAnnotations(map[string]string{"a b": ""}), "annotations", `"a b"`)
	wantInvalid(t, resource.ValidateAnnotations(map[string]string{"d/k": "\xff"}), "annotations/d~1k", "UTF-8")
}

func TestValidateFinalizers(t *testing.T) {
	var keys []string
	for i := range 65 {
		keys = append(keys, fmt.Sprintf("example.dev/%d", i))
	}
	for _, legal := range [][]string{nil, {"worktree"}, {"example.dev/worktree", "a b"}, keys[:64]} {
		if err := resource.ValidateFinalizers(legal); err != nil {
			t.Errorf("%v: %v", legal, err)
		}
	}
	wantInvalid(t, resource.ValidateFinalizers(keys), "65 keys, over 64")
	wantInvalid(t, resource.ValidateFinalizers([]string{"a", "b", "a"}), "finalizers/2", "twice")
	wantInvalid(t, resource.ValidateFinalizers([]string{""}), "finalizers/0", "empty")
	wantInvalid(t, resource.ValidateFinalizers([]string{"a", "b=c"}), "finalizers/1", "one of")
	wantInvalid(t, resource.ValidateFinalizers([]string{strings.Repeat("x", 254)}), "over 253")
}

func TestNormalizeStrings(t *testing.T) {
	if resource.NormalizeStrings(map[string]string{}) != nil || resource.NormalizeStrings(nil) != nil {
		t.Fatal("empty is not nil")
	}
	in := map[string]string{"a": "b"}
	out := resource.NormalizeStrings(in)
	in["a"] = "c"
	if out["a"] != "b" {
		t.Fatal("shares memory")
	}
}
