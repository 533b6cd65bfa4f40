package manifest

import (
	"bytes"
	"testing"

	"driftless.dev/fuzztest"
)

// Every input is answered: no panic, and what is accepted is strict JSON that
// goes through YAML unchanged.

func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{"a: 1\n", "- &a [1.0, 0x1F]\n- *a\n", "a: |-\n  x\n", "a: >\n  b\n", "{a: [b, 'c', \"\\x41\"]}", "<<: {a: 1}\n", "? a\n: b\n", "!!str a", "%YAML 1.2\n---\na: 1\n", "a:\n-\nb: 1\n"} {
		f.Add([]byte(seed))
	}
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		cost.Run(t, in, func() { _, _ = ToJSON(in) })
		out, err := ToJSON(in)
		if err != nil {
			return
		}
		value, err := strictJSON(out)
		if err != nil || !bytes.Equal(value, out) {
			t.Fatalf("ToJSON(%q) = %s: %v", in, out, err)
		}
		roundTrip(t, out)
	})
}

func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `["yes","1e3","a\nb\n","\u0000"," x"]`, `{"a":[{"b":[]}]}`, `1e400`, `"\ud83d\ude00"`} {
		f.Add([]byte(seed))
	}
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		cost.Run(t, in, func() { _, _ = FromJSON(in) })
		value, err := strictJSON(in)
		if err != nil {
			return
		}
		text, err := FromJSON(in)
		if err != nil {
			t.Fatalf("FromJSON(%s): %v", in, err)
		}
		back, err := ToJSON(text)
		if err != nil {
			t.Fatalf("ToJSON(%q) from %s: %v", text, in, err)
		}
		// Escapes in strings may be spelled otherwise; compare the second round.
		if !sameValue(value, back) && len(value) < 1<<10 {
			if again, err := FromJSON(back); err != nil || !bytes.Equal(again, text) {
				t.Fatalf("%s became %s", value, back)
			}
		}
		roundTrip(t, back)
	})
}

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"g/v1","kind":"K","metadata":{"name":"a","namespace":"p","uid":"u","ownerReferences":[{"uid":"u"}]},"spec":{"a":1.0},"status":{"b":1}}`))
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		cost.Run(t, in, func() { _, _, _ = Normalize(in) })
		out, _, err := Normalize(in)
		if err != nil {
			return
		}
		again, warnings, err := Normalize(out)
		if err != nil || !bytes.Equal(again, out) || len(warnings) > 0 {
			t.Fatalf("Normalize(%s) = %s, then %s %v %v", in, out, again, warnings, err)
		}
	})
}

func FuzzImportCRD(f *testing.F) {
	f.Add([]byte(crd(`{"type":"object","nullable":true,"required":["a"],"properties":{"a":{"type":"string","default":"x"}},"oneOf":[{"properties":{"a":{"enum":["y"]}}}]}`)))
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		cost.Run(t, in, func() { _, _, _ = ImportCRD(in, "name") })
		kinds, _, err := ImportCRD(in, "name")
		for _, kind := range kinds {
			if _, jsonErr := strictJSON(kind); jsonErr != nil || err != nil {
				t.Fatalf("ImportCRD(%s) = %s: %v %v", in, kind, jsonErr, err)
			}
		}
	})
}

// FuzzSplit holds that a stream is read to its end whatever is in it.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("a: 1\n---\n{\"b\": 1}{\"c\": 2}\n...\n%YAML 1.2\n---\nd: [\n"))
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		cost.Run(t, in, func() { Split("s", in) })
		for _, d := range Split("s", in) {
			if (d.Err == nil) == (d.JSON == nil) || d.Line < 1 || d.Index < 1 {
				t.Fatalf("%q gave %+v", in, d)
			}
		}
	})
}
