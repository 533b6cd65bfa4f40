package store_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// snapshots lists the sequences at which the snapshots on disk were begun, and
// of these the finished ones.
func snapshots(t *testing.T, e *memory.Engine) (begun, finished []uint64) {
	t.Helper()
	for key := range rowsOf(t, e, store.BucketSnapshots) {
		base := binary.BigEndian.Uint64([]byte(key))
		if !slices.Contains(begun, base) {
			begun = append(begun, base)
		}
		if binary.BigEndian.Uint32([]byte(key[8:])) == math.MaxUint32 {
			finished = append(finished, base)
		}
	}
	slices.Sort(begun)
	slices.Sort(finished)
	return begun, finished
}

func snapshot(t *testing.T, s *store.Store, round int) uint64 {
	t.Helper()
	if _, err := s.Put(t.Context(), named(fmt.Sprint("n", round))); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s.Head().Seq
}

func TestSnapshot_KeepsTheLastTwo(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	var taken []uint64
	for i := range 4 {
		taken = append(taken, snapshot(t, s, i))
	}
	begun, finished := snapshots(t, e)
	if want := taken[2:]; !slices.Equal(begun, want) || !slices.Equal(finished, want) {
		t.Errorf("begun %v, finished %v, want %v", begun, finished, want)
	}
	sound(t, s)
}

// One that a crash left unfinished takes no finished one's place.
func TestSnapshot_UnfinishedOneDoesNotCount(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	whole, torn := snapshot(t, s, 0), snapshot(t, s, 1)
	if err := e.Update(func(tx store.WriteTx) error {
		manifest := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, torn), math.MaxUint32)
		return tx.Delete(store.BucketSnapshots, manifest)
	}); err != nil {
		t.Fatal(err)
	}
	last := snapshot(t, s, 2)
	if begun, finished := snapshots(t, e); !slices.Equal(begun, []uint64{whole, last}) || !slices.Equal(finished, begun) {
		t.Errorf("begun %v, finished %v, want %v", begun, finished, []uint64{whole, last})
	}
}
