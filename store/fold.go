package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// fold is the projection as the log tells it: per record its last post-image.
type fold map[resource.ID]foldedRecord

type foldedRecord struct {
	frame []byte
	seq   uint64 // 0 when it comes from a snapshot
}

// foldLog folds the log from its beginning, or from the newest snapshot that
// verifies. Both give the same projection. Of a log that was trimmed the oldest
// snapshot that verifies is the beginning.
func (s *Store) foldLog(tx Tx, newest bool) (fold, error) {
	base, err := readBase(tx)
	if err != nil {
		return nil, err
	}
	f, after := fold{}, uint64(0)
	if newest || base.Seq > 0 {
		f, after = s.anySnapshot(tx, newest, base.Seq)
	}
	if after < base.Seq {
		return nil, fmt.Errorf("%w: the log begins after %d and no snapshot of then verifies", ErrDamaged, base.Seq)
	}
	tx.Ascend(BucketLog, seqKey(after+1), func(key, value []byte) bool {
		var e Entry
		if e, err = readEntry(key, value); err != nil {
			return false
		}
		if e.Collected() {
			delete(f, e.Record.ID)
			return true
		}
		f[e.Record.ID] = foldedRecord{frame: e.Record.AppendTo(nil), seq: e.Seq}
		return true
	})
	return f, err
}

// anySnapshot reads the newest, or the oldest, snapshot that is whole,
// undamaged and not of before a sequence; none is an empty fold from the log's
// beginning.
func (s *Store) anySnapshot(tx Tx, newest bool, least uint64) (fold, uint64) {
	bases := snapshotBases(tx)
	if newest {
		slices.Reverse(bases)
	}
	for _, base := range bases {
		if f, seq, err := s.readSnapshot(tx, base); err == nil && seq >= least {
			return f, seq
		}
	}
	return fold{}, 0
}

func (s *Store) readSnapshot(tx Tx, base uint64) (fold, uint64, error) {
	seq, chunks, err := readSnapshotManifest(tx, base)
	if err != nil {
		return nil, 0, err
	}
	f := fold{}
	for n := range chunks {
		if err := s.readSnapshotChunk(tx, f, snapshotKey(base, uint32(n))); err != nil {
			return nil, 0, err
		}
	}
	return f, seq, nil
}

// readSnapshotManifest returns the sequence that a snapshot is of, and how many
// chunks it has.
func readSnapshotManifest(tx Tx, base uint64) (seq, chunks uint64, err error) {
	key := snapshotKey(base, manifestChunk)
	value := tx.Get(BucketSnapshots, key)
	if value == nil {
		return 0, 0, fmt.Errorf("%w: snapshot %d has no manifest", ErrDamaged, base)
	}
	payload, err := unseal(BucketSnapshots, key, value)
	if err != nil {
		return 0, 0, err
	}
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 4 || v != 1) {
		r.Fail("manifest of %d fields, version %d", n, v)
	}
	seq, chunks = r.Uint(), r.Uint()
	r.Bin()
	if err := r.Close(); err != nil || chunks >= manifestChunk {
		return 0, 0, fmt.Errorf("%w: snapshot %d: %w", ErrDamaged, base, err)
	}
	return seq, chunks, nil
}

func (s *Store) readSnapshotChunk(tx Tx, f fold, key []byte) error {
	payload, err := unseal(BucketSnapshots, key, tx.Get(BucketSnapshots, key))
	if err != nil {
		return err
	}
	if c := s.cfg.SnapshotCodec; c != nil {
		if payload, err = c.Open(payload); err != nil {
			return fmt.Errorf("%w: snapshots/%x: %w", ErrDamaged, key, err)
		}
	}
	r := pack.NewReader(payload)
	for range r.Array() {
		frame := append([]byte(nil), r.Bin()...)
		if len(frame) == len(resource.ID{}) {
			delete(f, resource.ID(frame)) // collected while the snapshot was taken
			continue
		}
		rec, err := resource.DecodeRecord(frame)
		if err != nil {
			r.Fail("%v", err)
			break
		}
		f[rec.ID] = foldedRecord{frame: frame}
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("%w: snapshots/%x: %w", ErrDamaged, key, err)
	}
	return nil
}

// Replay builds a store over an empty engine from another's log: its newest
// snapshot that verifies and the events after it. The new store is another
// instance with the same records.
func Replay(ctx context.Context, src *Store, engine Engine, cfg Config) (*Store, error) {
	var f fold
	err := src.engine.View(func(tx Tx) (err error) {
		f, err = src.foldLog(tx, true)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("replay log: %w", err)
	}
	dst, err := Open(engine, cfg)
	if err != nil {
		return nil, fmt.Errorf("replay log: %w", err)
	}
	var b Batch
	ids := slices.Collect(maps.Keys(f))
	slices.SortFunc(ids, func(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range ids {
		rec, err := resource.DecodeRecord(f[id].frame)
		if err != nil {
			return nil, fmt.Errorf("replay log: %w", err)
		}
		b.Records = append(b.Records, Incoming{Record: rec, From: src.identity.Instance})
	}
	if _, err := dst.Apply(ctx, b); err != nil {
		return nil, fmt.Errorf("replay log: %w", err)
	}
	return dst, nil
}
