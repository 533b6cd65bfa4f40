package manifest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// nasty is text made of the pieces that YAML readers trip over.
func nasty() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b c", " ", "  ", "\n", "\n\n", "\t", ":", ": ", " #", "#", "-", "- ", "---", "...", "?", "? ", "!", "!!str ", "&a", "*a", "{", "}", "[", "]", ",",
		"|", ">", "|-", "'", "''", "\"", "\\", "\\n", "%", "@", "`", "<<", "=", "~", "null", "yes", "No", "on", "true", "False", "0", "1", "-1", "+5", "012", "0x1f",
		"0o17", "0b1", "1_000", "1.0", "1e3", ".5", "5.", ".inf", "-.INF", ".nan", "12:30:45", "2024-01-02", "2024-01-02T03:04:05Z", "é", "日本", "\u00a0", "\u0085",
		"\u2028", "\ufeff", "\U0001F600", "\u200d", "\x00", "\x1b", "\x7f", "\r", "\r\n", "\u202e", "\ufffd", "\uffff", "//", "http://x:80/", "${A}", "{{ x }}", "a: b",
	})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "any") {
			return strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?")
		}
		return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
	})
}

// anyJSON draws a compact JSON text.
func anyJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth == 0 {
			kind %= 4
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
		case 1:
			return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][-+]?[0-9]{1,3})?`).Draw(t, "number")
		case 2, 3:
			return string(quote(nasty().Draw(t, "string")))
		case 4:
			return "[" + strings.Join(rapid.SliceOfN(anyJSON(depth-1), 0, 4).Draw(t, "items"), ",") + "]"
		}
		names := rapid.SliceOfNDistinct(nasty(), 0, 4, rapid.ID[string]).Draw(t, "names")
		fields := make([]string, len(names))
		for i, name := range names {
			fields[i] = string(quote(name)) + ":" + anyJSON(depth-1).Draw(t, "value")
		}
		return "{" + strings.Join(fields, ",") + "}"
	})
}

func TestFromJSON_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyJSON(4).Draw(t, "json")
		roundTrip(t, []byte(in))
	})
}

// roundTrip holds the law: ToJSON(FromJSON(j)) is j, and the YAML is stable.
func roundTrip(t interface{ Fatalf(string, ...any) }, in []byte) {
	text, err := FromJSON(in)
	if err != nil {
		t.Fatalf("FromJSON(%s): %v", in, err)
	}
	out, err := ToJSON(text)
	if err != nil {
		t.Fatalf("ToJSON of\n%s\nfrom %s: %v", text, in, err)
	}
	if string(out) != string(in) {
		t.Fatalf("from  %s\nyaml:\n%s\nback  %s", in, text, out)
	}
	again, err := FromJSON(out)
	if err != nil || string(again) != string(text) {
		t.Fatalf("second YAML differs (%v):\n%s\nfirst:\n%s", err, again, text)
	}
}
