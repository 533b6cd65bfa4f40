package resource_test

import (
	"strings"
	"testing"

	"driftless.dev/fuzztest"
	"driftless.dev/resource"
)

// FuzzParseScope holds that a scope that is read is written and read as itself.
func FuzzParseScope(f *testing.F) {
	for _, s := range []string{"", "global", "project=atlas", "workspace=w,instance=i,project=p", "project=_", "project=", "project=a,project=a", "a=b,,", "project=..", "project=a/b", "project=\x00", strings.Repeat("project=a,", 1<<10)} {
		f.Add(s)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, text string) {
		cost.Run(t, []byte(text), func() { _, _ = resource.ParseScope(text) })
		s, err := resource.ParseScope(text)
		if err != nil {
			wantInvalid(t, err)
			return
		}
		if again, err := resource.ParseScope(s.String()); err != nil || again != s {
			t.Fatalf("%q is %+v, written %q, read as %+v, %v", text, s, s.String(), again, err)
		}
	})
}

// FuzzNames holds that a name that is allowed separates nothing anywhere: not in
// a path, a scope, a selector, a subject or a key.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "summarise", ".", "..", "a/b", "a,b", "a=b", "a\x00b", "a b", "%2f", "e\u0301", "\u00e9", "\xff", "\u2028", "*", ">", "example.dev/worktree", strings.Repeat("x", 254), strings.Repeat("\u0301", 1<<10)} {
		f.Add(s)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, text string) {
		cost.Run(t, []byte(text), func() {
			_ = resource.ValidateName("name", text)
			_ = resource.ValidateFinalizers([]string{text})
			_ = resource.ValidateLabels(map[string]string{text: text})
			_ = resource.ParseGroupKind(text)
		})
		if err := resource.ValidateName("name", text); err != nil {
			wantInvalid(t, err)
		} else if strings.ContainsAny(text, "/,=\x00\n\r") || len(text) == 0 || len(text) > resource.MaxNameSize || text == ".." || text == "." {
			t.Fatalf("%q is taken for a name", text)
		}
		if err := resource.ValidateFinalizers([]string{text}); err == nil && strings.ContainsAny(text, ",=\x00\n") {
			t.Fatalf("%q is taken for a finalizer", text)
		}
		if err := resource.ValidateLabels(map[string]string{text: text}); err == nil && strings.ContainsAny(text, ",= \x00") {
			t.Fatalf("%q is taken for a label", text)
		}
	})
}

// FuzzStamps holds that ids, points, epochs and actors that are read have one
// spelling.
func FuzzStamps(f *testing.F) {
	for _, s := range []string{"", "0", "1767225600000.2@01KDVDNA00HDST93PJ8ZDYB21E", "2/1767225600000.10@01KDVDNA00HDST93PJ8ZDYB21E", "01KDVDNA00HDST93PJ8ZDYB21E", "01kdvdna00hdst93pj8zdyb21e", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "99999999999999999999/1.1@x", "human", "HUMAN", "@", "/", "1/"} {
		f.Add(s)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, text string) {
		cost.Run(t, []byte(text), func() {
			_, _ = resource.ParseID(text)
			_, _ = resource.ParsePoint(text)
			_, _ = resource.ParseEpoch(text)
			_, _ = resource.ParseActor(text)
		})
		if id, err := resource.ParseID(text); err == nil && id.String() != text {
			t.Fatalf("id %q is written %q", text, id)
		}
		if p, err := resource.ParsePoint(text); err == nil && p.String() != text {
			t.Fatalf("point %q is written %q", text, p)
		}
		if e, err := resource.ParseEpoch(text); err == nil && e.String() != text && text != "0" {
			t.Fatalf("epoch %q is written %q", text, e)
		}
		if a, err := resource.ParseActor(text); err == nil && a.String() != text && text != "" {
			t.Fatalf("actor %q is written %q", text, a)
		}
	})
}
