package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// flips are the bytes of a row that are flipped, of every class: the frame's
// version, length and checksum, the payload at both ends, and the key.
func flips(key string, value []byte) (out []struct {
	what string
	key  string
	val  []byte
}) {
	add := func(what string, inKey bool, at int) {
		k, v := []byte(key), bytes.Clone(value)
		if inKey {
			k[at] ^= 4
		} else {
			v[at] ^= 4
		}
		out = append(out, struct {
			what string
			key  string
			val  []byte
		}{fmt.Sprint(what, " byte ", at), string(k), v})
	}
	for _, at := range []int{0, 2, 6, 9, (9 + len(value)) / 2, len(value) - 1} {
		add("value", false, min(at, len(value)-1))
	}
	for _, at := range []int{0, len(key) / 2, len(key) - 1} {
		add("key", true, at)
	}
	return out
}

// P10: whatever bit of whatever row flips, fsck names it and changes nothing
// unless it is asked to; asked to, it puts the store right, or names what only
// a peer or a backup can give back; and nothing damaged was served meanwhile.
func TestFsck_NamesAndRepairsEveryFlip(t *testing.T) {
	for name, trimmed := range map[string]bool{"whole log": false, "trimmed log": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyFlip(t, trimmed)
		})
	}
}

func everyFlip(t *testing.T, trimmed bool) {
	e := memory.NewEngine()
	s := fullStore(t, e)
	if trimmed {
		for i := range 4 {
			snapshot(t, s, i)
		}
		trim(t, s, store.Keep{Entries: 1, Through: math.MaxUint64})
		if s.FirstSeq() < 4 {
			t.Fatalf("the log begins at %d: the case did not arise", s.FirstSeq())
		}
	}
	remedies, applied := map[store.Bucket]map[store.Remedy]int{}, map[store.Remedy]int{}
	for b := range store.NumBuckets {
		remedies[b] = map[store.Remedy]int{}
		rows := rowsOf(t, e, b)
		for n, key := range slices.Sorted(maps.Keys(rows)) {
			for i, f := range flips(key, rows[key]) {
				if n > 0 && i%3 != n%3 {
					continue // every class of the first row, each class of some other
				}
				label := fmt.Sprintf("%s/%q %s", b, key, f.what)
				damaged := e.Reopen()
				if err := damaged.Update(func(tx store.WriteTx) error {
					if err := tx.Delete(b, []byte(key)); err != nil {
						return err
					}
					return tx.Put(b, []byte(f.key), f.val)
				}); err != nil {
					t.Fatal(err)
				}
				for _, r := range flipped(t, label, damaged, s, b, applied) {
					remedies[b][r]++
				}
			}
		}
	}
	t.Log("left:", remedies, "applied:", applied)
	for _, remedy := range []store.Remedy{store.FromLog, store.FromRecord, store.FromIndex, store.ByDropping, store.ByTrimming} {
		if applied[remedy] == 0 && (remedy != store.ByTrimming || !trimmed) {
			t.Errorf("nothing was repaired by %q", remedy)
		}
	}
	for b := range store.NumBuckets {
		for remedy := range remedies[b] {
			if remedy == store.ByRestore && b != store.BucketMeta || remedy == store.FromPeer && !trimmed {
				t.Errorf("%s: %d flips of a whole log want %q", b, remedies[b][remedy], remedy)
			}
		}
	}
}

// flipped checks one store with a flip and returns the remedies of what could
// not be repaired here.
func flipped(t *testing.T, label string, e *memory.Engine, want *store.Store, b store.Bucket, applied map[store.Remedy]int) (left []store.Remedy) {
	t.Helper()
	cfg := store.Config{Wall: time.Now}
	before := everyRow(t, e)
	r, err := store.FsckEngine(t.Context(), e, cfg, false)
	if err != nil || r.Soundness() != store.Unsound {
		t.Errorf("%s: fsck says %s, %v", label, r.Soundness(), err)
		return nil
	}
	if !maps.Equal(before, everyRow(t, e)) {
		t.Errorf("%s: fsck without repair changed something", label)
	}
	if !slices.ContainsFunc(r.Faults, func(f store.Fault) bool { return f.Bucket == b }) {
		t.Errorf("%s: no fault names the bucket: %v", label, r.Faults)
	}
	for _, f := range r.Faults {
		if f.Problem == "" || f.Meaning == "" || f.Remedy == "" {
			t.Errorf("%s: fault %+v does not say all", label, f)
		}
	}
	if opened, err := store.Open(e.Reopen(), cfg); err == nil {
		served(t, opened, want)
		_ = opened.Close()
	} else if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("%s: open: %v", label, err)
	}
	r, err = store.FsckEngine(t.Context(), e, cfg, true)
	if err != nil {
		t.Errorf("%s: repair: %v", label, err)
		return nil
	}
	for _, f := range r.Faults {
		if f.Repaired {
			applied[f.Remedy]++
		} else {
			left = append(left, f.Remedy)
		}
	}
	if len(left) > 0 {
		if b != store.BucketMeta {
			t.Logf("%s: %+v", label, r.Faults)
		}
		return left
	}
	mended, err := store.Open(e, cfg)
	if err != nil {
		t.Errorf("%s: open after the repair %v: %v", label, r.Faults, err)
		return nil
	}
	defer mended.Close()
	if problems, err := mended.Check(); err != nil || len(problems) > 0 {
		t.Errorf("%s: check after the repair %v: %v, %q", label, r.Faults, err, problems)
	}
	if got := mended.State(); got.Super != want.State().Super || got.Head.Own != want.Head().Own || got.Head.HLC < want.Head().HLC && b != store.BucketMeta {
		t.Errorf("%s: another state after the repair %v", label, r.Faults)
	}
	if r, err := store.FsckEngine(t.Context(), e, cfg, false); err != nil || r.Soundness() != store.Clean {
		t.Errorf("%s: fsck after the repair: %+v, %v", label, r.Faults, err)
	}
	if _, err := mended.Put(t.Context(), named("again")); err != nil {
		t.Errorf("%s: put after the repair: %v", label, err)
	}
	sound(t, mended)
	return nil
}

func everyRow(t *testing.T, e *memory.Engine) map[string]string {
	out := map[string]string{}
	for b := range store.NumBuckets {
		for k, v := range rowsOf(t, e, b) {
			out[b.String()+"/"+k] = string(v)
		}
	}
	return out
}

// The same of a store that is open and goes on: found by the scrub, not served,
// not offered to peers, repaired beside writers.
func TestFsck_OfAnOpenStore(t *testing.T) {
	for b := range store.NumBuckets {
		for key, value := range rowsOf(t, fullEngine(t), b) {
			for i := range flips(key, value) {
				e := memory.NewEngine()
				s := fullStore(t, e)
				rows := rowsOf(t, e, b) // of another run, under other ids
				k := slices.Sorted(maps.Keys(rows))
				at := i % len(k)
				openFlip(t, e, s, b, k[at], rows[k[at]], i)
			}
			break
		}
	}
}

func fullEngine(t *testing.T) *memory.Engine {
	e := memory.NewEngine()
	fullStore(t, e)
	return e
}

func openFlip(t *testing.T, e *memory.Engine, s *store.Store, b store.Bucket, key string, value []byte, i int) {
	t.Helper()
	f := flips(key, value)[i]
	label := fmt.Sprintf("%s/%q %s", b, key, f.what)
	was := s.State()
	if err := e.Update(func(tx store.WriteTx) error {
		return errors.Join(tx.Delete(b, []byte(key)), tx.Put(b, []byte(f.key), f.val))
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(t.Context(), func() error { return nil }); err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	if len(s.Damage()) == 0 || s.DamageFound() == 0 {
		t.Errorf("%s: the scrub found nothing", label)
	}
	r, err := s.Fsck(t.Context(), true)
	if err != nil || r.Soundness() != store.Mended {
		t.Errorf("%s: repair: %+v, %v", label, r.Faults, err)
	}
	if d := s.Damage(); len(d) > 0 {
		t.Errorf("%s: damage after the repair: %v", label, d)
	}
	sound(t, s)
	if s.State().Super != was.Super {
		t.Errorf("%s: another root after the repair", label)
	}
}

// A record that the log has no more is not held while it is damaged, and a peer
// gives it back, also when it lies below the floor.
func TestFsck_PeerGivesBack(t *testing.T) {
	e := memory.NewEngine()
	s := trimmable(t, e)
	rec := find(t, s, "n1")
	trim(t, s, store.Keep{Entries: 1, Through: math.MaxUint64})
	for range 3 {
		if _, err := s.Put(t.Context(), noteOf(50, fmt.Sprint(s.Head().Seq))); err != nil {
			t.Fatal(err)
		}
	}
	// Below the floor, as what was collected would be.
	if _, err := s.Apply(t.Context(), store.Batch{Floor: store.FloorOf(s.State().Vector)}); err != nil {
		t.Fatal(err)
	}
	peer, was := rec, s.State()
	// Its row, and it in every snapshot.
	bad := func(key []byte) bool { return bytes.Contains(key, rec.ID[:]) }
	flip(t, e, store.BucketRecords, bad)
	for key, value := range rowsOf(t, e, store.BucketSnapshots) {
		if bytes.Contains(value, rec.ID[:]) {
			flip(t, e, store.BucketSnapshots, func(k []byte) bool { return string(k) == key })
		}
	}
	for key, value := range rowsOf(t, e, store.BucketLog) {
		if bytes.Contains(value, rec.ID[:]) {
			flip(t, e, store.BucketLog, func(k []byte) bool { return string(k) == key })
		}
	}
	if err := s.Scrub(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if s.State().Super == was.Super {
		t.Error("the record is held after the scrub found it damaged")
	}
	r, err := s.Fsck(t.Context(), true)
	if err != nil || r.Soundness() != store.Unsound {
		t.Fatalf("fsck: %+v, %v", r.Faults, err)
	}
	if !slices.ContainsFunc(r.Faults, func(f store.Fault) bool { return f.Record == rec.ID && f.Remedy == store.FromPeer }) {
		t.Errorf("the record is not named: %+v", r.Faults)
	}
	if s.State().Super == was.Super {
		t.Error("the record is still held")
	}
	if len(s.State().Vector) > 0 || len(s.Summary().Vector) > 0 {
		t.Error("the state says that it covers what it does not hold")
	}
	if _, err := s.Get(t.Context(), "Note", resource.Scope{}, "n1"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %v", err)
	}
	out, err := s.Apply(t.Context(), store.Batch{Records: []store.Incoming{{Record: peer, From: id(8)}}})
	if err != nil || out.Quarantined != 1 {
		t.Errorf("merged over damage: %+v, %v", out, err)
	}
	if n, err := s.PutBack(t.Context(), []store.Incoming{{Record: peer, From: id(8)}}, nil); !errors.Is(err, store.ErrStalePeer) || n != 0 {
		t.Errorf("taken from a peer that is behind the floor: %d, %v", n, err)
	}
	if n, err := s.PutBack(t.Context(), []store.Incoming{{Record: peer, From: id(8)}}, was.Vector); err != nil || n != 1 {
		t.Fatalf("put back %d, %v", n, err)
	}
	if n, err := s.PutBack(t.Context(), []store.Incoming{{Record: peer, From: id(8)}}, was.Vector); err != nil || n != 0 {
		t.Errorf("put back what is sound: %d, %v", n, err)
	}
	if r, err := s.Fsck(t.Context(), true); err != nil || r.Soundness() == store.Unsound {
		t.Errorf("fsck: %+v, %v", r.Faults, err)
	}
	sound(t, s)
	if s.State().Super != was.Super || len(s.Damage()) > 0 {
		t.Errorf("not as it was: %v", s.Damage())
	}
}

func find(t *testing.T, s *store.Store, name string) resource.Record {
	t.Helper()
	r, err := s.Get(t.Context(), "Note", resource.Scope{}, name)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := s.Record(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestFsck_EndsWithItsContext(t *testing.T) {
	e := memory.NewEngine()
	s := fullStore(t, e)
	flip(t, e, store.BucketNames, func([]byte) bool { return true })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Fsck(ctx, true); !errors.Is(err, context.Canceled) {
		t.Errorf("fsck: %v", err)
	}
}

// An engine with nothing in it holds no store.
func TestFsck_OfNothing(t *testing.T) {
	e := memory.NewEngine()
	if _, err := store.FsckEngine(t.Context(), e, store.Config{Wall: time.Now}, true); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("fsck: %v", err)
	}
}

// A row of the index that is hidden by a flipped key does not make a record
// absent: what comes in for it waits, and nothing of either version is lost.
func TestApply_HiddenIndexRowIsNoAbsence(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	peer := open(t, memory.NewEngine())
	if _, err := s.Put(t.Context(), named("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Apply(t.Context(), store.Batch{Records: outbox(t, s)}); err != nil {
		t.Fatal(err)
	}
	rec := find(t, s, "a")
	if _, err := peer.Put(t.Context(), with(named("a"), func(r *resource.Resource) { r.Spec = []byte(`{"by":"peer"}`) })); err != nil {
		t.Fatal(err)
	}
	if err := e.Update(func(tx store.WriteTx) error {
		row := bytes.Clone(tx.Get(store.BucketIDs, rec.ID[:]))
		hidden := rec.ID
		hidden[3] ^= 1
		return errors.Join(tx.Delete(store.BucketIDs, rec.ID[:]), tx.Put(store.BucketIDs, hidden[:], row))
	}); err != nil {
		t.Fatal(err)
	}
	out, err := s.Apply(t.Context(), store.Batch{Records: []store.Incoming{{Record: find(t, peer, "a"), From: id(8)}}})
	if err != nil || out.Quarantined != 1 || out.Applied != 0 {
		t.Fatalf("came to %+v, %v", out, err)
	}
	if r, err := s.Fsck(t.Context(), true); err != nil || r.Soundness() != store.Mended {
		t.Fatalf("fsck: %+v, %v", r.Faults, err)
	}
	if out, err := s.Apply(t.Context(), store.Batch{Records: []store.Incoming{{Record: find(t, peer, "a"), From: id(8)}}}); err != nil || out.Applied != 1 {
		t.Errorf("after the repair: %+v, %v", out, err)
	}
	sound(t, s)
}

// An own event whose entry is damaged is rebuilt to the bit, where the chain
// proves it, from the record that it wrote.
func TestFsck_RebuildsOwnEvents(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	for i := range 4 {
		if _, err := s.Put(t.Context(), noteOf(i, "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), "Note", resource.Scope{}, "n3"); err != nil {
		t.Fatal(err)
	}
	want := outbox(t, s)
	for key := range rowsOf(t, e, store.BucketLog) {
		damaged := e.Reopen()
		flip(t, damaged, store.BucketLog, func(k []byte) bool { return string(k) == key })
		r, err := store.FsckEngine(t.Context(), damaged, store.Config{Wall: time.Now}, true)
		if err != nil || len(r.Faults) != 1 {
			t.Fatalf("%x: %+v, %v", key, r.Faults, err)
		}
		if key[7] == 5 { // written over by the deletion
			if r.Faults[0].Remedy != store.ByTrimming {
				t.Errorf("%x: %+v", key, r.Faults)
			}
			continue
		}
		if r.Faults[0].Remedy != store.FromRecord || !r.Faults[0].Repaired {
			t.Errorf("%x: %+v", key, r.Faults)
		}
		got := outbox(t, open(t, damaged))
		for i := range want {
			if got[i].Event.Hash() != want[i].Event.Hash() {
				t.Errorf("%x: event %d is another", key, i)
			}
		}
	}
}
