package resource_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"driftless.dev/fuzztest"
	"driftless.dev/resource"
)

// golden is a case of testdata/canonical.json. In is text, or InHex bytes that
// no JSON string can hold; Error is a part of the error's text.
type golden struct {
	Name, In, InHex, Out, Error string
}

func goldens(t testing.TB) []golden {
	raw, err := os.ReadFile("testdata/canonical.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []golden
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (g golden) source(t testing.TB) []byte {
	if g.InHex == "" {
		return []byte(g.In)
	}
	b, err := hex.DecodeString(g.InHex)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCanonical_Golden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.Name, func(t *testing.T) {
			got, err := resource.Canonical(g.source(t))
			if g.Error != "" {
				wantInvalid(t, err, g.Error)
				return
			}
			if err != nil || string(got) != g.Out {
				t.Fatalf("got %s, %v, want %s", got, err, g.Out)
			}
			checkCanonical(t, got)
		})
	}
}

// wantInvalid fails unless err wraps ErrInvalid and says all of parts.
func wantInvalid(t testing.TB, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, resource.ErrInvalid) {
		t.Fatalf("error %v, want ErrInvalid", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Fatalf("error %q does not say %q", err, p)
		}
	}
}

// checkCanonical fails unless b is what Canonical makes of it.
func checkCanonical(t interface{ Fatalf(string, ...any) }, b []byte) {
	again, err := resource.Canonical(b)
	if err != nil || !bytes.Equal(again, b) {
		t.Fatalf("not idempotent: %s gives %s, %v", b, again, err)
	}
}

// oracle is another implementation: RFC 8785 without its rule on numbers.
func oracle(src []byte) ([]byte, error) {
	v := jsontext.Value(slices.Clone(src))
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	return v, err
}

// B36: one spelling, whatever the writer's; numbers as they were written.
func TestCanonical_AgreesWithTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawJSON(t, 4)
		want, err := oracle([]byte(src))
		if err != nil {
			t.Fatalf("generated %q: %v", src, err)
		}
		got, err := resource.Canonical([]byte(src))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("Canonical(%s)\n got %s, %v\nwant %s", src, got, err, want)
		}
		checkCanonical(t, got)
		if again, err := resource.Canonical(got); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("Canonical(%q) is %s, %v", got, again, err)
		}
	})
}

// drawJSON draws a text of JSON: any value, in any spelling of it.
func drawJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"})
	pad := func(s string) string { return space.Draw(t, "space") + s + space.Draw(t, "space") }
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return pad(rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal"))
	case 1, 2:
		return pad(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,4})?`).Draw(t, "number"))
	case 3:
		return pad(drawSpelling(t, rapid.String().Draw(t, "string")))
	case 4:
		var items []string
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			items = append(items, drawJSON(t, depth-1))
		}
		return pad("[" + strings.Join(items, ",") + space.Draw(t, "space") + "]")
	default:
		key := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\\\n\u00e9\ud7ff\ue000\uffff\U00010000\U0010ffff")), 0, 3, -1))
		var members []string
		for _, k := range rapid.SliceOfNDistinct(key, 0, 5, rapid.ID[string]).Draw(t, "keys") {
			members = append(members, pad(drawSpelling(t, k))+":"+drawJSON(t, depth-1))
		}
		return pad("{" + strings.Join(members, ",") + space.Draw(t, "space") + "}")
	}
}

// drawSpelling writes a string with escapes that it needs and some that it
// does not.
func drawSpelling(t *rapid.T, s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "?") {
		switch {
		case r < ' ' || r == '"' || r == '\\' || r < 0x10000 && rapid.IntRange(0, 3).Draw(t, "escape") == 0:
			fmt.Fprintf(&b, "\\u%04X", r)
		case r >= 0x10000 && rapid.Bool().Draw(t, "escape"):
			fmt.Fprintf(&b, "\\u%04x\\u%04x", 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func TestCanonical_NeverAliases(t *testing.T) {
	src := []byte(`{"a":"b","c":[1]}`)
	got, err := resource.Canonical(src)
	if err != nil {
		t.Fatal(err)
	}
	clear(src)
	if string(got) != `{"a":"b","c":[1]}` {
		t.Fatalf("changed with its source: %q", got)
	}
}

func TestCanonical_ErrorsFitALogLine(t *testing.T) {
	key := strings.Repeat("k\x01", 10_000)
	src := fmt.Sprintf(`{%q:1,%q:2}`, key, key)
	_, err := resource.Canonical([]byte(strings.ReplaceAll(src, `\x01`, `\u0001`)))
	wantInvalid(t, err, "duplicate key")
	if len(err.Error()) > 2048 || strings.Contains(err.Error(), "\x01") {
		t.Fatalf("%d bytes: %q", len(err.Error()), err)
	}
}

// P12: hostile nesting and member counts cost no more than their size asks.
func TestCanonical_HostileInput(t *testing.T) {
	for name, src := range map[string]string{
		"deep":       strings.Repeat("[", 1<<20),
		"deep keys":  strings.Repeat(`{"a":`, 1<<18),
		"open":       strings.Repeat(`[[],`, 1<<18),
		"descending": descending(50_000),
	} {
		if _, err := resource.Canonical([]byte(src)); (err == nil) != (name == "descending") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// descending is an object whose keys stand in the wrong order.
func descending(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%08d":%d`, n-i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func FuzzCanonical(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.source(f))
	}
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		cost.Run(t, src, func() { _, _ = resource.Canonical(src) })
		got, err := resource.Canonical(src)
		want, oracleErr := oracle(src)
		if err != nil {
			if !errors.Is(err, resource.ErrInvalid) {
				t.Fatalf("error %v is not ErrInvalid", err)
			}
			if oracleErr == nil && !strings.Contains(err.Error(), "nested over") {
				t.Fatalf("refused %q: %v", src, err)
			}
			return
		}
		if oracleErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("Canonical(%q)\n got %s\nwant %s, %v", src, got, want, oracleErr)
		}
		if len(got) > len(src) {
			t.Fatalf("%d bytes of %d", len(got), len(src))
		}
		checkCanonical(t, got)
	})
}

func BenchmarkCanonical(b *testing.B) {
	sorted, err := resource.Canonical([]byte(descending(1000)))
	if err != nil {
		b.Fatal(err)
	}
	for name, src := range map[string][]byte{
		"small":      []byte(`{"apiVersion":"skill.example.dev/v1","size":3,"text":"a <b> c","tags":["x","y"]}`),
		"canonical":  sorted,
		"descending": []byte(descending(1000)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := resource.Canonical(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
