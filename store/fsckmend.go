package store

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"driftless.dev/resource"
)

// put returns the step that writes a row.
func put(b Bucket, key, payload []byte) func(*txn) error {
	key = bytes.Clone(key)
	return func(t *txn) error { t.put(b, key, payload); return t.broken }
}

// drop returns the step that deletes a row.
func drop(b Bucket, key []byte) func(*txn) error {
	key = bytes.Clone(key)
	return func(t *txn) error { t.delete(b, key); return t.broken }
}

// mend applies the steps, then cuts the log past what is lost of it.
func (s *Store) mend(ctx context.Context, x *examination) error {
	for faults := x.faults; len(faults) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(faults), trimChunk)
		var done []*fault
		err := s.commits.do(func(t *txn) error {
			done = nil
			for _, f := range faults[:n] {
				if f.fix == nil {
					continue
				}
				if bytes.Equal(t.tx.Get(f.Bucket, f.Key), f.was) {
					if err := f.fix(t); err != nil {
						t.broken = cmp.Or(t.broken, err)
						return err
					}
				}
				done = append(done, f)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, f := range done {
			f.Repaired = true
		}
		faults = faults[n:]
	}
	return s.cutLost(ctx, x)
}

// cutLost begins the log after the entries that are lost, behind a snapshot of
// the records as they are. While a record is damaged too it waits: what is lost
// may be that record's.
func (s *Store) cutLost(ctx context.Context, x *examination) error {
	if len(x.lost) == 0 && x.folded != nil || slices.ContainsFunc(x.faults, func(f *fault) bool { return f.Remedy == FromPeer }) {
		return nil
	}
	if err := s.Snapshot(ctx); err != nil {
		return err
	}
	if n := len(x.lost); n > 0 {
		if err := s.commits.do(func(t *txn) error { return t.cutLog(x.lost[n-1]) }); err != nil {
			return err
		}
	}
	for _, f := range x.faults {
		f.Repaired = f.Repaired || f.Remedy == ByTrimming
	}
	return nil
}

// baseBefore is the base of a log that begins after a sequence. What the first
// own event after it says of its predecessor stands for the part that is gone;
// where there is none, own and prevs, the end of the chain, do.
func baseBefore(tx Tx, last uint64, inc resource.ID, own Position, prevs map[string]uint64) (Base, error) {
	base := Base{Seq: last, Incarnation: inc, Own: own, Prevs: maps.Clone(prevs)}
	if base.Prevs == nil {
		base.Prevs = map[string]uint64{}
	}
	seen := map[string]bool{}
	var err error
	tx.Ascend(BucketLog, seqKey(last+1), func(key, value []byte) bool {
		var e Entry
		if e, err = readEntry(key, value); err != nil {
			return false
		}
		ev := e.Event
		if ev == nil || ev.Incarnation != inc {
			return true
		}
		if len(seen) == 0 {
			base.Own = Position{Seq: ev.Seq - 1, HLC: ev.HLC - 1, Hash: ev.PrevHash} // its own time is gone: anything before the next
		}
		if realm := e.Record.Realm(); !seen[realm] {
			seen[realm] = true
			if base.Prevs[realm] = ev.RealmPrev; ev.RealmPrev == 0 {
				delete(base.Prevs, realm)
			}
		}
		return true
	})
	return base, err
}

// cutLog begins the log after a sequence, whatever lies before.
func (t *txn) cutLog(last uint64) (err error) {
	base, err := baseBefore(t.tx, last, t.identity.Incarnation, t.head.Own, t.s.prevs) // guarded by there being one committer
	if err != nil {
		return err
	}
	var keys [][]byte
	t.tx.Ascend(BucketLog, nil, func(key, _ []byte) bool {
		if bytes.Compare(key, seqKey(last)) > 0 {
			return false
		}
		keys = append(keys, bytes.Clone(key))
		return true
	})
	for _, key := range keys {
		t.delete(BucketLog, key)
	}
	t.setBase(base)
	return t.broken
}
