package pack_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"runtime"
	"testing"

	"driftless.dev/pack"
)

// every reads a value of each kind from b, and skips one.
var every = map[string]func(*pack.Reader){
	"Bool": func(r *pack.Reader) { r.Bool() }, "Uint": func(r *pack.Reader) { r.Uint() }, "Int": func(r *pack.Reader) { r.Int() },
	"Bin": func(r *pack.Reader) { r.Bin() }, "Text": func(r *pack.Reader) { _ = r.Text() }, "Array": func(r *pack.Reader) { r.Array() },
	"Fixed": func(r *pack.Reader) { r.Fixed(make([]byte, 4)) }, "ArrayOf": func(r *pack.Reader) { r.ArrayOf(2) },
	"Skip": func(r *pack.Reader) { r.Skip(1) }, "Raw": func(r *pack.Reader) { r.Raw() },
}

// Every reader refuses each of these.
func TestReader_RefusesWhatIsNotCanonical(t *testing.T) {
	for name, in := range map[string]string{
		"nothing":                   "",
		"never used":                "c1",
		"uint8 that fits 7 bits":    "cc7f",
		"uint16 that fits 8":        "cd00ff",
		"uint32 that fits 16":       "ce0000ffff",
		"uint64 that fits 32":       "cf00000000ffffffff",
		"int8 that fits 5 bits":     "d0e0",
		"int8 that is positive":     "d001",
		"int16 that fits 8":         "d1ff80",
		"int32 that fits 16":        "d2ffff8000",
		"int64 that fits 32":        "d3ffffffff80000000",
		"int64 that is positive":    "d30000000100000000",
		"uint8 cut":                 "cc",
		"uint16 cut":                "cdff",
		"uint64 cut":                "cfffffffffffffff",
		"int64 cut":                 "d3ffffffffffffff",
		"bin16 that fits 8":         "c500020000",
		"bin32 that fits 16":        "c6000000020000",
		"bin8 without length":       "c4",
		"bin8 cut":                  "c40300ff",
		"bin of 4 GiB":              "c6ffffffff",
		"bin of 4 GiB, some there":  "c6ffffffff00000000",
		"str8 that fits 5 bits":     "d90161",
		"str16 that fits 8":         "da000161",
		"str32 that fits 16":        "db0000000161",
		"str of 4 GiB":              "dbffffffff",
		"str cut":                   "a261",
		"str not UTF-8":             "a1ff",
		"str of a surrogate":        "a3eda080",
		"str of an overlong slash":  "a2c0af",
		"array16 that fits 4 bits":  "dc000ac0c0c0c0c0c0c0c0c0c0",
		"array32 that fits 16":      "dd00000001c0",
		"array of 2^32-1":           "ddffffffff",
		"array of 2^32-1, one byte": "ddffffffffc0",
		"array of 65535":            "dcffffc0",
		"fixarray cut":              "92c0",
		"fixmap":                    "80",
		"fixmap of one":             "81a161c0",
		"map16":                     "de0000",
		"map32 of 2^32-1":           "dfffffffff",
		"float32":                   "ca00000000",
		"float64":                   "cb0000000000000000",
		"fixext1":                   "d40100",
		"fixext16":                  "d801",
		"ext8":                      "c70001",
		"ext16":                     "c8000001",
		"ext32 of 4 GiB":            "c9ffffffff01",
		"ill-formed inside":         "91cc01",
		"map inside":                "9180",
	} {
		b, err := hex.DecodeString(in)
		if err != nil {
			t.Fatal(err)
		}
		for kind, get := range every {
			if kind == "Array" && len(b) > 1 && b[0]&0xf0 == 0x90 {
				continue // the head alone is well formed
			}
			r := pack.NewReader(b)
			if get(r); !errors.Is(r.Close(), pack.ErrMalformed) {
				t.Errorf("%s: %s accepts %s", name, kind, in)
			}
		}
	}
}

func TestReader_CloseRefusesTrailingBytes(t *testing.T) {
	r := pack.NewReader([]byte{0x01, 0x02})
	if r.Uint(); !errors.Is(r.Close(), pack.ErrMalformed) {
		t.Error("a byte was left over")
	}
}

// Skip and Raw step over 33 levels: 32 arrays around an array or a scalar.
func TestReader_DepthIsBounded(t *testing.T) {
	nested := func(n int) []byte { return append(bytes.Repeat([]byte{0x91}, n), 0x90) }
	for n, ok := range map[int]bool{0: true, 32: true, 33: false, 1 << 20: false} {
		r := pack.NewReader(nested(n))
		if r.Skip(1); (r.Close() == nil) != ok {
			t.Errorf("%d arrays around one: %v", n, r.Err())
		}
	}
}

// Whatever is declared, reading costs no more than the input: each of these is
// at most 1 MiB, ends in an error, and allocates next to nothing.
func TestReader_HostileInputIsCheap(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, 1<<20)
	wide := []byte{}
	for range 32 { // each level promises all that is left
		wide = append(wide, 0xdd, 0, 0x0f, 0, 0)
	}
	wide = append(append(wide, make([]byte, 1<<20)...), 0xc1)
	text := append([]byte{0xdb, 0, 0x0f, 0, 0}, bytes.Repeat([]byte{'x'}, 1<<20)...)
	for name, b := range map[string][]byte{
		"nested arrays": deep, "wide arrays": wide, "skipped text": text,
		"array": {0xdd, 0xff, 0xff, 0xff, 0xff}, "bin": {0xc6, 0xff, 0xff, 0xff, 0xff}, "str": {0xdb, 0xff, 0xff, 0xff, 0xff},
		"map": {0xdf, 0xff, 0xff, 0xff, 0xff}, "ext": {0xc9, 0xff, 0xff, 0xff, 0xff, 1},
	} {
		for kind, get := range every {
			if kind == "Text" && name == "skipped text" {
				continue // Text returns a copy, of the input's size
			}
			if n := allocated(func() {
				r := pack.NewReader(b)
				get(r)
				if r.Close() == nil {
					t.Errorf("%s: %s accepts it", name, kind)
				}
			}); n > 64<<10 {
				t.Errorf("%s: %s allocated %d bytes", name, kind, n)
			}
		}
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
