package pack_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

// Any MessagePack library reads what is written here, and what it writes in
// its compact forms is read here.
func TestOracle_MessagePack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawn(t, 3)
		ours := write(nil, want)
		theirs := encoded(t, want)
		if !bytes.Equal(ours, theirs) {
			t.Fatalf("ours % x, theirs % x", ours, theirs)
		}
		dec := msgpack.NewDecoder(bytes.NewReader(ours))
		got, err := dec.DecodeInterface()
		if err != nil {
			t.Fatal(err)
		}
		if again := write(nil, normal(got)); !bytes.Equal(again, ours) {
			t.Fatalf("the library read % x as %v", ours, got)
		}
	})
}

func encoded(t *rapid.T, v any) []byte {
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.UseCompactInts(true)
	var put func(v any) error
	put = func(v any) error {
		a, ok := v.([]any)
		if !ok {
			return enc.Encode(v)
		}
		if err := enc.EncodeArrayLen(len(a)); err != nil {
			return err
		}
		for _, e := range a {
			if err := put(e); err != nil {
				return err
			}
		}
		return nil
	}
	if err := put(v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// normal makes what the library decodes a drawn value again: it gives each
// width its own type, and reads an empty byte string as nil.
func normal(v any) any {
	switch v := v.(type) {
	case []byte:
		return append([]byte{}, v...)
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
		return v
	}
	switch r := reflect.ValueOf(v); {
	case v == nil:
		return nil
	case r.CanUint():
		return r.Uint()
	case r.CanInt() && r.Int() >= 0:
		return uint64(r.Int())
	case r.CanInt():
		return r.Int()
	}
	return v
}
