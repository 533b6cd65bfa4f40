package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// metaExamination looks at the rows without which a store does not open.
type metaExamination struct {
	tx     Tx
	bad    map[string]error
	faults []*fault
	id     Identity
	base   Base
	prevs  map[string]uint64
	vector Vector
}

func (m *metaExamination) say(b Bucket, key string, remedy Remedy, fix func(*txn) error, meaning string, err error) {
	m.faults = append(m.faults, &fault{Fault: Fault{Bucket: b, Key: []byte(key), Problem: err.Error(), Meaning: meaning, Remedy: remedy}, fix: fix})
}

func (m *metaExamination) examine() ([]*fault, error) {
	m.tx.Ascend(BucketMeta, nil, func(key, value []byte) bool {
		if _, err := unseal(BucketMeta, key, value); err != nil {
			m.bad[string(key)] = err
		}
		return true
	})
	m.tx.Ascend(BucketVector, nil, func(key, value []byte) bool {
		if err := readRow(BucketVector, key, value); err != nil {
			m.say(BucketVector, string(key), ByDropping, drop(BucketVector, key), "how far an incarnation's events are here; without it they are compared again", err)
		} else {
			payload, _ := unseal(BucketVector, key, value)
			m.vector[resource.ID(key)] = readPosition(pack.NewReader(payload))
		}
		return true
	})
	if !m.identity() {
		return m.faults, nil
	}
	for _, step := range []func() error{m.begins, m.ends, m.realms} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.bad)) {
		m.other(key, m.bad[key])
	}
	return m.faults, nil
}

// at returns why a row that is due does not read, and takes it off the list.
func (m *metaExamination) at(key string, due bool) error {
	err := m.bad[key]
	delete(m.bad, key)
	if err == nil && due && m.tx.Get(BucketMeta, []byte(key)) == nil {
		err = fmt.Errorf("%w: meta/%s: the row is missing", ErrDamaged, key)
	}
	return err
}

// identity reports whether it is known who the store is.
func (m *metaExamination) identity() bool {
	err := m.at(metaIdentity, true)
	if err == nil {
		m.id, err = readIdentity(m.tx)
	}
	if err == nil {
		return true
	}
	m.say(BucketMeta, metaIdentity, ByRestore, nil, "who this store is: without it the store does not open. Restore a snapshot, or move the directory away and start empty: peers fill it", err)
	return false
}

// begins finds where the log begins.
func (m *metaExamination) begins() (err error) {
	var first uint64
	m.tx.Ascend(BucketLog, nil, func(key, value []byte) bool {
		if readRow(BucketLog, key, value) != nil {
			return true
		}
		first = seqOf(key)
		return false
	})
	bad := m.at(metaBase, first > 1 && len(m.bad) > 0) // else its first entry is missing
	if bad == nil {
		m.base, err = readBase(m.tx)
		return err
	}
	if first == 0 {
		m.say(BucketMeta, metaBase, ByRestore, nil, "where the log begins, and no entry of it reads", bad)
		return nil
	}
	m.base, err = baseBefore(m.tx, first-1, m.id.Incarnation, Position{}, nil)
	if errors.Is(err, ErrDamaged) {
		err = nil // an entry later on: fsck of the open store tells of it
	}
	m.say(BucketMeta, metaBase, FromLog, put(BucketMeta, []byte(metaBase), m.base.appendTo(nil)), "where the log begins", bad)
	return err
}

func seqOf(key []byte) (seq uint64) {
	for _, c := range key {
		seq = seq<<8 | uint64(c)
	}
	return seq
}

// ends finds the end of the log and of the own chain.
func (m *metaExamination) ends() error {
	last, value := m.tx.Last(BucketLog)
	h := Head{Seq: m.base.Seq}
	var prevs map[string]uint64
	h.Own, prevs = m.base.own(m.id.Incarnation)
	sound := true
	m.tx.Ascend(BucketLog, nil, func(key, value []byte) bool {
		e, err := readEntry(key, value)
		if sound = err == nil; !sound {
			return true
		}
		h.Seq, h.HLC = e.Seq, max(h.HLC, e.Record.Newest().HLC)
		if ev := e.Event; ev != nil && ev.Incarnation == m.id.Incarnation {
			h.Own = Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.Hash()}
			h.HLC = max(h.HLC, ev.HLC)
			prevs[e.Record.Realm()] = ev.Seq
		}
		return true
	})
	m.prevs = prevs
	m.tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		if st, err := readStored(key, value); err == nil {
			h.HLC = max(h.HLC, st.rec.Newest().HLC)
		}
		return true
	})
	bad := m.at(metaHead, last != nil)
	if bad == nil {
		return m.tail(last, value)
	}
	const meaning = "the end of the log"
	if !sound {
		m.say(BucketMeta, metaHead, ByRestore, nil, meaning+", and the log's last entry does not read either: restore a snapshot, or start empty and let peers fill it", bad)
		return nil
	}
	m.say(BucketMeta, metaHead, FromLog, put(BucketMeta, []byte(metaHead), appendHead(nil, h)), meaning, bad)
	return nil
}

// tail compares the log's last row with the head that reads: a row under a
// flipped key may stand behind it, or be it.
func (m *metaExamination) tail(last, value []byte) error {
	head, err := readHead(m.tx)
	if err != nil || last == nil || len(last) == 8 && seqOf(last) == head.Seq {
		return err
	}
	bad := readRow(BucketLog, last, value)
	missing := len(last) == 8 && seqOf(last)+1 == head.Seq
	if bad == nil && !missing {
		bad = fmt.Errorf("%w: log/%x: the head says that the log ends at %d", ErrDamaged, last, head.Seq)
		m.say(BucketLog, string(last), ByRestore, nil, "the log and its head are of two states: restore a snapshot, or start empty and let peers fill it", bad)
		return nil
	}
	if missing {
		// The last entry's row is missing: fsck of the open store looks for what
		// it wrote. It opens once something stands there.
		key := seqKey(head.Seq)
		m.say(BucketLog, string(key), FromRecord, func(t *txn) error { return t.tx.Put(BucketLog, key, nil) }, meansEntry,
			fmt.Errorf("%w: log/%x: the row is missing", ErrDamaged, key))
		return nil
	}
	m.say(BucketLog, string(last), ByDropping, drop(BucketLog, last), meansStray, bad)
	return m.tailAgain(last, head)
}

// tailAgain puts a placeholder where the last entry stood, when the row that is
// dropped was it.
func (m *metaExamination) tailAgain(stray []byte, head Head) error {
	key := seqKey(head.Seq)
	if m.tx.Get(BucketLog, key) == nil && !bytes.Equal(key, stray) {
		m.say(BucketLog, string(key), FromRecord, func(t *txn) error { return t.tx.Put(BucketLog, key, nil) }, meansEntry,
			fmt.Errorf("%w: log/%x: the row is missing", ErrDamaged, key))
	}
	return nil
}

// realms finds this node's last event in every realm.
func (m *metaExamination) realms() error {
	for _, key := range slices.Sorted(maps.Keys(m.bad)) {
		realm, ok := strings.CutPrefix(key, metaPrev)
		if !ok {
			continue
		}
		bad := m.at(key, false)
		if seq := m.prevs[realm]; seq > 0 {
			m.say(BucketMeta, key, FromLog, put(BucketMeta, []byte(key), pack.AppendUint(nil, seq)), "this node's last event in a realm", bad)
		} else {
			m.say(BucketMeta, key, ByDropping, drop(BucketMeta, []byte(key)), meansStray, bad)
		}
	}
	for _, realm := range sortedKeys(m.prevs) {
		if m.tx.Get(BucketMeta, []byte(metaPrev+realm)) == nil {
			m.say(BucketMeta, metaPrev+realm, FromLog, put(BucketMeta, []byte(metaPrev+realm), pack.AppendUint(nil, m.prevs[realm])),
				"this node's last event in a realm", fmt.Errorf("%w: meta/%s%s: the row is missing", ErrDamaged, metaPrev, realm))
		}
	}
	return nil
}

// other is a row that a store opens without.
func (m *metaExamination) other(key string, bad error) {
	row := []byte(key)
	switch {
	case strings.HasPrefix(key, metaFloor), key == metaRejoin:
		mark := seal(BucketMeta, []byte(metaRejoin), pack.AppendBool(nil, true))
		m.say(BucketMeta, key, ByDropping, func(t *txn) error {
			return errors.Join(t.tx.Delete(BucketMeta, row), t.tx.Put(BucketMeta, []byte(metaRejoin), mark))
		}, "below what collected tombstones are gone: the node takes in what the others have before it gives anything", bad)
	case key == metaIndexed:
		m.say(BucketMeta, key, FromIndex, drop(BucketMeta, row), "that the tombstones are indexed: they are, anew, at the next start", bad)
	case strings.HasPrefix(key, metaOwn) && len(key) == len(metaOwn)+16:
		inc := resource.ID([]byte(key[len(metaOwn):]))
		// That it wrote more, which is void, is not known; nothing stands after it.
		past := Past{Incarnation: inc, Last: m.vector[inc].Seq, Cut: true}
		m.say(BucketMeta, key, FromMemory, put(BucketMeta, row, past.appendTo(nil)), "how far an earlier incarnation's events stand", bad)
	case strings.HasPrefix(key, metaCursor):
		m.say(BucketMeta, key, ByDropping, drop(BucketMeta, row), "how far a reader of the stream or the outbox is: it begins anew, which repeats and loses nothing", bad)
	default:
		m.say(BucketMeta, key, ByDropping, drop(BucketMeta, row), meansStray, bad)
	}
}
