package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// SnapshotCodec seals what a snapshot holds and opens it again; one that does
// not open is skipped.
type SnapshotCodec interface {
	Seal(payload []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)
}

// snapshotter remembers when the last snapshot was taken.
type snapshotter struct {
	last atomic.Uint64
	mu   sync.Mutex // held by the one that is being written
	err  atomic.Pointer[error]
}

func (s *snapshotter) note(err error) { s.err.Store(&err) }

// SnapshotErr returns what the last automatic snapshot failed with, nil when
// it did not.
func (s *Store) SnapshotErr() error {
	if err := s.snapshots.err.Load(); err != nil {
		return *err
	}
	return nil
}

// manifestChunk is the chunk number of a snapshot's last row, which is written
// only when all of it has been verified: a snapshot without one does not count.
const manifestChunk = math.MaxUint32

func snapshotKey(base uint64, n uint32) []byte {
	return binary.BigEndian.AppendUint32(seqKey(base), n)
}

// Run does the store's background work until ctx ends: a snapshot after every
// SnapshotEvery events. It returns the reason when the store has failed, so
// that the process ends rather than acknowledge what it cannot keep.
func (s *Store) Run(ctx context.Context) error {
	for {
		changed, head := s.Changed()
		if err := s.Err(); err != nil {
			return err
		}
		if every := s.cfg.SnapshotEvery; every > 0 && head.Seq >= s.snapshots.last.Load()+every {
			s.snapshots.last.Store(head.Seq)
			// Best effort: a missing snapshot makes a rebuild slower, never wrong.
			s.snapshots.note(s.Snapshot(ctx))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// Snapshot writes the projection beside the log, so that a rebuild folds only
// the events after it. It scans in short transactions from one sequence to a
// later one, adds the events between, and counts only if what it wrote hashes
// to the later one's roots.
func (s *Store) Snapshot(ctx context.Context) (err error) {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.dropUnfinished()) // it may be what fills the disk
		}
	}()
	w := &snapshotWriter{s: s, base: s.Head().Seq, leaves: map[resource.ID]leafAt{}}
	var from []byte
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var frames [][]byte
		var err error
		if frames, from, err = s.scanFrames(from); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		if err := w.add(frames); err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		more = from != nil
	}
	st := s.State()
	for last := w.base; last < st.Head.Seq; {
		var frames [][]byte
		var err error
		limit := min(chunk, int(st.Head.Seq-last))
		last, err = s.Entries(last, limit, func(e Entry) error {
			if e.Collected() {
				frames = append(frames, e.Record.ID[:])
			} else {
				frames = append(frames, e.Record.AppendTo(nil))
			}
			return ctx.Err()
		})
		if err == nil {
			err = w.add(frames)
		}
		if err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
	}
	if err := w.verify(st); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	whole, err := s.wholeSnapshots(ctx, 1)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return w.finish(st, whole)
}

// scanFrames copies a chunk of the projection and returns the key to go on
// from, nil at the end.
func (s *Store) scanFrames(from []byte) (frames [][]byte, next []byte, err error) {
	err = s.engine.View(func(tx Tx) (err error) {
		tx.Ascend(BucketRecords, from, func(key, value []byte) bool {
			if len(frames) == chunk {
				next = bytes.Clone(key)
				return false
			}
			var frame []byte
			if _, frame, err = readStoredHead(key, value); err != nil {
				return false
			}
			frames = append(frames, bytes.Clone(frame))
			return true
		})
		return err
	})
	return frames, next, err
}

type leafAt struct {
	realm  string
	digest merkle.Digest
}

type snapshotWriter struct {
	s      *Store
	base   uint64
	chunks uint32
	leaves map[resource.ID]leafAt
}

// add writes one chunk; a later frame of a record replaces an earlier one, and
// a bare id removes it.
func (w *snapshotWriter) add(frames [][]byte) error {
	if len(frames) == 0 {
		return nil
	}
	b := pack.AppendArray(nil, len(frames))
	for _, f := range frames {
		if len(f) == len(resource.ID{}) {
			delete(w.leaves, resource.ID(f))
			b = pack.AppendBin(b, f)
			continue
		}
		rec, err := resource.DecodeRecord(f)
		if err != nil {
			return err
		}
		digest := rec.Digest()
		w.leaves[rec.ID] = leafAt{realm: rec.Realm(), digest: merkle.Digest(digest[:16])}
		b = pack.AppendBin(b, f)
	}
	if c := w.s.cfg.SnapshotCodec; c != nil {
		var err error
		if b, err = c.Seal(b); err != nil {
			return err
		}
	}
	key := snapshotKey(w.base, w.chunks)
	w.chunks++
	return w.s.commits.do(func(t *txn) error {
		t.put(BucketSnapshots, key, b)
		return t.broken
	})
}

func (w *snapshotWriter) verify(st State) error {
	tries := map[string]*merkle.Trie{}
	for id, l := range w.leaves {
		if tries[l.realm] == nil {
			tries[l.realm] = merkle.New(w.s.cfg.Secret, l.realm)
		}
		if err := tries[l.realm].Replace(merkle.Place(&w.s.cfg.Secret, id), merkle.Digest{}, l.digest); err != nil {
			return err
		}
	}
	for _, r := range st.Realms {
		if t := tries[r.Realm]; t == nil || t.Root() != r.Root {
			return fmt.Errorf("%w: snapshot of realm %q does not hash to its root", ErrDamaged, r.Realm)
		}
	}
	return nil
}

// finish writes the manifest and drops all snapshots but this one and the
// newest of those before that verify.
func (w *snapshotWriter) finish(st State, whole []snapshotRef) error {
	b := pack.AppendUint(pack.AppendArray(nil, 4), 1)
	b = pack.AppendUint(b, st.Head.Seq)
	b = pack.AppendUint(b, uint64(w.chunks))
	b = pack.AppendBin(b, st.Super[:])
	return w.s.commits.do(func(t *txn) error {
		for _, base := range snapshotBases(t.tx) {
			if base != w.base && !slices.ContainsFunc(whole, func(r snapshotRef) bool { return r.base == base }) {
				t.dropSnapshot(base)
			}
		}
		t.put(BucketSnapshots, snapshotKey(w.base, manifestChunk), b)
		return t.broken
	})
}

// dropUnfinished removes the snapshots that have no manifest.
func (s *Store) dropUnfinished() error {
	return s.commits.do(func(t *txn) error {
		for _, base := range snapshotBases(t.tx) {
			if t.tx.Get(BucketSnapshots, snapshotKey(base, manifestChunk)) == nil {
				t.dropSnapshot(base)
			}
		}
		return t.broken
	})
}

func (t *txn) dropSnapshot(base uint64) {
	var keys [][]byte
	t.tx.Ascend(BucketSnapshots, snapshotKey(base, 0), func(key, _ []byte) bool {
		if !bytes.HasPrefix(key, seqKey(base)) {
			return false
		}
		keys = append(keys, bytes.Clone(key))
		return true
	})
	for _, k := range keys {
		t.delete(BucketSnapshots, k)
	}
}
