package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// sweepChunk bounds the rows that one transaction looks at for collection: a
// floor that frees a million tombstones must not stop the writes.
const sweepChunk = 4096

// collectable reports whether a record has something that a floor may free.
func collectable(r *resource.Record) bool {
	if r.Deleted() {
		return true
	}
	for i := range r.Finalizers {
		if !r.Finalizers[i].Present {
			return true
		}
	}
	return false
}

// indexTombstone keeps the list of collectable records in step with a
// post-image; rec is nil when the record goes.
func (t *txn) indexTombstone(prev *stored, rec *resource.Record) {
	was, is := prev != nil && collectable(&prev.rec), rec != nil && collectable(rec)
	switch {
	case is && !was:
		t.put(BucketTombstones, rec.ID[:], nil)
		t.tombstones++
	case was && !is:
		t.delete(BucketTombstones, prev.rec.ID[:])
		t.tombstones--
	}
}

// raiseFloor joins a floor into this store's, and collects.
func (t *txn) raiseFloor(f Floor) {
	joined := t.floor.Join(f)
	if joined.Reaches(t.floor) && t.floor.Reaches(joined) {
		return
	}
	for _, inc := range joined.Incarnations() {
		if at := joined[inc]; t.floor[inc] != at {
			t.metas[metaFloor+string(inc[:])] = pack.AppendUint(nil, uint64(at))
		}
	}
	t.floor, t.sweepFrom = joined, []byte{}
	t.sweep()
}

// sweep looks at the next chunk of collectable records and frees what the floor
// covers. Sweep goes on with the rest.
func (t *txn) sweep() {
	if t.sweepFrom == nil || t.broken != nil {
		return
	}
	var ids []resource.ID
	t.tx.Ascend(BucketTombstones, t.sweepFrom, func(key, _ []byte) bool {
		ids = append(ids, resource.ID(key))
		return len(ids) <= sweepChunk
	})
	if t.sweepFrom = nil; len(ids) > sweepChunk {
		next := ids[sweepChunk]
		t.sweepFrom, ids = next[:], ids[:sweepChunk]
	}
	for _, id := range ids {
		st, err := lookup(t.s, t.tx, id)
		switch {
		case err != nil:
			continue // damaged: named by whoever reads it, and not ours to free
		case st == nil:
			t.delete(BucketTombstones, id[:])
			t.tombstones--
		default:
			t.free(st)
		}
	}
}

// free collects a tombstone that the floor covers, or drops the finalizer
// entries that it makes meaningless.
func (t *txn) free(st *stored) {
	if Collected(&st.rec, t.floor) {
		t.collect(st)
		return
	}
	if rec, ok := Swept(&st.rec, t.floor); ok {
		t.project(st, imageOf(rec), merged, nil, dot{})
	}
}

// collect removes a record: from here on it is as if it had never been, except
// that the log says so.
func (t *txn) collect(st *stored) {
	t.head.Seq++
	entry := Entry{Seq: t.head.Seq, kind: collected, PrevSeq: st.seq, WasLive: !st.rec.Deleted(), OldLabels: st.rec.Desired.Value.Labels}
	t.putRow(BucketLog, seqKey(t.head.Seq), st.rec.AppendTo(entry.appendHead(newRow(256+st.rec.SizeHint()))))
	t.drop(st)
	t.collected++
}

// drop removes a record's rows and its leaf.
func (t *txn) drop(st *stored) {
	rec := &st.rec
	place := t.s.place(rec.ID)
	t.delete(BucketRecords, recordKey(rec.Realm(), place, rec.ID))
	t.delete(BucketIDs, rec.ID[:])
	t.delete(BucketNames, nameKey(rec))
	t.indexTombstone(st, nil)
	t.leaves = append(t.leaves, leafChange{realm: rec.Realm(), key: place, old: leafDigest(st.digest)})
	t.noteKind(rec)
}

// Sweep goes on with a collection that a raised floor began, and reports
// whether there is more to do.
func (s *Store) Sweep(ctx context.Context) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = s.commits.do(func(t *txn) error {
		t.sweep()
		more = t.sweepFrom != nil
		return t.broken
	})
	return more, err
}

// Floor returns the store's floor; it must not be changed.
func (s *Store) Floor() Floor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.floor
}

// Garbage says how far collection is.
type Garbage struct {
	// Tombstones counts the records that hold something a floor may free:
	// tombstones, and live records with removed finalizers.
	Tombstones int
	// Collected counts what was freed since the store was opened.
	Collected uint64
	// Sweeping reports that a raised floor has not been through all of them yet.
	Sweeping bool
}

// Garbage returns the counts of this moment.
func (s *Store) Garbage() Garbage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.garbage()
}

func (s *Store) garbage() Garbage {
	return Garbage{Tombstones: s.tombstones, Collected: s.collected, Sweeping: s.sweepFrom != nil}
}

// loadFloor restores the floor and counts what it may free. A sweep that was
// under way begins again.
func (s *Store) loadFloor(tx Tx) (err error) {
	tx.Ascend(BucketMeta, []byte(metaFloor), func(key, value []byte) bool {
		name, ok := strings.CutPrefix(string(key), metaFloor)
		if !ok {
			return false
		}
		var payload []byte
		if payload, err = unseal(BucketMeta, key, value); err != nil {
			return false
		}
		r := pack.NewReader(payload)
		at := hlc.Timestamp(r.Uint())
		if err = damagedMeta("floor", r.Close()); err == nil && len(name) != 16 {
			err = fmt.Errorf("%w: meta/%x: no incarnation", ErrDamaged, key)
		}
		if err == nil {
			s.floor = s.floor.Join(Floor{resource.ID([]byte(name)): at})
		}
		return err == nil
	})
	tx.Ascend(BucketTombstones, nil, func(_, _ []byte) bool { s.tombstones++; return true })
	if len(s.floor) > 0 && s.tombstones > 0 {
		s.sweepFrom = []byte{}
	}
	return err
}

// indexTombstones builds the list of collectable records in a store that was
// written before there was one.
func (s *Store) indexTombstones() error {
	key := []byte(metaIndexed)
	done := false
	err := s.engine.View(func(tx Tx) error {
		done = tx.Get(BucketMeta, key) != nil
		return nil
	})
	if err != nil || done {
		return err
	}
	return s.engine.Update(func(tx WriteTx) error {
		var ids []resource.ID
		var bad error
		tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
			st, err := readStored(key, value)
			switch {
			case err == nil && collectable(&st.rec):
				ids = append(ids, st.rec.ID)
			case !errors.Is(err, ErrDamaged):
				bad = err
			}
			return bad == nil
		})
		for _, id := range ids {
			if bad == nil {
				bad = tx.Put(BucketTombstones, id[:], seal(BucketTombstones, id[:], nil))
			}
		}
		if bad != nil {
			return bad
		}
		return tx.Put(BucketMeta, key, seal(BucketMeta, key, pack.AppendUint(nil, 1)))
	})
}
