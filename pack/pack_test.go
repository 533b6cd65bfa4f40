package pack_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/pack"
)

// drawn is a value of the format: nil, bool, uint64, int64, []byte, string or
// []any. A non-negative integer is a uint64, as both spell it alike.
func drawn(t *rapid.T, depth int) any {
	most := 6
	if depth == 0 {
		most = 5
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Uint64().Draw(t, "uint") >> rapid.IntRange(0, 63).Draw(t, "shift")
	case 3:
		return -1 - rapid.Int64Min(0).Draw(t, "int")>>rapid.IntRange(0, 63).Draw(t, "shift")
	case 4:
		return bytes.Repeat([]byte{0xc1}, length(t))
	case 5:
		return string(bytes.Repeat([]byte("é"), length(t)/2)) + rapid.String().Draw(t, "text")
	default:
		n := rapid.IntRange(0, 4).Draw(t, "n")
		if depth == 3 && rapid.IntRange(0, 19).Draw(t, "long") == 0 {
			n = rapid.SampledFrom([]int{15, 16, 65535, 65536}).Draw(t, "n")
			return make([]any, n)
		}
		a := make([]any, n)
		for i := range a {
			a[i] = drawn(t, depth-1)
		}
		return a
	}
}

// length favours the lengths next to a change of the head.
func length(t *rapid.T) int {
	edge := rapid.SampledFrom([]int{0, 31, 32, 255, 256, 65535, 65536}).Draw(t, "edge")
	return max(0, edge+rapid.IntRange(-1, 1).Draw(t, "near"))
}

func write(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return pack.AppendNil(b)
	case bool:
		return pack.AppendBool(b, v)
	case uint64:
		return pack.AppendUint(b, v)
	case int64:
		return pack.AppendInt(b, v)
	case []byte:
		return pack.AppendBin(b, v)
	case string:
		return pack.AppendText(b, v)
	default:
		b = pack.AppendArray(b, len(v.([]any)))
		for _, e := range v.([]any) {
			b = write(b, e)
		}
		return b
	}
}

// read asks for what is wanted and reports whether it is what it finds.
func read(r *pack.Reader, want any) bool {
	switch want := want.(type) {
	case nil:
		return r.Nil()
	case bool:
		return r.Bool() == want
	case uint64:
		return r.Uint() == want
	case int64:
		return r.Int() == want
	case []byte:
		got := r.Bin()
		return got != nil && bytes.Equal(got, want)
	case string:
		return r.Text() == want
	default:
		if r.Array() != len(want.([]any)) {
			return false
		}
		for _, e := range want.([]any) {
			if !read(r, e) {
				return false
			}
		}
		return true
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawn(t, 3)
		b := write(nil, want)
		r := pack.NewReader(b)
		if !read(r, want) || r.Close() != nil {
			t.Fatalf("read % x: %v", b, r.Err())
		}
		r = pack.NewReader(append(b, 0xc0))
		if raw := r.Raw(); !bytes.Equal(raw, b) || !r.Nil() || r.Close() != nil {
			t.Fatalf("Raw of % x: % x, %v", b, raw, r.Err())
		}
		r = pack.NewReader(append(b, b...))
		if r.Skip(2); r.Close() != nil {
			t.Fatalf("Skip of % x: %v", b, r.Err())
		}
	})
}

// Non-negative integers have one spelling, whichever function writes and reads
// them.
func TestRoundTrip_SignedAndUnsignedAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v") >> rapid.IntRange(0, 63).Draw(t, "shift")
		b := pack.AppendInt(nil, v)
		r := pack.NewReader(b)
		if got := r.Int(); got != v || r.Close() != nil {
			t.Fatalf("Int of % x: %d, %v", b, got, r.Err())
		}
		r = pack.NewReader(b)
		got := r.Uint()
		if v >= 0 && (got != uint64(v) || r.Close() != nil) || v < 0 && r.Err() == nil {
			t.Fatalf("Uint of % x: %d, %v", b, got, r.Err())
		}
	})
}

func TestReader_IntRefusesWhatOverflows(t *testing.T) {
	r := pack.NewReader(pack.AppendUint(nil, 1<<63))
	if v := r.Int(); v != 0 || r.Err() == nil {
		t.Fatalf("Int: %d, %v", v, r.Err())
	}
}

func TestAppendBin_NilIsNotEmpty(t *testing.T) {
	for _, v := range [][]byte{nil, {}} {
		r := pack.NewReader(pack.AppendBin(nil, v))
		if got := r.Bin(); (got == nil) != (v == nil) || len(got) != 0 || r.Close() != nil {
			t.Errorf("%#v came back as %#v, %v", v, got, r.Err())
		}
	}
}

func TestReader_Fixed(t *testing.T) {
	var four [4]byte
	for _, c := range []struct {
		of []byte
		ok bool
	}{{[]byte("abcd"), true}, {[]byte("abc"), false}, {[]byte("abcde"), false}, {[]byte{}, false}, {nil, false}} {
		r := pack.NewReader(pack.AppendBin(nil, c.of))
		r.Fixed(four[:])
		if (r.Close() == nil) != c.ok {
			t.Errorf("Fixed of %q: %v", c.of, r.Err())
		}
	}
	if string(four[:]) != "abcd" {
		t.Errorf("a failed read changed the destination to %q", four)
	}
}

// What Bin and Raw return cannot be appended to over the bytes behind it.
func TestReader_AliasesWithoutRoom(t *testing.T) {
	b := pack.AppendUint(pack.AppendBin(nil, []byte("ab")), 7)
	for _, get := range []func(*pack.Reader) []byte{(*pack.Reader).Bin, (*pack.Reader).Raw} {
		r := pack.NewReader(b)
		_ = append(get(r), 0xff)
		if r.Uint() != 7 || r.Close() != nil {
			t.Fatal("an append overwrote what follows")
		}
	}
}

func TestReader_FirstErrorSticks(t *testing.T) {
	r := pack.NewReader([]byte{0xc0, 0x01})
	r.Uint()
	first := r.Err()
	r.Fail("later")
	if v := r.Uint(); v != 0 || r.Text() != "" || r.Bin() != nil || r.Raw() != nil || r.Array() != 0 || r.Bool() || r.Nil() || r.Int() != 0 {
		t.Error("a read after an error returned a value")
	}
	if first == nil || r.Close() != first {
		t.Errorf("Close: %v, the first error was %v", r.Close(), first)
	}
}

func TestReader_ArrayOf(t *testing.T) {
	b := pack.AppendUint(pack.AppendUint(pack.AppendArray(nil, 2), 1), 2)
	for _, c := range []struct {
		n, extra int
		ok       bool
	}{{0, 2, true}, {1, 1, true}, {2, 0, true}, {3, 0, false}} {
		r := pack.NewReader(b)
		extra := r.ArrayOf(c.n)
		if extra != c.extra || (r.Err() == nil) != c.ok {
			t.Errorf("ArrayOf(%d): %d, %v", c.n, extra, r.Err())
		}
	}
}

func TestReader_NumbersAndBinsDoNotAllocate(t *testing.T) {
	b := pack.AppendArray(nil, 5)
	b = pack.AppendUint(b, 1<<40)
	b = pack.AppendInt(b, -1<<40)
	b = pack.AppendBin(b, make([]byte, 300))
	b = pack.AppendText(b, "skipped")
	b = pack.AppendBool(b, true)
	allocs := testing.AllocsPerRun(100, func() {
		r := *pack.NewReader(b)
		r.Array()
		r.Uint()
		r.Int()
		r.Bin()
		r.Skip(1)
		r.Bool()
		if r.Close() != nil {
			t.Fatal(r.Err())
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
