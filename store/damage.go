package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// Damage is a stored row that was found damaged and is not repaired: it is
// neither served, merged nor forwarded.
type Damage struct {
	Bucket Bucket
	Key    []byte
	// Record is the record that it is about, zero when that is not known.
	Record resource.ID
	Reason string
}

// State reports whether the damage is to what nodes agree on, rather than to a
// list or a snapshot that is only kept.
func (d *Damage) State() bool {
	return d.Bucket != BucketLedger && d.Bucket != BucketQuarantine && d.Bucket != BucketSnapshots
}

// damageSet is what is known to be damaged.
type damageSet struct {
	mu   sync.Mutex
	rows map[string]Damage
	// total counts what was ever found since the open.
	total uint64
}

// maxDamage bounds what is remembered; fsck finds the rest.
const maxDamage = 4096

// note remembers a damaged row and reports whether it is new.
func (d *damageSet) note(row Damage) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := string(append([]byte{byte(row.Bucket)}, row.Key...))
	if _, known := d.rows[key]; known || len(d.rows) >= maxDamage {
		return false
	}
	if d.rows == nil {
		d.rows = map[string]Damage{}
	}
	row.Key = bytes.Clone(row.Key)
	d.rows[key] = row
	d.total++
	return true
}

// reset replaces what is known.
func (d *damageSet) reset(rows []Damage) {
	d.mu.Lock()
	had := d.rows
	d.rows = nil
	total := d.total
	d.mu.Unlock()
	for _, row := range rows {
		if _, known := had[string(append([]byte{byte(row.Bucket)}, row.Key...))]; !known {
			total++
		}
		d.note(row)
	}
	d.mu.Lock()
	d.total = total
	d.mu.Unlock()
}

// forget drops what is known of a record.
func (d *damageSet) forget(id resource.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, row := range d.rows {
		if row.Record == id {
			delete(d.rows, key)
		}
	}
}

// ofState reports whether a part of the state is damaged.
func (d *damageSet) ofState() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, row := range d.rows {
		if row.State() {
			return true
		}
	}
	return false
}

// Damage lists what is known to be damaged, by bucket and key: what opening,
// reading, the scrub or fsck came upon.
func (s *Store) Damage() []Damage {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	out := make([]Damage, 0, len(s.damage.rows))
	for _, row := range s.damage.rows {
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b Damage) int { return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), bytes.Compare(a.Key, b.Key)) })
	return out
}

// DamageFound counts the damaged rows that were found since the open.
func (s *Store) DamageFound() uint64 {
	s.damage.mu.Lock()
	defer s.damage.mu.Unlock()
	return s.damage.total
}

// noteDamage remembers a row that did not read, unless it failed for another
// reason.
func (s *Store) noteDamage(b Bucket, key []byte, err error) {
	if !errors.Is(err, ErrDamaged) {
		return
	}
	s.damage.note(Damage{Bucket: b, Key: key, Record: recordOf(b, key), Reason: err.Error()})
}

// recordOf is the record that a row's key names, zero when it names none.
func recordOf(b Bucket, key []byte) (id resource.ID) {
	switch b {
	case BucketRecords:
		_, _, id, _ = splitRecordKey(key)
	case BucketNames:
		_, _, _, id, _ = splitNameKey(key)
	case BucketIDs, BucketLedger, BucketTombstones:
		if len(key) >= 16 {
			copy(id[:], key)
		}
	}
	return id
}

// leavesAt returns what the trie in memory has at a place.
func (s *Store) leavesAt(realm string, place merkle.Key) (out []merkle.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tries[realm]
	if t == nil {
		return nil
	}
	for row := range t.View().Rows(merkle.Prefix{Bits: uint64(place), Depth: 16}) {
		out = append(out, row.Value)
	}
	return out
}

// disown takes a damaged record's leaf out of the trie: this node does not hold
// the record any more, so its root must not say so, and members that have it
// see the difference.
func (t *txn) disown(realm string, id resource.ID) {
	place := merkle.Place(&t.s.cfg.Secret, id)
	if have := t.s.leavesAt(realm, place); len(have) == 1 {
		t.leaves = append(t.leaves, leafChange{realm: realm, key: place, old: have[0]})
		t.touched = true
	}
}

// resolveKind finds a kind. While a kind's own record is damaged, one that is
// not found may be that one: this is not the answer that it does not exist.
func (s *Store) resolveKind(kind string) (resource.Kind, error) {
	k, err := s.registry.Resolve(kind)
	if isNotFound(err) {
		err = cmp.Or(s.hiddenKind(), err)
	}
	return k, err
}

// hidden is an error while rows of the indexes are damaged: what is not found
// may be what they told of.
func (s *Store) hidden(what string) error {
	for _, d := range s.Damage() {
		if d.Bucket == BucketIDs || d.Bucket == BucketNames {
			return fmt.Errorf("%w: %s may be what row %s/%x told of (driftless fsck --repair makes it again)", ErrDamaged, what, d.Bucket, d.Key)
		}
	}
	return nil
}

// absent makes sure that a record which the index of ids does not know is not
// here, and its row in the index damaged.
func (t *txn) absent(realm string, id resource.ID) error {
	if t.tx.Get(BucketRecords, recordKey(realm, merkle.Place(&t.s.cfg.Secret, id), id)) == nil {
		return nil
	}
	return fmt.Errorf("%w: record %s is here and not indexed (driftless fsck --repair indexes it)", ErrDamaged, id)
}

// hiddenKind is an error while a kind's own record is damaged, or may be.
func (s *Store) hiddenKind() error {
	if !s.kindsHidden.Load() {
		return s.hidden("the kind")
	}
	return fmt.Errorf("%w: the record of a kind, perhaps of this one (driftless fsck says which)", ErrDamaged)
}
