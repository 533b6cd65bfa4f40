package resource_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/fuzztest"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

func drawAny(t *rapid.T) resource.Record {
	return resourcetest.Record(t, resourcetest.Options{Wide: rapid.Bool().Draw(t, "wide")})
}

func decodeRecord(t interface{ Fatalf(string, ...any) }, b []byte) resource.Record {
	rec, err := resource.DecodeRecord(b)
	if err != nil {
		t.Fatalf("decode: %v\n% x", err, b)
	}
	return rec
}

func TestRecord_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawAny(t)
		b := rec.AppendTo(nil)
		got := decodeRecord(t, b)
		if !reflect.DeepEqual(got, rec) {
			t.Fatalf("decoded\n%+v\nwant\n%+v", got, rec)
		}
		if again := got.AppendTo(nil); !bytes.Equal(again, b) {
			t.Fatalf("encoded again\n% x\nwant\n% x", again, b)
		}
		if got.Digest() != rec.Digest() {
			t.Fatal("the digest differs after a round trip")
		}
		if err := got.Validate(); err != nil {
			t.Fatalf("validate: %v", err)
		}
	})
}

// A record has one encoding: a changed byte is refused, or it is another
// record with that very encoding.
func TestRecord_EveryByteCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawAny(t)
		b := rec.AppendTo(nil)
		digest := rec.Digest()
		for i := range b {
			old := b[i]
			b[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
			got, err := resource.DecodeRecord(b)
			switch {
			case err != nil && !errors.Is(err, pack.ErrMalformed):
				t.Fatalf("byte %d: %v is not ErrMalformed", i, err)
			case err == nil && !bytes.Equal(got.AppendTo(nil), b):
				t.Fatalf("byte %d: accepted, and encodes otherwise", i)
			case err == nil && got.Digest() == digest && !onlySignaturesDiffer(got, rec):
				t.Fatalf("byte %d: changed, and the digest did not", i)
			}
			b[i] = old
		}
	})
}

func onlySignaturesDiffer(a, b resource.Record) bool {
	return bytes.Equal(unsigned(a).AppendTo(nil), unsigned(b).AppendTo(nil))
}

func unsigned(r resource.Record) *resource.Record {
	r.Desired.Signature = nil
	if r.Deletion != nil {
		d := *r.Deletion
		d.Signature, r.Deletion = nil, &d
	}
	if r.Observed != nil {
		o := *r.Observed
		o.Signature, r.Observed = nil, &o
	}
	return &r
}

func TestRecord_RefusesEveryPrefixAndAnyTail(t *testing.T) {
	rec := whole()
	b := rec.AppendTo(nil)
	for n := range b {
		if _, err := resource.DecodeRecord(b[:n]); !errors.Is(err, pack.ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := resource.DecodeRecord(append(b, 0xc0)); !errors.Is(err, pack.ErrMalformed) {
		t.Fatalf("a trailing nil: %v", err)
	}
}

func TestRecord_RefusesWhatIsTooLarge(t *testing.T) {
	if _, err := resource.DecodeRecord(make([]byte, resource.MaxFrameSize+1)); !errors.Is(err, resource.ErrTooLarge) {
		t.Fatal(err)
	}
}

// A register written by a newer node passes through this one unharmed, and its
// unknown fields count.
func TestRecord_KeepsFieldsOfALaterVersion(t *testing.T) {
	extras := [][]byte{{0xc0}, pack.AppendText(nil, "later"), resourcetest.Join([][]byte{{1}, {0x91, 2}})}
	for name, field := range map[string]int{
		"desired": resourcetest.DesiredField, "deletion": resourcetest.DeletionField, "observed": resourcetest.ObservedField,
	} {
		for _, inValue := range []bool{false, true} {
			rec := whole()
			digests := map[[32]byte]bool{rec.Digest(): true}
			for _, extra := range extras {
				later, err := resourcetest.Extend(rec, field, inValue, extra)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				b := later.AppendTo(nil)
				if got := decodeRecord(t, b); !bytes.Equal(got.AppendTo(nil), b) || !bytes.Contains(b, extra) {
					t.Errorf("%s (in value: %t): field % x did not survive", name, inValue, extra)
				}
				if !reflect.DeepEqual(later.Desired.Value, rec.Desired.Value) || digests[later.Digest()] {
					t.Errorf("%s (in value: %t): field % x is not in the digest, or changed a value", name, inValue, extra)
				}
				digests[later.Digest()] = true
			}
			_, err := resourcetest.Extend(rec, field, inValue, []byte{0xcc, 1})
			if err == nil {
				t.Errorf("%s (in value: %t): a field that is not canonical is accepted", name, inValue)
			}
		}
	}
}

// Each field of a frame is replaced by something that does not belong there.
func TestRecord_RefusesFields(t *testing.T) {
	text := func(s string) []byte { return pack.AppendText(nil, s) }
	list := resourcetest.Join
	point := [][]byte{{5}, pack.AppendBin(nil, bytes.Repeat([]byte{1}, 16))}
	zeroID := pack.AppendBin(nil, make([]byte, 16))
	entry := func(key string) []byte {
		return list(append([][]byte{text(key)}, point[0], point[1], point[0], point[1], []byte{0xc3}))
	}
	many := [][]byte{}
	for i := range resource.MaxFinalizers + 1 {
		many = append(many, entry(string(rune('a'+i))))
	}
	for name, c := range map[string]struct {
		field int
		with  []byte
	}{
		"version 0":                {0, []byte{0}},
		"version 2":                {0, []byte{2}},
		"short id":                 {1, pack.AppendBin(nil, make([]byte, 15))},
		"nil id":                   {1, []byte{0xc0}},
		"kind with an empty group": {2, text("Skill.")},
		"scope of two":             {3, list([][]byte{text(""), text("")})},
		"scope of four":            {3, list([][]byte{text(""), text(""), text(""), text("")})},
		"name as bytes":            {4, pack.AppendBin(nil, []byte("a"))},
		"unknown actor":            {5, list([][]byte{point[0], point[1], {3}, point[1]})},
		"zero writer spelt out":    {5, list([][]byte{point[0], zeroID, {0}, point[1]})},
		"creation of five":         {5, list([][]byte{point[0], point[1], {0}, point[1], {0}})},
		"no desired":               {6, []byte{0xc0}},
		"register of three":        {6, list([][]byte{{0xc0}, {0xc0}, {0xc0}})},
		"register without body":    {6, list([][]byte{{0xc0}, {0xc0}})},
		"empty deletion body":      {7, list([][]byte{{0xc4, 0}, {0xc0}})},
		"finalizers out of order":  {9, list([][]byte{entry("b"), entry("a")})},
		"finalizer twice":          {9, list([][]byte{entry("a"), entry("a")})},
		"65 finalizers":            {9, list(many)},
		"four counters":            {10, list([][]byte{{1}, {1}, {0}, {0}})},
		"negative counter":         {10, list([][]byte{{0xff}, {1}, {0}, {0}, {0xc0}})},
	} {
		rec := whole()
		frame := resourcetest.Split(rec.AppendTo(nil))
		frame[c.field] = c.with
		if _, err := resource.DecodeRecord(resourcetest.Join(frame)); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	rec := whole()
	f.Add(rec.AppendTo(nil))
	rec.Deletion, rec.Observed, rec.Finalizers = nil, nil, nil
	f.Add(rec.AppendTo(nil))
	later, _ := resourcetest.Extend(whole(), resourcetest.ObservedField, true, []byte{0x91, 0xc3})
	f.Add(later.AppendTo(nil))
	for _, b := range fuzztest.Bombs() {
		f.Add(b)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		cost.Run(t, b, func() { _, _ = resource.DecodeRecord(b) })
		rec, err := resource.DecodeRecord(b)
		if err != nil {
			return
		}
		if !bytes.Equal(rec.AppendTo(nil), b) {
			t.Fatalf("two encodings of one record:\n% x\n% x", b, rec.AppendTo(nil))
		}
		if rec.Validate() == nil {
			rec.Resource()
		}
	})
}
