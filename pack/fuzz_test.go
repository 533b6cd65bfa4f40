package pack_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"driftless.dev/fuzztest"
	"driftless.dev/pack"
)

func FuzzReader(f *testing.F) {
	f.Add([]byte{0x93, 0xc0, 0xa1, 'x', 0xcd, 1, 0}, []byte{0, 6, 4, 2})
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, []byte{5})
	f.Add(write(nil, []any{true, uint64(300), int64(-300), []byte("b"), "t", nil, []any{}}), []byte{8})
	for _, b := range fuzztest.Bombs() {
		f.Add(b, []byte{9, 8, 6, 5, 4})
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, b, schema []byte) {
		cost.Run(t, append(b, schema...), func() {
			r := pack.NewReader(b)
			for _, s := range schema {
				step(t, r, s)
			}
			r.Close()
		})
		r := pack.NewReader(b)
		raw := r.Raw()
		if r.Err() != nil {
			return
		}
		again := pack.NewReader(raw)
		if again.Skip(1); again.Close() != nil {
			t.Fatalf("Raw gave % x, which Skip refuses: %v", raw, again.Err())
		}
		if got := write(nil, decode(t, pack.NewReader(raw))); !bytes.Equal(got, raw) {
			t.Fatalf("two spellings of one value: % x and % x", raw, got)
		}
	})
}

func step(t *testing.T, r *pack.Reader, s byte) {
	switch s % 10 {
	case 0:
		r.Nil()
	case 1:
		r.Bool()
	case 2:
		r.Uint()
	case 3:
		r.Int()
	case 4:
		r.Bin()
	case 5:
		if !utf8.ValidString(r.Text()) {
			t.Fatal("Text is not UTF-8")
		}
	case 6:
		r.Array()
	case 7:
		r.Fixed(make([]byte, 16))
	case 8:
		r.Skip(int(s))
	default:
		r.Raw()
	}
}

// decode reads a value that Raw has accepted, by its first byte.
func decode(t *testing.T, r *pack.Reader) any {
	raw := r.Raw()
	in := pack.NewReader(raw)
	switch h := raw[0]; {
	case h == 0xc0:
		return nil
	case h == 0xc2, h == 0xc3:
		return in.Bool()
	case h < 0x80, h >= 0xcc && h <= 0xcf:
		return in.Uint()
	case h >= 0xe0, h >= 0xd0 && h <= 0xd3:
		return in.Int()
	case h >= 0xc4 && h <= 0xc6:
		return in.Bin()
	case h&0xe0 == 0xa0, h >= 0xd9 && h <= 0xdb:
		return in.Text()
	}
	a := []any{}
	for range in.Array() {
		a = append(a, decode(t, in))
	}
	return a
}
