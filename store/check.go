package store

import (
	"bytes"
	"fmt"
	"reflect"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// Check derives everything that is derived again and compares: projection,
// ids, names and tries from the log, the own chain, digests, the clock and the
// kinds. It returns what does not hold, in words; nothing means that the store
// is sound. It reads the whole store in one transaction: for tests, fsck and
// repair.
func (s *Store) Check() (problems []string, err error) {
	c := &checker{s: s, tries: map[string]*merkle.Trie{}}
	s.mu.RLock()
	c.own = s.identity.Incarnation
	c.head, c.floor, c.settled = s.head, s.floor, s.sweepFrom == nil
	s.mu.RUnlock()
	err = s.engine.View(func(tx Tx) error {
		c.tx = tx
		if c.frames(); len(c.problems) > 0 {
			return nil // nothing is derived from what does not read
		}
		for _, step := range []func() error{c.log, c.records, c.indexes, c.state} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	return c.problems, err
}

type checker struct {
	s        *Store
	tx       Tx
	head     Head
	folded   fold
	rows     int
	newest   hlc.Timestamp
	tries    map[string]*merkle.Trie
	problems []string

	own        resource.ID
	floor      Floor
	settled    bool // no sweep is under way
	tombstones int
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// frames reads every row of every bucket and names those that are damaged, a
// snapshot's too, which everything else would only skip.
func (c *checker) frames() {
	for b := range NumBuckets {
		c.tx.Ascend(b, nil, func(key, value []byte) bool {
			if _, err := unseal(b, key, value); err != nil {
				c.say("%v", err)
			}
			return true
		})
	}
}

// log walks the log: contiguous, decodable, the own events one hash chain.
func (c *checker) log() error {
	base, err := readBase(c.tx)
	if err != nil {
		return err
	}
	own, prevs := base.own(c.own)
	seq := base.Seq
	c.tx.Ascend(BucketLog, nil, func(key, value []byte) bool {
		e, bad := readEntry(key, value)
		if bad != nil {
			err = bad
			return false
		}
		if seq++; e.Seq != seq {
			c.say("log: entry %d stands where %d is due", e.Seq, seq)
			seq = e.Seq
		}
		if ev := e.Event; ev != nil && ev.Incarnation == c.own {
			if ev.Seq != own.Seq+1 || ev.PrevHash != own.Hash || ev.RealmPrev != prevs[e.Record.Realm()] || ev.HLC <= own.HLC {
				c.say("log: own event %d does not follow %d", ev.Seq, own.Seq)
			}
			own = Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.Hash()}
			prevs[e.Record.Realm()] = ev.Seq
		}
		return true
	})
	if err != nil {
		return err
	}
	if seq != c.head.Seq || own != c.head.Own {
		c.say("head says %d (own %d), the log %d (own %d)", c.head.Seq, c.head.Own.Seq, seq, own.Seq)
	}
	c.folded, err = c.s.foldLog(c.tx, false)
	return err
}

// records compares the projection with the fold.
func (c *checker) records() error {
	var err error
	c.tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		st, bad := readStored(key, value)
		if bad != nil {
			err = bad
			return false
		}
		c.record(key, st)
		return true
	})
	if c.rows != len(c.folded) {
		c.say("projection holds %d records, the log folds to %d", c.rows, len(c.folded))
	}
	return err
}

func (c *checker) record(key []byte, st *stored) {
	rec := &st.rec
	c.rows++
	place := merkle.Place(&c.s.cfg.Secret, rec.ID)
	if !bytes.Equal(key, recordKey(rec.Realm(), place, rec.ID)) {
		c.say("record %s lies under another's key", rec.ID)
	}
	if st.digest != rec.Digest() {
		c.say("record %s: stored digest differs", rec.ID)
	}
	want, ok := c.folded[rec.ID]
	if !ok || want.seq != st.seq && want.seq != 0 || !bytes.Equal(want.frame, rec.AppendTo(nil)) {
		c.say("record %s differs from the log's fold (seq %d, the log's %d)", rec.ID, st.seq, want.seq)
	}
	if c.settled && Collected(rec, c.floor) {
		c.say("record %s is a tombstone below the floor", rec.ID)
	}
	if _, ok := Swept(rec, c.floor); ok && c.settled {
		c.say("record %s holds a finalizer's removal from below the floor", rec.ID)
	}
	if collectable(rec) {
		c.tombstones++
		if row := c.tx.Get(BucketTombstones, rec.ID[:]); row == nil {
			c.say("record %s is missing among the tombstones", rec.ID)
		}
	}
	if err := rec.Validate(); err != nil {
		c.say("record %s: %v", rec.ID, err)
	}
	for p := range rec.Points() {
		c.newest = max(c.newest, p.HLC)
	}
	if realm, err := unseal(BucketIDs, rec.ID[:], c.tx.Get(BucketIDs, rec.ID[:])); err != nil || string(realm) != rec.Realm() {
		c.say("record %s: ids index says realm %q", rec.ID, realm)
	}
	if n, err := readNameRow(nameKey(rec), c.tx.Get(BucketNames, nameKey(rec))); err != nil || n != rowOf(rec) {
		c.say("record %s: names index differs", rec.ID)
	}
	if c.tries[rec.Realm()] == nil {
		c.tries[rec.Realm()] = merkle.New(c.s.cfg.Secret, rec.Realm())
	}
	if err := c.tries[rec.Realm()].Replace(place, merkle.Digest{}, merkle.Digest(st.digest[:16])); err != nil {
		c.say("record %s: %v", rec.ID, err)
	}
}

// indexes counts the rows that point at records.
func (c *checker) indexes() error {
	for _, b := range [...]Bucket{BucketIDs, BucketNames} {
		n := 0
		c.tx.Ascend(b, nil, func(_, _ []byte) bool { n++; return true })
		if n != c.rows {
			c.say("%s holds %d rows for %d records", b, n, c.rows)
		}
	}
	n := 0
	c.tx.Ascend(BucketTombstones, nil, func(_, _ []byte) bool { n++; return true })
	if n != c.tombstones {
		c.say("%s holds %d rows for %d records", BucketTombstones, n, c.tombstones)
	}
	return nil
}

// state compares what is in memory.
func (c *checker) state() error {
	if last := c.s.clock.Last(); last < c.newest || c.head.HLC < c.newest {
		c.say("clock stands at %s (persisted %s), a record at %s", last, c.head.HLC, c.newest)
	}
	st := c.s.State()
	if st.Head.Seq != c.head.Seq {
		return nil // written to meanwhile: memory is ahead of what was read
	}
	for _, r := range st.Realms {
		if t := c.tries[r.Realm]; t == nil || t.Root() != r.Root {
			c.say("realm %q: the trie in memory differs from a rebuild", r.Realm)
		}
		delete(c.tries, r.Realm)
	}
	for realm, t := range c.tries {
		if t.Len() > 0 {
			c.say("realm %q is missing in memory", realm)
		}
	}
	return c.liveKinds()
}

// liveKinds compares the registry with one made from the live records.
func (c *checker) liveKinds() error {
	kinds, err := liveKinds(c.s, c.tx)
	if err != nil {
		return err
	}
	fresh := resource.NewRegistry()
	fresh.Replace(append(resource.CoreKinds(), kinds...))
	if got, want := c.s.registry.Kinds(), fresh.Kinds(); !reflect.DeepEqual(got, want) {
		c.say("%d kinds are registered, the live records give %d others", len(got), len(want))
	}
	return nil
}
