package store

import (
	"errors"
	"fmt"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// ErrCompacted is returned to whoever asks for entries that were trimmed: what
// they told is in the records, and the reader has to start from those.
var ErrCompacted = errors.New("that part of the log was trimmed")

// metaBase names the row that says where the log begins.
const metaBase = "base"

// Base is where the log begins, once it was trimmed; the zero value is a log
// that holds all its entries. It keeps what the trimmed part said of this
// node's own events, so that their chain can still be checked.
type Base struct {
	// Seq is the last sequence that was trimmed.
	Seq uint64
	// Own is the last own event at or before Seq, of Incarnation.
	Incarnation resource.ID
	Own         Position
	// Prevs is, per realm, the sequence of that incarnation's last event in it.
	Prevs map[string]uint64
}

// Base returns where the log begins. Prevs is shared and must not be changed.
func (s *Store) Base() Base {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.base
}

// FirstSeq is the sequence of the oldest entry that the log holds, or of the
// next one when it holds none.
func (s *Store) FirstSeq() uint64 { return s.Base().Seq + 1 }

// own returns the position that an incarnation's first event in the log
// follows, and its realms' predecessors.
func (b *Base) own(inc resource.ID) (Position, map[string]uint64) {
	prevs := map[string]uint64{}
	if b.Incarnation != inc {
		return Position{}, prevs
	}
	for realm, seq := range b.Prevs {
		prevs[realm] = seq
	}
	return b.Own, prevs
}

// pass moves the base over an entry.
func (b *Base) pass(e *Entry) {
	b.Seq = e.Seq
	if e.Event == nil {
		return
	}
	if e.Event.Incarnation != b.Incarnation {
		b.Incarnation, b.Prevs = e.Event.Incarnation, map[string]uint64{}
	}
	b.Own = Position{Seq: e.Event.Seq, HLC: e.Event.HLC, Hash: e.Event.Hash()}
	b.Prevs[e.Record.Realm()] = e.Event.Seq
}

// clone copies the base, to be changed.
func (b Base) clone() Base {
	_, prevs := b.own(b.Incarnation)
	b.Prevs = prevs
	return b
}

func (b *Base) appendTo(p []byte) []byte {
	p = pack.AppendUint(pack.AppendArray(p, 7), 1)
	p = pack.AppendUint(p, b.Seq)
	p = pack.AppendBin(p, b.Incarnation[:])
	p = appendPosition(p, b.Own)
	p = pack.AppendArray(p, 2*len(b.Prevs))
	for _, realm := range sortedKeys(b.Prevs) {
		p = pack.AppendUint(pack.AppendText(p, realm), b.Prevs[realm])
	}
	return p
}

// readBase reads where the log begins.
func readBase(tx Tx) (b Base, err error) {
	r, err := getMeta(tx, metaBase)
	if r == nil || err != nil {
		return Base{}, err
	}
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 7 || v != 1) {
		r.Fail("base of version %d", v)
	}
	b.Seq = r.Uint()
	r.Fixed(b.Incarnation[:])
	b.Own = readPosition(r)
	n := r.Array()
	b.Prevs = make(map[string]uint64, n/2)
	for range n / 2 {
		realm := r.Text()
		b.Prevs[realm] = r.Uint()
	}
	return b, damagedMeta(metaBase, r.Close())
}

// setBase moves the beginning of the log.
func (t *txn) setBase(b Base) {
	t.put(BucketMeta, []byte(metaBase), b.appendTo(nil))
	t.base = &b
}

// loadBase reads where the log begins.
func (s *Store) loadBase(tx Tx) (err error) {
	s.base, err = readBase(tx)
	return err
}

// held returns nil when the log holds every entry after a sequence.
func held(tx Tx, after uint64) (base uint64, err error) {
	b, err := readBase(tx)
	if err == nil && after < b.Seq {
		err = fmt.Errorf("%w: it begins after %d, asked for was what follows %d", ErrCompacted, b.Seq, after)
	}
	return b.Seq, err
}
