package store_test

import (
	"maps"
	"slices"
	"testing"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"pgregory.net/rapid"
)

func id(n byte) resource.ID { return resource.ID{n, 15: 1} }

func at(seq uint64) store.Position {
	return store.Position{Seq: seq, HLC: hlc.At(int64(seq), 0), Hash: [32]byte{byte(seq)}}
}

func TestVector_JoinTakesTheHigherEntries(t *testing.T) {
	v := store.Vector{id(1): at(5), id(2): at(3)}
	rose := v.Join(store.Vector{id(1): at(4), id(2): at(7), id(3): at(1)})
	want := store.Vector{id(1): at(5), id(2): at(7), id(3): at(1)}
	if !maps.Equal(v, want) || !slices.Equal(rose, []resource.ID{id(2), id(3)}) {
		t.Errorf("joined to %v, rose %v", v, rose)
	}
	if rose := v.Join(want.Clone()); rose != nil {
		t.Errorf("joined with itself, rose %v", rose)
	}
}

func TestVector_Covers(t *testing.T) {
	v := store.Vector{id(1): at(5), id(2): at(3)}
	for _, c := range []struct {
		o    store.Vector
		want bool
	}{
		{nil, true}, {store.Vector{}, true}, {v, true}, {store.Vector{id(1): at(4)}, true}, {store.Vector{id(3): {}}, true},
		{store.Vector{id(1): at(6)}, false}, {store.Vector{id(3): at(1)}, false},
	} {
		if v.Covers(c.o) != c.want {
			t.Errorf("covers %v: %v", c.o, !c.want)
		}
	}
}

func TestVector_CloneSharesNothing(t *testing.T) {
	v := store.Vector{id(1): at(5)}
	c := v.Clone()
	c[id(1)] = at(6)
	if v[id(1)] != at(5) {
		t.Error("a clone changed its original")
	}
}

func drawVector(t *rapid.T) store.Vector {
	v := store.Vector{}
	for range rapid.IntRange(0, 5).Draw(t, "entries") {
		v[id(rapid.Byte().Draw(t, "id"))] = at(rapid.Uint64Range(0, 1<<40).Draw(t, "seq"))
	}
	return v
}

// Join is a join: the order does not matter.
func TestVector_JoinCommutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawVector(t), drawVector(t)
		ab, ba := a.Clone(), b.Clone()
		ab.Join(b)
		ba.Join(a)
		if !ab.Covers(ba) || !ba.Covers(ab) || !ab.Covers(a) || !ab.Covers(b) {
			t.Fatalf("%v and %v join to %v and %v", a, b, ab, ba)
		}
	})
}

// TestVector_ForkedPositionsJoinToOne: two states that took in different events
// under one dot, from both sides of a fork that was settled since, have to come
// to one vector (found by the simulation, seed 205 with restores).
func TestVector_ForkedPositionsJoinToOne(t *testing.T) {
	inc := resource.ID{1}
	low, high := store.Position{Seq: 7, HLC: 5, Hash: [32]byte{1}}, store.Position{Seq: 7, HLC: 5, Hash: [32]byte{2}}
	a, b := store.Vector{inc: low}, store.Vector{inc: high}
	if a.Covers(b) || !b.Covers(a) {
		t.Errorf("of two events under one dot the higher covers the lower: %v, %v", a.Covers(b), b.Covers(a))
	}
	a.Join(store.Vector{inc: high})
	b.Join(store.Vector{inc: low})
	if a[inc] != high || b[inc] != high {
		t.Errorf("joined to %v and %v", a[inc], b[inc])
	}
}
