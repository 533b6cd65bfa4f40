package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// Remedy is what gives back what a fault took.
type Remedy string

// Remedies.
const (
	// FromLog: derived again from the log, which is the truth.
	FromLog Remedy = "log"
	// FromRecord: an entry of the log rebuilt from the record that it wrote,
	// where the chain of own events proves it.
	FromRecord Remedy = "record"
	// FromIndex: an index row rebuilt from the records.
	FromIndex Remedy = "index"
	// FromMemory: written anew as this process has it.
	FromMemory Remedy = "memory"
	// ByDropping: deleted, because nothing needs it or it is made again.
	ByDropping Remedy = "drop"
	// ByTrimming: the log begins after it, behind a fresh snapshot.
	ByTrimming Remedy = "trim"
	// FromPeer: only a peer can give it back.
	FromPeer Remedy = "peer"
	// ByRestore: only a backup, or an empty start filled by peers.
	ByRestore Remedy = "restore"
)

// Fault is one thing that fsck found.
type Fault struct {
	Bucket Bucket
	Key    []byte
	// Record is the record that it is about, zero when that is not known.
	Record resource.ID
	// Problem is what is wrong, Meaning what follows from it.
	Problem, Meaning string
	Remedy           Remedy
	// Repaired says that the remedy was applied.
	Repaired bool
}

// Report is what fsck came to.
type Report struct {
	Rows   uint64 // that were read
	Faults []Fault
}

// Soundness is a report in one word.
type Soundness string

// What a report comes to.
const (
	Clean   Soundness = "clean"
	Mended  Soundness = "repaired"
	Unsound Soundness = "damaged"
)

// Soundness sums a report up: clean, all repaired, or damage left.
func (r *Report) Soundness() Soundness {
	switch {
	case len(r.Faults) == 0:
		return Clean
	case slices.ContainsFunc(r.Faults, func(f Fault) bool { return !f.Repaired }):
		return Unsound
	}
	return Mended
}

// Fsck reads the whole store in one transaction, derives what is derived again,
// and names every row that does not read or does not agree. With repair it
// then applies every remedy that needs nobody else, in transactions of their
// own beside whoever writes, and says which it did. What only a peer can give
// back is in Damage afterwards, not held.
func (s *Store) Fsck(ctx context.Context, repair bool) (Report, error) {
	s.fscks.Lock() // one at a time
	defer s.fscks.Unlock()
	var x *examination
	err := s.engine.View(func(tx Tx) (err error) {
		x, err = s.examine(tx)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("check store: %w", err)
	}
	if repair {
		if err := s.mend(ctx, x); err != nil {
			return Report{}, fmt.Errorf("repair store: %w", err)
		}
	}
	if err := s.remember(x); err != nil {
		return Report{}, fmt.Errorf("check store: %w", err)
	}
	out := Report{Rows: x.rows}
	for _, f := range x.faults {
		out.Faults = append(out.Faults, f.Fault)
	}
	slices.SortStableFunc(out.Faults, func(a, b Fault) int { return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), bytes.Compare(a.Key, b.Key)) })
	return out, nil
}

// remember makes Damage what was found and is left, and lets go of records that
// are damaged.
func (s *Store) remember(x *examination) error {
	var left []Damage
	for _, f := range x.faults {
		if !f.Repaired {
			left = append(left, Damage{Bucket: f.Bucket, Key: f.Key, Record: f.Record, Reason: f.Problem})
		}
	}
	s.damage.reset(left)
	return s.disownDamaged(left)
}

// fault is a Fault with the step that repairs it, nil when none of this node's
// can.
type fault struct {
	Fault
	// was is the row as it was found, nil for absent: the step is left out when
	// somebody has written it since.
	was []byte
	fix func(*txn) error
}

// examination is one reading of the whole store.
type examination struct {
	s      *Store
	tx     Tx
	rows   uint64
	faults []*fault

	head  Head
	base  Base
	own   resource.ID // this incarnation
	floor Floor
	// bad are the rows that do not read, by bucket and key.
	bad [NumBuckets]map[string]error
	// folded is the projection as the log tells it, and lost the sequences of
	// entries that nothing here gives back.
	folded fold
	lost   []uint64
	// known are the records that have a sound row or a fold.
	known map[resource.ID]bool
	// collectable are those of them that hold something a floor may free.
	collectable map[resource.ID]bool
}

func (s *Store) examine(tx Tx) (*examination, error) {
	x := &examination{s: s, tx: tx, folded: fold{}, known: map[resource.ID]bool{}, collectable: map[resource.ID]bool{}}
	s.mu.RLock()
	x.head, x.base, x.own, x.floor = s.head, s.base, s.identity.Incarnation, s.floor
	s.mu.RUnlock()
	x.read()
	if x.misplaced() {
		return nil, fmt.Errorf("%w: no record lies where this fleet's secret places it: check the fleet's name and its secret file", ErrFleet)
	}
	x.log()
	x.records()
	x.indexes()
	x.others()
	return x, nil
}

// say adds a fault. fix may be nil.
func (x *examination) say(b Bucket, key []byte, id resource.ID, remedy Remedy, fix func(*txn) error, meaning, problem string, args ...any) {
	f := &fault{Fault: Fault{Bucket: b, Key: bytes.Clone(key), Record: id, Problem: fmt.Sprintf(problem, args...), Meaning: meaning, Remedy: remedy}, fix: fix}
	if len(key) > 0 {
		f.was = bytes.Clone(x.tx.Get(b, key))
	}
	x.faults = append(x.faults, f)
}

// read reads every row by what its bucket holds.
func (x *examination) read() {
	for b := range NumBuckets {
		x.bad[b] = map[string]error{}
		x.tx.Ascend(b, nil, func(key, value []byte) bool {
			x.rows++
			if err := readRow(b, key, value); err != nil {
				x.bad[b][string(key)] = err
			}
			return true
		})
	}
}

// misplaced reports whether there are sound records and none of them lies where
// it should: then the secret is another one, and not the rows are wrong.
func (x *examination) misplaced() bool {
	sound, placed := 0, false
	x.tx.Ascend(BucketRecords, nil, func(key, _ []byte) bool {
		if x.bad[BucketRecords][string(key)] == nil {
			_, place, id, _ := splitRecordKey(key)
			sound++
			placed = place == merkle.Place(&x.s.cfg.Secret, id)
		}
		return !placed
	})
	return sound > 1 && !placed
}

// badAt returns why a row does not read, an error for one that is absent, or
// nil.
func (x *examination) badAt(b Bucket, key []byte) error {
	if err := x.bad[b][string(key)]; err != nil {
		return err
	}
	if x.tx.Get(b, key) == nil {
		return fmt.Errorf("%w: %s/%x: the row is missing", ErrDamaged, b, key)
	}
	return nil
}
