package store

import (
	"bytes"
	"maps"
	"slices"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

const (
	meansDerived = "derived from the log, and made again from it"
	meansIndex   = "an index row: reads by this name or id fail or miss the record until it is back"
	meansStray   = "a row under a key that is none of its: nothing is lost with it"
)

// records compares the projection with the fold.
func (x *examination) records() {
	for _, id := range slices.SortedFunc(maps.Keys(x.folded), compareIDs) {
		x.folds(id, x.folded[id])
	}
	x.tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		if x.bad[BucketRecords][string(key)] != nil {
			return true
		}
		st, err := readStored(key, value)
		if err == nil && !x.known[st.rec.ID] {
			x.unfolded(key, st)
		}
		return true
	})
	x.missing()
	x.strays()
}

func compareIDs(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) }

// folds compares one record with what the log says of it.
func (x *examination) folds(id resource.ID, want foldedRecord) {
	rec, err := resource.DecodeRecord(want.frame)
	if err != nil {
		return
	}
	x.known[id] = true
	key := recordKey(rec.Realm(), merkle.Place(&x.s.cfg.Secret, id), id)
	bad := x.badAt(BucketRecords, key)
	if bad != nil && x.tx.Get(BucketRecords, key) == nil && x.gone(&rec, want.seq) {
		delete(x.known, id)
		return
	}
	if bad == nil {
		st, err := readStored(key, x.tx.Get(BucketRecords, key))
		if err == nil && bytes.Equal(st.rec.AppendTo(nil), want.frame) && (st.seq == want.seq || want.seq == 0) && st.digest == rec.Digest() {
			x.index(&st.rec)
			return
		}
		if err == nil && st.seq > want.seq && len(x.lost) > 0 {
			x.index(&st.rec) // its entry is the one that is lost
			return
		}
	}
	if bad != nil && len(x.lost) > 0 && x.lost[len(x.lost)-1] > want.seq {
		x.say(BucketRecords, key, id, FromPeer, nil, meansRecord+"; an entry of the log is lost, so the log may not have its last version", "record %s: %v", id, bad)
		return
	}
	problem := "differs from the log"
	if bad != nil {
		problem = bad.Error()
	}
	x.say(BucketRecords, key, id, FromLog, x.s.rewrite(key, &rec, want), meansDerived, "record %s: %s", id, problem)
	x.index(&rec)
}

// gone reports whether a record that has no row was collected, although the
// log, an entry of which is lost, does not say so any more.
func (x *examination) gone(rec *resource.Record, last uint64) bool {
	n := len(x.lost)
	return n > 0 && x.lost[n-1] > last && x.tx.Get(BucketIDs, rec.ID[:]) == nil && x.tx.Get(BucketNames, nameKey(rec)) == nil
}

// rewrite returns the step that writes a record's row and leaf as the log has
// them.
func (s *Store) rewrite(key []byte, rec *resource.Record, want foldedRecord) func(*txn) error {
	digest := rec.Digest()
	return func(t *txn) error {
		t.putRow(BucketRecords, key, appendStored(newRow(len(want.frame)+64), want.seq, digest, want.frame))
		t.holdLeaf(rec, digest)
		t.noteKind(rec)
		return t.broken
	}
}

// holdLeaf makes the trie have a record's leaf, whatever it had for the record.
func (t *txn) holdLeaf(rec *resource.Record, digest [32]byte) {
	leaf := leafChange{realm: rec.Realm(), key: merkle.Place(&t.s.cfg.Secret, rec.ID), new: merkle.Digest(digest[:16])}
	have := t.s.leavesAt(leaf.realm, leaf.key)
	if slices.Contains(have, leaf.new) {
		return
	}
	if len(have) == 1 {
		leaf.old = have[0]
	}
	t.leaves = append(t.leaves, leaf)
}

// unfolded is a sound record that the fold does not have.
func (x *examination) unfolded(key []byte, st *stored) {
	rec := &st.rec
	x.known[rec.ID] = true
	if !bytes.Equal(key, recordKey(rec.Realm(), merkle.Place(&x.s.cfg.Secret, rec.ID), rec.ID)) {
		x.say(BucketRecords, key, rec.ID, ByDropping, drop(BucketRecords, key), meansStray, "record %s lies under another's key", rec.ID)
		return
	}
	x.index(rec)
	if x.folded != nil && !slices.Contains(x.lost, st.seq) {
		x.say(BucketRecords, key, rec.ID, ByRestore, nil, "a record that the log does not tell of", "record %s says entry %d wrote it", rec.ID, st.seq)
	}
}

// index compares a record's rows in the indexes with what they should be.
func (x *examination) index(rec *resource.Record) {
	if is := collectable(rec); is {
		x.collectable[rec.ID] = true
		if x.badAt(BucketTombstones, rec.ID[:]) != nil {
			x.say(BucketTombstones, rec.ID[:], rec.ID, FromIndex, put(BucketTombstones, rec.ID[:], nil), "an index row: the record is not collected until it is back", "record %s: its row is missing or damaged", rec.ID)
		}
	}
	realm, err := unseal(BucketIDs, rec.ID[:], x.tx.Get(BucketIDs, rec.ID[:]))
	if err != nil || string(realm) != rec.Realm() {
		x.say(BucketIDs, rec.ID[:], rec.ID, FromIndex, put(BucketIDs, rec.ID[:], []byte(rec.Realm())), meansIndex, "record %s: its row says nothing of its realm", rec.ID)
	}
	key := nameKey(rec)
	if n, err := readNameRow(key, x.tx.Get(BucketNames, key)); err != nil || n != rowOf(rec) {
		kind := rec.Kind == kindKind()
		write := put(BucketNames, key, rowOf(rec).appendTo(nil))
		x.say(BucketNames, key, rec.ID, FromIndex, func(t *txn) error {
			t.kindsChanged = t.kindsChanged || kind
			return write(t)
		}, meansIndex, "record %s: its row does not say what it is", rec.ID)
	}
}

// missing are records that an index knows and no sound row or fold has.
func (x *examination) missing() {
	at := map[resource.ID][]byte{}
	note := func(id resource.ID, realm string) {
		if id.IsZero() || x.known[id] || at[id] != nil {
			return
		}
		at[id] = recordKey(realm, merkle.Place(&x.s.cfg.Secret, id), id)
	}
	x.tx.Ascend(BucketIDs, nil, func(key, value []byte) bool {
		if realm, err := unseal(BucketIDs, key, value); err == nil && len(key) == 16 {
			note(resource.ID(key), string(realm))
		}
		return true
	})
	x.tx.Ascend(BucketNames, nil, func(key, value []byte) bool {
		if _, err := readNameRow(key, value); err == nil {
			_, scope, _, id, _ := splitNameKey(key)
			note(id, scope.Realm())
		}
		return true
	})
	for _, id := range slices.SortedFunc(maps.Keys(at), compareIDs) {
		x.known[id] = true // its index rows stay: they are how it is known
		x.say(BucketRecords, at[id], id, FromPeer, nil, meansRecord, "record %s: %v", id, x.badAt(BucketRecords, at[id]))
	}
}

// strays are damaged rows of the projection that nothing else told of.
func (x *examination) strays() {
	told := map[string]bool{}
	for _, f := range x.faults {
		if f.Bucket == BucketRecords {
			told[string(f.Key)] = true
		}
	}
	for key, err := range x.bad[BucketRecords] {
		if told[key] {
			continue
		}
		if len(x.lost) > 0 || x.folded == nil {
			// It may be the last of a record that nothing else here knows.
			x.say(BucketRecords, []byte(key), recordOf(BucketRecords, []byte(key)), FromPeer, nil, meansRecord, "%v", err)
			continue
		}
		x.say(BucketRecords, []byte(key), resource.ID{}, ByDropping, drop(BucketRecords, []byte(key)), meansStray, "%v", err)
	}
}

// indexes finds rows that point at no record.
func (x *examination) indexes() {
	told := map[string]bool{}
	for _, f := range x.faults {
		told[string(append([]byte{byte(f.Bucket)}, f.Key...))] = true
	}
	for _, b := range [...]Bucket{BucketIDs, BucketNames, BucketTombstones} {
		x.tx.Ascend(b, nil, func(key, value []byte) bool {
			err := x.bad[b][string(key)]
			if told[string(append([]byte{byte(b)}, key...))] || err == nil && x.pointed(b, key) {
				return true
			}
			if err == nil {
				x.say(b, key, recordOf(b, key), ByDropping, drop(b, key), meansStray, "it points at no record")
			} else {
				x.say(b, key, resource.ID{}, ByDropping, drop(b, key), meansStray, "%v", err)
			}
			return true
		})
	}
}

func (x *examination) pointed(b Bucket, key []byte) bool {
	id := recordOf(b, key)
	if b == BucketTombstones {
		return x.collectable[id]
	}
	return x.known[id]
}

// others are meta and vector, written anew as this process has them, and rows
// that are only kept: those are gone.
func (x *examination) others() {
	for key, err := range x.bad[BucketMeta] {
		fix, remedy, meaning := x.s.metaStep(key)
		x.say(BucketMeta, []byte(key), resource.ID{}, remedy, fix, meaning, "%v", err)
	}
	for _, key := range x.s.metaDue() {
		if x.bad[BucketMeta][key] == nil && x.tx.Get(BucketMeta, []byte(key)) == nil {
			fix, remedy, meaning := x.s.metaStep(key)
			x.say(BucketMeta, []byte(key), resource.ID{}, remedy, fix, meaning, "%v", x.badAt(BucketMeta, []byte(key)))
		}
	}
	for key, err := range x.bad[BucketVector] {
		x.say(BucketVector, []byte(key), resource.ID{}, FromMemory, x.s.vectorStep([]byte(key)), "how far an incarnation's events are here; without it they are compared again", "%v", err)
	}
	for b, meaning := range map[Bucket]string{
		BucketLedger:     "a version that lost a conflict; it cannot be looked at or restored any more",
		BucketQuarantine: "a record that was refused; a peer that still has it offers it again",
		BucketSnapshots:  "part of a snapshot, which is skipped; the next one takes its place",
	} {
		for key, err := range x.bad[b] {
			x.say(b, []byte(key), recordOf(b, []byte(key)), ByDropping, drop(b, []byte(key)), meaning, "%v", err)
		}
	}
}
