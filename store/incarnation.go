package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"driftless.dev/hlc"
	"driftless.dev/mutant"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// ErrUnconfirmed is returned for a write when ctx ends while the store still
// waits to hear whether the fleet has seen more of its own events than it has.
var ErrUnconfirmed = errors.New("waiting to hear from the fleet whether this copy is its newest")

// Await makes local writes wait until Confirm or Unanswered: before its first
// own event a node of a fleet asks whether its copy of itself is the newest.
func (s *Store) Await() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.confirmed == nil {
		s.confirmed = make(chan struct{})
	}
}

// Confirm says that a member knows of no own events beyond this store's.
func (s *Store) Confirm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure = false
	s.release()
}

// Unanswered says that nobody could tell: the next local write goes under a new
// incarnation, so that it can collide with nothing that this one wrote in a
// life that this copy does not remember.
func (s *Store) Unanswered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.confirmed != nil {
		s.unsure = true
	}
	s.release()
}

func (s *Store) release() {
	if s.confirmed != nil {
		close(s.confirmed)
		s.confirmed = nil
	}
}

// awaitConfirmed waits for the answer, within ctx.
func (s *Store) awaitConfirmed(ctx context.Context) error {
	s.mu.RLock()
	wait := s.confirmed
	s.mu.RUnlock()
	if wait == nil {
		return nil
	}
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnconfirmed, ctx.Err())
	}
}

// Reincarnate gives the store a new incarnation, and a new instance too when
// asked. With fork its own events after the position keep become the new
// incarnation's: the fleet has others in their place. Their writes keep their
// times. Without fork all of them stand.
func (s *Store) Reincarnate(ctx context.Context, r Reincarnation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.commits.do(func(t *txn) error {
		if err := t.reincarnate(r); err != nil {
			return err
		}
		return t.broken
	})
}

// Reincarnation says how.
type Reincarnation struct {
	// Fork: own events after Keep are written anew.
	Fork bool
	Keep uint64
	// Instance mints the instance id too.
	Instance bool
	// Clock, when set, is the present: own writes that are stamped after it were
	// made while this node's clock was wrong, and get new times.
	Clock hlc.Timestamp
}

func (t *txn) reincarnate(r Reincarnation) error {
	if r.Clock > 0 {
		return t.reclock(r.Clock)
	}
	old, last := t.identity.Incarnation, t.head.Own
	next, err := t.mint(r.Instance)
	if err != nil {
		return err
	}
	if r.Fork {
		if last, err = ownAt(t.s, t.tx, t.head, old, r.Keep); err != nil {
			return err
		}
	}
	t.become(next, last)
	if !r.Fork {
		return nil
	}
	return t.reissue(resource.Reissue{From: old, To: next.Incarnation, After: last.HLC}, last.Seq)
}

// mint draws an identity that has never written.
func (t *txn) mint(instance bool) (id Identity, err error) {
	id = t.identity
	if mutant.IncarnationReused {
		return id, nil
	}
	if id.Incarnation, err = t.s.newID(t.s.clock.Peek()); err == nil && instance {
		id.Instance, err = t.s.newID(t.s.clock.Peek())
	}
	return id, err
}

// nextIdentity is who the next write is stamped by: this incarnation, or the
// one that it makes way for when its past is unsure.
func (t *txn) nextIdentity() (id Identity, err error) {
	if id = t.identity; t.unsure {
		id, err = t.mint(false)
	}
	t.stamper = Stamper{Instance: id.Instance, Incarnation: id.Incarnation}
	return id, err
}

// become makes the store another incarnation, and is the only place where its
// identity changes while it is open. Own events up to last stand, as those of
// an incarnation that is over.
func (t *txn) become(next Identity, last Position) {
	old := t.identity.Incarnation
	t.identity, t.unsure = next, false
	t.stamper = Stamper{Instance: next.Instance, Incarnation: next.Incarnation}
	t.put(BucketMeta, []byte(metaIdentity), next.appendTo(nil))
	past := Past{Incarnation: old, Last: last.Seq, Cut: last.Seq < t.head.Own.Seq}
	t.metas[metaOwn+string(old[:])] = past.appendTo(nil)
	t.retired = append(t.retired, past)
	if last != (Position{}) {
		t.vector[old] = last
	}
	t.head.Own = Position{}
	for realm := range t.s.prevs {
		t.prevs[realm] = 0
	}
	for realm := range t.prevs {
		t.prevs[realm] = 0
	}
}

// reissue writes the own events after keep again, as the new incarnation's: one
// for each record they wrote, in the order of the last of them.
func (t *txn) reissue(m resource.Reissue, keep uint64) error {
	ids, err := t.writtenAfter(m.From, keep)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.rewrite(id, m); err != nil {
			return err
		}
	}
	return t.broken
}

// rewrite writes a record again with its stamps renamed, if any are.
func (t *txn) rewrite(id resource.ID, m resource.Reissue) error {
	st, err := lookup(t.s, t.tx, id)
	if err != nil || st == nil {
		return err // collected, or set aside
	}
	rec, ok := m.Record(&st.rec)
	if !ok {
		return nil // what they wrote there has lost since
	}
	t.head.HLC = t.s.clock.Now()
	t.appendOwn(st, imageOf(rec), rec.Deleted())
	return t.broken
}

// writtenAfter lists the records that own events after a position wrote.
func (t *txn) writtenAfter(inc resource.ID, keep uint64) (ids []resource.ID, err error) {
	last := map[resource.ID]int{}
	t.tx.Ascend(BucketLog, nil, func(key, value []byte) bool {
		var e Entry
		if e, err = readEntry(key, value); err != nil {
			return false
		}
		if ev := e.Event; ev != nil && ev.Incarnation == inc && ev.Seq > keep {
			if at, ok := last[e.Record.ID]; ok {
				ids[at] = resource.ID{}
			}
			last[e.Record.ID] = len(ids)
			ids = append(ids, e.Record.ID)
		}
		return true
	})
	kept := ids[:0]
	for _, id := range ids {
		if !id.IsZero() {
			kept = append(kept, id)
		}
	}
	return kept, err
}

// Vouching is what a store knows of a position that somebody claims for its own
// events.
type Vouching uint8

// The answers.
const (
	// Shared: the own event at that position is the one that is claimed.
	Shared Vouching = iota
	// Beyond: it lies after the last own event: this copy is not the newest.
	Beyond
	// Forked: another event stands there.
	Forked
)

// Vouch compares a claim about this incarnation's own events with the log.
func (s *Store) Vouch(claim Position) (Vouching, error) {
	s.mu.RLock()
	head, inc, base := s.head, s.identity.Incarnation, s.base
	s.mu.RUnlock()
	switch {
	case claim.Seq == 0, base.Incarnation == inc && claim.Seq < base.Own.Seq:
		return Shared, nil // of what was trimmed nothing can be said against it
	case claim.Seq > head.Own.Seq:
		return Beyond, nil
	case claim.Seq == head.Own.Seq:
		return vouching(claim, head.Own), nil
	}
	var own Position
	err := s.engine.View(func(tx Tx) (err error) {
		own, err = ownAt(s, tx, head, inc, claim.Seq)
		return err
	})
	return vouching(claim, own), err
}

func vouching(claim, own Position) Vouching {
	if claim.Hash != own.Hash {
		return Forked
	}
	return Shared
}

// ownAt finds an incarnation's own event by its sequence: own sequences rise
// with the log's, so the log is searched in halves. The zero position is what
// comes before the first; of the part that was trimmed it is the last.
func ownAt(s *Store, tx Tx, head Head, inc resource.ID, seq uint64) (Position, error) {
	if seq == 0 {
		return Position{}, nil
	}
	if base, err := readBase(tx); err != nil || base.Incarnation == inc && seq <= base.Own.Seq {
		return base.Own, err // what was trimmed stands
	}
	low, high := uint64(1), head.Seq // the entry lies in [low, high]
	for low <= high {
		mid := low + (high-low)/2
		ev, at, err := nextOwn(tx, inc, mid, high)
		switch {
		case err != nil:
			return Position{}, err
		case ev == nil || ev.Seq > seq:
			if mid == 0 {
				return Position{}, nil
			}
			high = mid - 1
		case ev.Seq == seq:
			return Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.Hash()}, nil
		default:
			low = at + 1
		}
	}
	return Position{}, nil
}

// nextOwn reads the first own event at or after a log sequence.
func nextOwn(tx Tx, inc resource.ID, from, to uint64) (ev *resource.Event, at uint64, err error) {
	tx.Ascend(BucketLog, seqKey(from), func(key, value []byte) bool {
		var e Entry
		if e, err = readEntry(key, value); err != nil || e.Seq > to {
			return false
		}
		if e.Event != nil && e.Event.Incarnation == inc {
			ev, at = e.Event, e.Seq
			return false
		}
		return true
	})
	return ev, at, err
}

// Past is an incarnation that was this store's.
type Past struct {
	Incarnation resource.ID
	// Last is the last of its events that stand. Cut says that it wrote more:
	// those are void, and were written anew under another.
	Last uint64
	Cut  bool
}

func (p *Past) appendTo(b []byte) []byte {
	return pack.AppendBool(pack.AppendUint(pack.AppendArray(b, 2), p.Last), p.Cut)
}

// Past lists the incarnations that were this store's before the present one,
// by id.
func (s *Store) Past() []Past {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := slices.Clone(s.past)
	slices.SortFunc(out, func(a, b Past) int { return bytes.Compare(a.Incarnation[:], b.Incarnation[:]) })
	return out
}

// isOwn reports whether an event is this store's to publish.
func (s *Store) isOwn(ev *resource.Event) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if ev.Incarnation == s.identity.Incarnation {
		return true
	}
	for _, p := range s.past {
		if p.Incarnation == ev.Incarnation {
			return ev.Seq <= p.Last
		}
	}
	return false
}

func (s *Store) loadPast(tx Tx) (err error) {
	tx.Ascend(BucketMeta, []byte(metaOwn), func(key, value []byte) bool {
		name, ok := strings.CutPrefix(string(key), metaOwn)
		if !ok || len(name) != 16 {
			return false
		}
		var payload []byte
		if payload, err = unseal(BucketMeta, key, value); err != nil {
			return false
		}
		r := pack.NewReader(payload)
		p := Past{Incarnation: resource.ID([]byte(name))}
		if n := r.Array(); r.Err() == nil && n != 2 {
			r.Fail("own past of %d fields", n)
		}
		p.Last, p.Cut = r.Uint(), r.Bool()
		if err = damagedMeta("own", r.Close()); err == nil {
			s.past = append(s.past, p)
		}
		return err == nil
	})
	return err
}

func (id Identity) appendTo(b []byte) []byte {
	b = pack.AppendUint(pack.AppendArray(b, 4), 1)
	for _, p := range [...]resource.ID{id.Instance, id.Incarnation, id.LogID} {
		b = pack.AppendBin(b, p[:])
	}
	return b
}
