package resource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"driftless.dev/fuzztest"
	"driftless.dev/resource"
)

func TestSelector_AllForms(t *testing.T) {
	prod := map[string]string{"env": "prod", "tier": "web"}
	dev := map[string]string{"env": "dev"}
	empty := map[string]string{"env": ""}
	for _, c := range []struct {
		text string
		want [4]bool // prod, dev, empty, nil
	}{
		{"", [4]bool{true, true, true, true}},
		{"  ", [4]bool{true, true, true, true}},
		{"env", [4]bool{true, true, true, false}},
		{"!env", [4]bool{false, false, false, true}},
		{"env=prod", [4]bool{true, false, false, false}},
		{"env==prod", [4]bool{true, false, false, false}},
		{"env!=prod", [4]bool{false, true, true, true}},
		{"env in (prod, test)", [4]bool{true, false, false, false}},
		{"env notin (prod,test)", [4]bool{false, true, true, true}},
		{"env, !tier", [4]bool{false, true, true, false}},
		// B29: an empty value, and an absent key.
		{"env=", [4]bool{false, false, true, false}},
		{"env!=", [4]bool{true, true, false, true}},
		{"env in (,prod)", [4]bool{true, false, true, false}},
		{"env notin (prod)", [4]bool{false, true, true, true}},
	} {
		s, err := resource.ParseSelector(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		got := [4]bool{s.Matches(prod), s.Matches(dev), s.Matches(empty), s.Matches(nil)}
		if got != c.want {
			t.Errorf("%q matches %v, want %v", c.text, got, c.want)
		}
		checkFixpoint(t, s)
	}
}

// checkFixpoint fails unless a parsed selector's text reads back to it.
func checkFixpoint(t *testing.T, s resource.Selector) {
	t.Helper()
	again, err := resource.ParseSelector(s.String())
	if err != nil || !slices.EqualFunc(again, s, func(a, b resource.Requirement) bool { return cmp.Equal(a, b) }) {
		t.Fatalf("%q reads back as %q, %v", s, again, err)
	}
}

func TestSelector_Parsed(t *testing.T) {
	got, err := resource.ParseSelector("z==1,example.dev/b notin (y,x),a,!c,d!=2,e in (v)")
	if err != nil {
		t.Fatal(err)
	}
	want := resource.Selector{
		{Key: "a", Op: resource.OpExists},
		{Key: "c", Op: resource.OpNotExists},
		{Key: "d", Op: resource.OpNotEquals, Values: []string{"2"}},
		{Key: "e", Op: resource.OpIn, Values: []string{"v"}},
		{Key: "example.dev/b", Op: resource.OpNotIn, Values: []string{"x", "y"}},
		{Key: "z", Op: resource.OpEquals, Values: []string{"1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if text := got.String(); text != "a,!c,d!=2,e in (v),example.dev/b notin (x,y),z=1" {
		t.Fatal(text)
	}
}

func TestSelector_NilAndEverythingMatchAll(t *testing.T) {
	for _, s := range []resource.Selector{nil, {}, resource.Everything()} {
		if !s.Matches(nil) || !s.Matches(map[string]string{"a": "b"}) || s.String() != "" {
			t.Fatalf("%#v", s)
		}
	}
}

func TestParseSelector_Refuses(t *testing.T) {
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf("k%d", i))
	}
	for _, text := range []string{
		"name:x", "a>1", "a<1", "a in ()", "a notin ()", "a in (,)", "a in", "a in (", "a in (b", "a in (b,", "a in b",
		",", "a,", ",a", "a,,b", "=", "=b", "a=b=c", "a=b c", "!", "!a=b", "!!a", "a b", "a!", "(a)", "a=(b)",
		"a/b/c", "-a", "a=-b", "a\x00", "a=b\x00,secret", "ä", "a=ä", "a\n=b\x01", strings.Repeat("x", 64),
		"a=" + strings.Repeat("x", 64), strings.Repeat("a,", 600) + "a", strings.Join(many, ","),
	} {
		if s, err := resource.ParseSelector(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		} else {
			wantInvalid(t, err, "selector")
		}
	}
	if _, err := resource.ParseSelector(strings.Join(many[:32], ",")); err != nil {
		t.Error(err)
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, s := range []string{
		"", "a", "!a", "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b,,c)", "a in (in,notin)", "in in (in)",
		"a=,b!=", "a in (,x),a in (x,)", "x/y=z,x/y!=z,x/y", "a in ()", " a , b ",
	} {
		f.Add(s)
	}
	for _, many := range []string{"a,", "a in (b,c),", "a=", "(", "a in (", "!", "a in (b,"} {
		f.Add(strings.Repeat(many, 1<<10))
		f.Add(strings.Repeat(many, 24))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, text string) {
		cost.Run(t, []byte(text), func() { _, _ = resource.ParseSelector(text) })
		s, err := resource.ParseSelector(text)
		if err != nil {
			wantInvalid(t, err)
			return
		}
		checkFixpoint(t, s)
		s.Matches(map[string]string{"a": "b"})
	})
}
