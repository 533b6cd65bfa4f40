package store

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"driftless.dev/hlc"
)

// Keep says what of the log, the ledger and the quarantine is kept. The zero
// value keeps everything.
type Keep struct {
	// Entries is how many of the log's newest entries are kept, Age how long an
	// entry is, by the stamp of what it holds. What is beyond either may go; 0
	// sets no such limit.
	Entries uint64
	Age     time.Duration
	// Through is the last sequence that may go: what others still read after it
	// stays, whatever the limits say.
	Through uint64
	// Ledger and Quarantine bound those lists, oldest first.
	Ledger, Quarantine Limit
}

// Dropped counts what trimming has taken since the store was opened.
type Dropped struct{ Entries, Losses, Quarantined uint64 }

type droppedCounters struct{ entries, losses, quarantined atomic.Uint64 }

// Dropped returns what trimming has taken since the store was opened.
func (s *Store) Dropped() Dropped {
	d := &s.dropped
	return Dropped{Entries: d.entries.Load(), Losses: d.losses.Load(), Quarantined: d.quarantined.Load()}
}

// trimChunk is how many rows one transaction takes.
const trimChunk = 1024

// Trim drops what Keep does not keep, in short transactions. It never drops an
// entry that a rebuild needs: at least two snapshots that verify must stand,
// and what follows the older of them stays.
func (s *Store) Trim(ctx context.Context, k Keep) (err error) {
	if err := s.trimLog(ctx, k); err != nil {
		return fmt.Errorf("trim log: %w", err)
	}
	if err := s.trimList(ctx, BucketLedger, k.Ledger, lossAt, &s.dropped.losses); err != nil {
		return fmt.Errorf("trim ledger: %w", err)
	}
	if err := s.trimList(ctx, BucketQuarantine, k.Quarantine, quarantinedAt, &s.dropped.quarantined); err != nil {
		return fmt.Errorf("trim quarantine: %w", err)
	}
	return nil
}

func (s *Store) trimLog(ctx context.Context, k Keep) error {
	head := s.Head().Seq
	if k.Entries == 0 && k.Age == 0 || head == 0 || s.damage.ofState() {
		return nil // what is damaged may be made again from the log
	}
	limit := min(k.Through, head-1)
	if limit <= s.Base().Seq {
		return nil
	}
	// No snapshot is written or dropped meanwhile.
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	whole, err := s.wholeSnapshots(ctx, keptSnapshots)
	if err != nil || len(whole) < keptSnapshots {
		return err
	}
	limit = min(limit, whole[len(whole)-1].seq)
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err = s.trimEntries(k, head, limit); err != nil {
			return err
		}
	}
	return nil
}

// trimEntries drops a chunk of the oldest entries up to limit, as far as Keep
// lets them go.
func (s *Store) trimEntries(k Keep, head, limit uint64) (more bool, err error) {
	young := hlc.Timestamp(math.MaxUint64)
	if k.Age > 0 {
		young = hlc.At(s.cfg.Wall().Add(-k.Age).UnixMilli(), 0)
	}
	var taken uint64
	err = s.commits.do(func(t *txn) error {
		base, err := readBase(t.tx)
		if err != nil {
			return err
		}
		base = base.clone()
		var keys [][]byte
		t.tx.Ascend(BucketLog, nil, func(key, value []byte) bool {
			var e Entry
			if e, err = readEntry(key, value); err != nil || e.Seq > limit || len(keys) == trimChunk {
				return false
			}
			over := k.Entries > 0 && e.Seq+k.Entries <= head
			old := k.Age > 0 && e.Record.Newest().HLC < young
			if !over && !old {
				return false
			}
			base.pass(&e)
			keys = append(keys, bytes.Clone(key))
			return true
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, key := range keys {
			t.delete(BucketLog, key)
		}
		t.setBase(base)
		taken = uint64(len(keys))
		return t.broken
	})
	if err == nil {
		s.dropped.entries.Add(taken)
	}
	return taken == trimChunk, err
}
