package store

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
)

// keptSnapshots is how many snapshots that verify are kept: the newest, and one
// to fall back to.
const keptSnapshots = 2

// snapshotRef is a snapshot: where it was begun, and the sequence it is of.
type snapshotRef struct{ base, seq uint64 }

// wholeSnapshots returns the newest snapshots that verify, newest first, up to
// limit. It reads them chunk by chunk.
func (s *Store) wholeSnapshots(ctx context.Context, limit int) (out []snapshotRef, err error) {
	var bases []uint64
	if err := s.engine.View(func(tx Tx) error { bases = snapshotBases(tx); return nil }); err != nil {
		return nil, err
	}
	for _, base := range slices.Backward(bases) {
		if len(out) == limit {
			break
		}
		seq, err := s.verifySnapshot(ctx, base)
		switch {
		case err == nil:
			out = append(out, snapshotRef{base, seq})
		case !errors.Is(err, ErrDamaged):
			return nil, err
		}
	}
	return out, nil
}

// verifySnapshot reads a snapshot in short reads and returns the sequence that
// it is of. What it held hashed to its roots when its manifest was written.
func (s *Store) verifySnapshot(ctx context.Context, base uint64) (seq uint64, err error) {
	var chunks uint64
	err = s.engine.View(func(tx Tx) (err error) {
		seq, chunks, err = readSnapshotManifest(tx, base)
		return err
	})
	for n := uint64(0); n < chunks && err == nil; n++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err = s.engine.View(func(tx Tx) error { return s.readSnapshotChunk(tx, fold{}, snapshotKey(base, uint32(n))) })
	}
	return seq, err
}

// snapshotBases lists the sequences at which snapshots were begun, in order.
func snapshotBases(tx Tx) (bases []uint64) {
	tx.Ascend(BucketSnapshots, nil, func(key, _ []byte) bool {
		if len(key) != 8+4 {
			return true // damaged
		}
		base := binary.BigEndian.Uint64(key)
		if len(bases) == 0 || bases[len(bases)-1] != base {
			bases = append(bases, base)
		}
		return true
	})
	return bases
}
