package store_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// trimmable has two snapshots and entries after each.
func trimmable(t *testing.T, e *memory.Engine, tune ...func(*store.Config)) *store.Store {
	t.Helper()
	s := notes(t, e, tune...)
	for i := range 30 {
		if _, err := s.Put(t.Context(), noteOf(i%7, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if i == 10 || i == 20 {
			if err := s.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func trim(t *testing.T, s *store.Store, k store.Keep) uint64 {
	t.Helper()
	if err := s.Trim(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	return s.FirstSeq()
}

// Trimming passes neither the older of two snapshots that verify, nor what it
// is told that others read, nor its limits; the store stays checkable, across a
// restart too, and goes on.
func TestTrim_KeepsWhatARebuildNeeds(t *testing.T) {
	e := memory.NewEngine()
	s := trimmable(t, e)
	_, finished := snapshots(t, e)
	older := finished[0]
	for _, tt := range []struct {
		name  string
		keep  store.Keep
		first uint64
	}{
		{"nothing is asked", store.Keep{Through: math.MaxUint64}, 1},
		{"others read all", store.Keep{Entries: 1}, 1},
		{"enough is kept", store.Keep{Entries: 1000, Through: math.MaxUint64}, 1},
		{"none is old enough", store.Keep{Age: time.Hour, Through: math.MaxUint64}, 1},
		{"others read from 3 on", store.Keep{Entries: 1, Through: 3}, 4},
		{"26 are kept", store.Keep{Entries: 26, Through: math.MaxUint64}, s.Head().Seq - 26 + 1},
		{"the older snapshot", store.Keep{Entries: 1, Through: math.MaxUint64}, older + 1},
	} {
		if got := trim(t, s, tt.keep); got != tt.first {
			t.Errorf("%s: the log begins at %d, want %d", tt.name, got, tt.first)
		}
	}
	if got := s.Dropped().Entries; got != older {
		t.Errorf("%d are counted, want %d", got, older)
	}
	again := open(t, e.Reopen())
	sound(t, again)
	if again.FirstSeq() != older+1 {
		t.Errorf("after a restart the log begins at %d", again.FirstSeq())
	}
	if _, err := again.Put(t.Context(), noteOf(100, "")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := again.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := again.Put(t.Context(), noteOf(100, fmt.Sprint(again.Head().Seq))); err != nil {
			t.Fatal(err)
		}
		trim(t, again, store.Keep{Entries: 1, Through: math.MaxUint64})
	}
	r, err := store.Replay(t.Context(), again, memory.NewEngine(), store.Config{Wall: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.State().Super != again.State().Super {
		t.Error("a replay of the trimmed log comes to something else")
	}
}

// An age takes what is older.
func TestTrim_ByAge(t *testing.T) {
	at := time.Now()
	s := trimmable(t, memory.NewEngine(), func(c *store.Config) { c.Wall = func() time.Time { return at } })
	at = at.Add(time.Hour)
	if got := trim(t, s, store.Keep{Age: time.Minute, Through: 5}); got != 6 {
		t.Errorf("the log begins at %d", got)
	}
}

// A damaged snapshot does not count as one of the two.
func TestTrim_DamagedSnapshotDoesNotCount(t *testing.T) {
	e := memory.NewEngine()
	s := trimmable(t, e)
	_, finished := snapshots(t, e)
	flip(t, e, store.BucketSnapshots, func(key []byte) bool {
		return binary.BigEndian.Uint64(key) == finished[1] && binary.BigEndian.Uint32(key[8:]) == 0
	})
	if err := s.Trim(t.Context(), store.Keep{Entries: 1, Through: math.MaxUint64}); err != nil || s.FirstSeq() != 1 {
		t.Errorf("trimmed behind one snapshot: first %d, %v", s.FirstSeq(), err)
	}
	// The next one takes the damaged one's place, not the sound one's.
	if err := s.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, now := snapshots(t, e); len(now) != 2 || now[0] != finished[0] {
		t.Errorf("kept are %v, sound was %d", now, finished[0])
	}
	if got := trim(t, s, store.Keep{Entries: 1, Through: math.MaxUint64}); got != finished[0]+1 {
		t.Errorf("the log begins at %d", got)
	}
}

// flip changes the last byte of the rows that pick takes.
func flip(t *testing.T, e *memory.Engine, b store.Bucket, pick func(key []byte) bool) {
	t.Helper()
	n := 0
	for key, value := range rowsOf(t, e, b) {
		if !pick([]byte(key)) {
			continue
		}
		n++
		value[len(value)-1] ^= 1
		if err := e.Update(func(tx store.WriteTx) error { return tx.Put(b, []byte(key), value) }); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Fatal("nothing was flipped")
	}
}

// Whoever reads a part that was trimmed is told, never given a gap.
func TestTrim_ReadersAreTold(t *testing.T) {
	s := trimmable(t, memory.NewEngine())
	first := trim(t, s, store.Keep{Entries: 1, Through: 6})
	for after := range first - 1 {
		last, err := s.Entries(after, 10, func(store.Entry) error { return nil })
		if !errors.Is(err, store.ErrCompacted) || last != first-1 {
			t.Errorf("entries after %d: last %d, %v", after, last, err)
		}
		if _, last, err := s.Outbox(after, 10); !errors.Is(err, store.ErrCompacted) || last != first-1 {
			t.Errorf("outbox after %d: last %d, %v", after, last, err)
		}
	}
	if _, err := s.Entries(first-1, 10, func(store.Entry) error { return nil }); err != nil {
		t.Errorf("entries that are there: %v", err)
	}
}

// S1: a member that holds less than what was trimmed is no sign of a fork.
func TestTrim_VouchesForWhatIsGone(t *testing.T) {
	s := trimmable(t, memory.NewEngine())
	events, _, err := s.Outbox(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	trim(t, s, store.Keep{Entries: 1, Through: 6})
	for _, ev := range events {
		claim := store.Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.Hash()}
		if got, err := s.Vouch(claim); err != nil || got != store.Shared {
			t.Errorf("own event %d: %v, %v", ev.Seq, got, err)
		}
		claim.Hash[0] ^= 1
		if got, err := s.Vouch(claim); err != nil || got != store.Forked && ev.Seq >= 6 {
			t.Errorf("another event %d: %v, %v", ev.Seq, got, err)
		}
	}
}

// Ledger and quarantine lose their oldest rows first, counted (P12).
func TestTrim_BoundsTheLists(t *testing.T) {
	at := time.Now().Add(-100 * time.Hour)
	cfg := store.Config{Wall: func() time.Time { return at }}
	same := func(c *store.Config) { *c = cfg }
	s, peer := notes(t, memory.NewEngine(), same), open(t, memory.NewEngine(), same)
	for i := range 10 {
		at = at.Add(time.Hour)
		for n, owner := range map[*store.Store]string{s: "s", peer: "p"} {
			if n == peer && i == 0 {
				if _, err := peer.Apply(t.Context(), store.Batch{Records: outbox(t, s)}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := n.Put(t.Context(), noteOf(0, fmt.Sprint(owner, i))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Apply(t.Context(), store.Batch{Records: outbox(t, peer)}); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Apply(t.Context(), store.Batch{Records: outbox(t, s)}); err != nil {
			t.Fatal(err)
		}
		var rec resource.Record
		if _, err := s.Entries(s.Head().Seq-1, 1, func(en store.Entry) error { rec = en.Record; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := s.Quarantine([]store.Incoming{{Record: rec, From: id(9)}}, "no"); err != nil {
			t.Fatal(err)
		}
	}
	losses, err := s.Ledger(100)
	if err != nil || len(losses) < 5 {
		t.Fatalf("the case did not arise: %d losses, %v", len(losses), err)
	}
	trim(t, s, store.Keep{Ledger: store.Limit{Bytes: 1000}, Quarantine: store.Limit{Age: 150 * time.Minute}})
	kept, _ := s.Ledger(100)
	if len(kept) == 0 || len(kept) >= len(losses) || s.Dropped().Losses != uint64(len(losses)-len(kept)) {
		t.Errorf("%d of %d losses are kept, %+v", len(kept), len(losses), s.Dropped())
	}
	oldest := kept[0].At
	for _, l := range kept {
		oldest = min(oldest, l.At)
	}
	gone := 0
	for _, l := range losses {
		if l.At < oldest {
			gone++
		}
	}
	if gone != len(losses)-len(kept) {
		t.Errorf("%d older ones are gone of %d", gone, len(losses)-len(kept))
	}
	if q, _ := s.QuarantineList(100); len(q) != 3 || s.Dropped().Quarantined != 7 {
		t.Errorf("%d rows of the quarantine are kept, %+v", len(q), s.Dropped())
	}
}
