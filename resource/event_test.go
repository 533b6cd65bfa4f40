package resource_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/fuzztest"
	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

func anEvent() resource.Event {
	return resource.Event{
		Deleted: true, Incarnation: resource.ID{15: 1}, Seq: 7, HLC: hlc.At(70, 1), RealmPrev: 5, PrevHash: [32]byte{31: 1}, Record: buried(),
	}
}

// buried is the whole record as a tombstone.
func buried() resource.Record {
	rec := whole()
	rec.Deletion.Value.Strength = resource.Delete
	rec.Finalizers[0].Present = false
	rebuild(&rec)
	return rec
}

func drawEvent(t *rapid.T) resource.Event {
	e := resource.Event{Incarnation: drawID(t), Record: drawAny(t)}
	e.Deleted = e.Record.Deleted() && rapid.Bool().Draw(t, "deleted")
	e.Seq = rapid.Uint64Min(1).Draw(t, "seq")
	e.RealmPrev = rapid.Uint64Range(0, e.Seq-1).Draw(t, "realmPrev")
	newest := hlc.Timestamp(0)
	for p := range e.Record.Points() {
		newest = max(newest, p.HLC)
	}
	e.HLC = hlc.Timestamp(rapid.Uint64Range(uint64(newest), uint64(resource.MaxHLC)).Draw(t, "hlc"))
	copy(e.PrevHash[:], rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "prevHash"))
	return e
}

func readEvent(b []byte) (resource.Event, error) {
	r := pack.NewReader(b)
	e := resource.ReadEvent(r)
	return e, r.Close()
}

func TestEvent_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawEvent(t)
		b := want.AppendTo(nil)
		got, err := readEvent(b)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("read\n%+v\nwant\n%+v\n%v", got, want, err)
		}
		if !bytes.Equal(got.AppendTo(nil), b) || !bytes.Equal(want.AppendFrame(nil, want.Record.AppendTo(nil)), b) || got.Hash() != want.Hash() {
			t.Fatal("encodes otherwise after a round trip")
		}
		if err := got.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEvent_EveryByteCounts(t *testing.T) {
	e := anEvent()
	b, hash := e.AppendTo(nil), e.Hash()
	for i := range b {
		for _, flip := range []byte{1, 0x10, 0x80, 0xff} {
			b[i] ^= flip
			got, err := readEvent(b)
			switch {
			case err != nil && !errors.Is(err, pack.ErrMalformed):
				t.Errorf("byte %d: %v is not ErrMalformed", i, err)
			case err == nil && !bytes.Equal(got.AppendTo(nil), b):
				t.Errorf("byte %d: accepted, and encodes otherwise", i)
			case err == nil && got.Hash() == hash && !onlySignaturesDiffer(got.Record, e.Record):
				t.Errorf("byte %d: changed, and the hash did not", i)
			}
			b[i] ^= flip
		}
	}
	for n := range b {
		if _, err := readEvent(b[:n]); !errors.Is(err, pack.ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// Every field is in the hash: its own, the record's digest, and the record's
// realm.
func TestEventHash_CoversEveryField(t *testing.T) {
	original := anEvent()
	seen := map[[32]byte]string{original.Hash(): "nothing"}
	leaves(reflect.ValueOf(&original), "", func(path string, _ reflect.Value) {
		e := anEvent()
		leaves(reflect.ValueOf(&e), "", func(p string, leaf reflect.Value) {
			if p == path {
				change(t, p, leaf)
			}
		})
		rebuild(&e.Record)
		h := e.Hash()
		signature := strings.HasSuffix(path, ".Signature")
		if other, ok := seen[h]; ok != signature {
			t.Errorf("changing %s gives the hash of changing %s", path, other)
		}
		if !signature {
			seen[h] = path
		}
	})
}

func TestEvent_Type(t *testing.T) {
	e := anEvent()
	if e.Type() != resource.EvDeleted {
		t.Error(e.Type())
	}
	if e.Deleted = false; e.Type() != resource.EvPut {
		t.Error(e.Type())
	}
}

func TestEvent_ValidateRefuses(t *testing.T) {
	for name, change := range map[string]func(*resource.Event){
		"no incarnation":         func(e *resource.Event) { e.Incarnation = resource.ID{} },
		"no sequence":            func(e *resource.Event) { e.Seq, e.RealmPrev = 0, 0 },
		"no time":                func(e *resource.Event) { e.HLC = 0 },
		"its own predecessor":    func(e *resource.Event) { e.RealmPrev = e.Seq },
		"a later predecessor":    func(e *resource.Event) { e.RealmPrev = e.Seq + 1 },
		"a record without an id": func(e *resource.Event) { e.Record.ID = resource.ID{} },
		"older than its record":  func(e *resource.Event) { e.HLC-- },
		"older than creation":    func(e *resource.Event) { e.Record.Creation.HLC = e.HLC + 1 },
		"older than a finalizer": func(e *resource.Event) { e.Record.Finalizers[1].At.HLC = e.HLC + 1 },
		"deletes a live record":  func(e *resource.Event) { e.Record.Deletion = nil },
		"deletes a teardown":     func(e *resource.Event) { e.Record.Deletion.Value.Strength = resource.Teardown },
		"deletes under a key":    func(e *resource.Event) { e.Record.Finalizers[0].Present = true },
	} {
		e := anEvent()
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&e)
		if err := e.Validate(); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEvent_RefusesFields(t *testing.T) {
	e := anEvent()
	for name, c := range map[string]struct {
		field int
		with  []byte
	}{
		"version 0":       {0, []byte{0}},
		"version 2":       {0, []byte{2}},
		"no incarnation":  {1, []byte{0xc0}},
		"hash of 31":      {5, pack.AppendBin(nil, make([]byte, 31))},
		"flag as number":  {6, []byte{1}},
		"record as bytes": {7, pack.AppendBin(nil, e.Record.AppendTo(nil))},
		"no record":       {7, []byte{0xc0}},
	} {
		frame := resourcetest.Split(e.AppendTo(nil))
		frame[c.field] = c.with
		if _, err := readEvent(resourcetest.Join(frame)); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readEvent(resourcetest.Join(append(resourcetest.Split(e.AppendTo(nil)), []byte{0xc0}))); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("nine fields: %v", err)
	}
}

func FuzzReadEvent(f *testing.F) {
	e := anEvent()
	f.Add(e.AppendTo(nil))
	e.Record.Deletion, e.Record.Finalizers = nil, nil
	f.Add(e.AppendTo(nil))
	for _, b := range fuzztest.Bombs() {
		f.Add(b)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		cost.Run(t, b, func() { _, _ = readEvent(b) })
		e, err := readEvent(b)
		if err != nil {
			return
		}
		if !bytes.Equal(e.AppendTo(nil), b) {
			t.Fatalf("two encodings of one event:\n% x\n% x", b, e.AppendTo(nil))
		}
		_ = e.Validate()
	})
}
