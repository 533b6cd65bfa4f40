package store

import (
	"bytes"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"driftless.dev/hlc"
)

// Limit bounds a list; 0 sets no such limit.
type Limit struct {
	Bytes uint64
	Age   time.Duration
}

// aged is a row of a list: when it was entered, and how large it is.
type aged struct {
	at   hlc.Timestamp
	size uint64
}

// trimList drops the oldest rows of a list until it is within its limit. One
// that does not read is left for fsck to name.
func (s *Store) trimList(ctx context.Context, b Bucket, l Limit, at func(key, value []byte) (hlc.Timestamp, error), count *atomic.Uint64) error {
	if l == (Limit{}) {
		return nil
	}
	var rows []aged
	var total uint64
	err := s.eachRow(ctx, b, func(key, value []byte) {
		if when, err := at(key, value); err == nil {
			rows = append(rows, aged{when, uint64(len(key) + len(value))})
			total += uint64(len(key) + len(value))
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b aged) int { return compareStamps(a.at, b.at) })
	var cut hlc.Timestamp // rows before it go
	if l.Age > 0 {
		cut = hlc.At(s.cfg.Wall().Add(-l.Age).UnixMilli(), 0)
	}
	for i := 0; l.Bytes > 0 && total > l.Bytes && i < len(rows); i++ {
		total -= rows[i].size
		cut = max(cut, rows[i].at+1)
	}
	if len(rows) == 0 || rows[0].at >= cut {
		return nil
	}
	return s.dropRows(ctx, b, count, func(key, value []byte) bool {
		when, err := at(key, value)
		return err == nil && when < cut
	})
}

func compareStamps(a, b hlc.Timestamp) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// dropRows deletes the rows of a bucket that old picks, in short transactions.
func (s *Store) dropRows(ctx context.Context, b Bucket, count *atomic.Uint64, old func(key, value []byte) bool) error {
	var from []byte
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var keys [][]byte
		next := from
		err := s.commits.do(func(t *txn) error {
			walked := 0
			keys, more = nil, false
			t.tx.Ascend(b, from, func(key, value []byte) bool {
				if walked++; walked > trimChunk {
					next, more = bytes.Clone(key), true
					return false
				}
				if old(key, value) {
					keys = append(keys, bytes.Clone(key))
				}
				return true
			})
			for _, key := range keys {
				t.delete(b, key)
			}
			return t.broken
		})
		if err != nil {
			return err
		}
		count.Add(uint64(len(keys)))
		from = next
	}
	return nil
}

// eachRow calls fn for every row of a bucket, in short reads; what is written
// meanwhile may be met or not.
func (s *Store) eachRow(ctx context.Context, b Bucket, fn func(key, value []byte)) error {
	var from []byte
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.engine.View(func(tx Tx) error {
			walked := 0
			more = false
			tx.Ascend(b, from, func(key, value []byte) bool {
				if walked++; walked > chunk {
					from, more = bytes.Clone(key), true
					return false
				}
				fn(key, value)
				return true
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func lossAt(key, value []byte) (hlc.Timestamp, error) {
	l, err := readLoss(key, value)
	return l.At, err
}

func quarantinedAt(key, value []byte) (hlc.Timestamp, error) {
	q, err := readQuarantined(key, value)
	return q.At, err
}
