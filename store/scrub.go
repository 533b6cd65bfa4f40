package store

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"driftless.dev/merkle"
	"driftless.dev/pack"
)

// Scrubbed counts what the scrub did since the open.
type Scrubbed struct {
	// Rows that were read, Passes over the whole store that ended, and
	// Differences: passes whose records did not come to the counts or the root
	// in memory although no row was damaged.
	Rows, Passes, Differences uint64
	// At is when the last pass ended, zero before the first.
	At time.Time
}

type scrubCounters struct {
	rows, passes, differences atomic.Uint64
	at                        atomic.Int64
}

// Scrubbed returns what the scrub did since the open.
func (s *Store) Scrubbed() Scrubbed {
	c := &s.scrubs
	out := Scrubbed{Rows: c.rows.Load(), Passes: c.passes.Load(), Differences: c.differences.Load()}
	if ms := c.at.Load(); ms != 0 {
		out.At = time.UnixMilli(ms)
	}
	return out
}

// scrubChunk is how many rows a scrub reads in one transaction.
const scrubChunk = 256

// Scrub reads every row once, slowly: pause is called after each short read,
// and its error ends the pass. What is damaged is in Damage afterwards, and a
// record of it is not held any more. A flipped bit in a key hides a row without
// damaging a value, so the records' roots and the indexes' counts are compared
// too.
func (s *Store) Scrub(ctx context.Context, pause func() error) error {
	before := s.State()
	sums := scrubSums{leaves: map[string]*merkle.Trie{}, rows: map[Bucket]int{}}
	for b := range NumBuckets {
		if err := s.scrubBucket(ctx, b, &sums, pause); err != nil {
			return fmt.Errorf("scrub %s: %w", b, err)
		}
	}
	if err := s.settleScrub(before, &sums); err != nil {
		return fmt.Errorf("scrub: %w", err)
	}
	s.scrubs.passes.Add(1)
	s.scrubs.at.Store(s.cfg.Wall().UnixMilli())
	return nil
}

// scrubSums is what a pass adds up.
type scrubSums struct {
	leaves map[string]*merkle.Trie
	rows   map[Bucket]int
	bad    []Damage
}

func (s *Store) scrubBucket(ctx context.Context, b Bucket, sums *scrubSums, pause func() error) error {
	var from []byte
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.engine.View(func(tx Tx) error {
			walked := 0
			more = false
			tx.Ascend(b, from, func(key, value []byte) bool {
				if walked++; walked > scrubChunk {
					from, more = bytes.Clone(key), true
					return false
				}
				s.scrubRow(b, key, value, sums)
				return true
			})
			s.scrubs.rows.Add(uint64(min(walked, scrubChunk)))
			return nil
		})
		if err != nil {
			return err
		}
		if more {
			if err := pause(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) scrubRow(b Bucket, key, value []byte, sums *scrubSums) {
	sums.rows[b]++
	if err := readRow(b, key, value); err != nil {
		d := Damage{Bucket: b, Key: bytes.Clone(key), Record: recordOf(b, key), Reason: err.Error()}
		if len(sums.bad) < maxDamage {
			sums.bad = append(sums.bad, d)
		}
		s.damage.note(d)
		return
	}
	if b != BucketRecords {
		return
	}
	st, _, _ := readStoredHead(key, value)
	realm, place, _, _ := splitRecordKey(key)
	if sums.leaves[realm] == nil {
		sums.leaves[realm] = merkle.New(s.cfg.Secret, realm)
	}
	_ = sums.leaves[realm].Replace(place, merkle.Digest{}, merkle.Digest(st.digest[:16])) // twice is what the roots tell
}

// readRow reads a row whole, by what its bucket holds.
func readRow(b Bucket, key, value []byte) (err error) {
	switch b {
	case BucketLog:
		_, err = readEntry(key, value)
	case BucketRecords:
		_, err = readStored(key, value)
	case BucketNames:
		_, err = readNameRow(key, value)
	case BucketLedger:
		_, err = readLoss(key, value)
	case BucketQuarantine:
		_, err = readQuarantined(key, value)
	case BucketVector:
		var payload []byte
		if payload, err = unseal(b, key, value); err == nil {
			r := pack.NewReader(payload)
			readPosition(r)
			if bad := r.Close(); bad != nil || len(key) != 16 {
				err = fmt.Errorf("%w: %s/%x: %w", ErrDamaged, b, key, bad)
			}
		}
	default:
		_, err = unseal(b, key, value)
	}
	return err
}

// settleScrub compares sums when nothing was written meanwhile, and takes
// damaged records out of the tries.
func (s *Store) settleScrub(before State, sums *scrubSums) error {
	now := s.State()
	if len(sums.bad) == 0 && now.Head.Seq == before.Head.Seq && now.Super == before.Super {
		same := sums.rows[BucketIDs] == sums.rows[BucketRecords] && sums.rows[BucketNames] == sums.rows[BucketRecords]
		for _, r := range now.Realms {
			t := sums.leaves[r.Realm]
			same = same && t != nil && t.Root() == r.Root
		}
		if !same {
			s.scrubs.differences.Add(1)
			s.damage.note(Damage{Bucket: BucketRecords, Reason: fmt.Sprintf("%d records, %d ids and %d names do not come to one state: a row is missing (driftless fsck finds which)",
				sums.rows[BucketRecords], sums.rows[BucketIDs], sums.rows[BucketNames])})
		}
	}
	return s.disownDamaged(sums.bad)
}

// disownDamaged takes the damaged records of a list out of the tries.
func (s *Store) disownDamaged(rows []Damage) error {
	var own []Damage
	for _, d := range rows {
		if d.Bucket == BucketRecords && !d.Record.IsZero() {
			own = append(own, d)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return s.commits.do(func(t *txn) error {
		for _, d := range own {
			// Only one that is still damaged: it may have been written anew.
			if t.tx.Get(BucketRecords, d.Key) != nil && readRow(BucketRecords, d.Key, t.tx.Get(BucketRecords, d.Key)) == nil {
				t.s.damage.forget(d.Record)
				continue
			}
			// A flipped key names no record of here: its place is none of its.
			if realm, place, id, ok := splitRecordKey(d.Key); ok && place == merkle.Place(&t.s.cfg.Secret, id) {
				t.disown(realm, id)
			}
		}
		return t.broken
	})
}
