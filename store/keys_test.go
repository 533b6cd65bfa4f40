package store

import (
	"bytes"
	"cmp"
	"testing"

	"driftless.dev/merkle"
	"driftless.dev/resource"
	"pgregory.net/rapid"
)

func drawID(t *rapid.T) (id resource.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	return id
}

// text draws a part of an address: anything but a zero byte, which
// resource.ValidateName refuses.
func text(least int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune{1, ' ', '-', 'a', 'b', '.', 'é', '\U0010ffff'}), least, 4, -1)
}

func drawRecord(t *rapid.T) *resource.Record {
	return &resource.Record{
		ID:   drawID(t),
		Kind: resource.GroupKind{Kind: rapid.SampledFrom([]string{"A", "Ab", "B"}).Draw(t, "kind"), Group: rapid.SampledFrom([]string{"", "a.dev", "b.dev"}).Draw(t, "group")},
		Scope: resource.Scope{
			Instance: text(0).Draw(t, "instance"), Project: text(0).Draw(t, "project"), Workspace: text(0).Draw(t, "workspace"),
		},
		Name: text(1).Draw(t, "name"),
	}
}

func TestKeys_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		place := merkle.Key(rapid.Uint64().Draw(t, "place"))
		realm, gotPlace, id, ok := splitRecordKey(recordKey(r.Realm(), place, r.ID))
		if !ok || realm != r.Realm() || gotPlace != place || id != r.ID {
			t.Errorf("record key came back as %q %x %s %v", realm, gotPlace, id, ok)
		}
		kind, scope, name, id, ok := splitNameKey(nameKey(r))
		if !ok || kind != r.Kind.String() || scope != r.Scope || name != r.Name || id != r.ID {
			t.Errorf("name key came back as %q %v %q %s %v", kind, scope, name, id, ok)
		}
	})
}

// Keys sort by kind, scope, name and id, so listings need no sorting.
func TestKeys_NamesSortByAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawRecord(t), drawRecord(t)
		want := cmp.Or(
			a.Kind.Compare(b.Kind), a.Scope.Compare(b.Scope), cmp.Compare(a.Name, b.Name), bytes.Compare(a.ID[:], b.ID[:]),
		)
		if got := bytes.Compare(nameKey(a), nameKey(b)); got != want {
			t.Errorf("%v and %v compare as %d, want %d", a, b, got, want)
		}
		if bytes.HasPrefix(nameKey(a), namePrefix(b.Kind, b.Scope, b.Name)) != (a.Kind == b.Kind && a.Scope == b.Scope && a.Name == b.Name) {
			t.Errorf("%v lies under the address of %v", a, b)
		}
	})
}

func TestKeys_SequencesSortByNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		if got := bytes.Compare(seqKey(a), seqKey(b)); got != cmp.Compare(a, b) {
			t.Errorf("%d and %d compare as %d", a, b, got)
		}
	})
}

func TestKeys_OtherShapesAreRefused(t *testing.T) {
	for _, k := range [][]byte{nil, []byte("short"), make([]byte, 16), make([]byte, 24), []byte("realm without a zero byte at its end")} {
		if _, _, _, ok := splitRecordKey(k); ok {
			t.Errorf("record key %q was taken", k)
		}
		if _, _, _, _, ok := splitNameKey(k); ok {
			t.Errorf("name key %q was taken", k)
		}
	}
}
