package store

import (
	"encoding/binary"
	"fmt"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Entry is one entry of the log: a post-image and how it came about.
type Entry struct {
	Seq  uint64
	kind eventKind
	// PrevSeq is the record's previous entry, 0 for none; WasLive and
	// OldLabels are what it was before this entry, for watches and history.
	PrevSeq   uint64
	WasLive   bool
	OldLabels map[string]string
	// Event is set for this node's own writes.
	Event *resource.Event
	// Source and SourceSeq are the dot that a merged version came by, zero
	// when it came by reconciliation.
	Source    resource.ID
	SourceSeq uint64
	Record    resource.Record
}

// Type returns the event's type, one of the resource.Ev constants.
func (e *Entry) Type() string {
	switch e.kind {
	case ownDeleted:
		return resource.EvDeleted
	case merged:
		return resource.EvMerged
	case collected:
		return resource.EvCollected
	default:
		return resource.EvPut
	}
}

// Collected reports whether the record went with this entry, under a floor: it
// was a tombstone before, and nothing changes for who reads live records.
func (e *Entry) Collected() bool { return e.kind == collected }

// appendHead appends the entry up to its last field, the event's or record's
// frame, which the caller appends.
func (e *Entry) appendHead(b []byte) []byte {
	b = pack.AppendArray(b, 8)
	b = pack.AppendUint(b, 1)
	b = pack.AppendUint(b, uint64(e.kind))
	b = pack.AppendUint(b, e.PrevSeq)
	b = pack.AppendBool(b, e.WasLive)
	b = appendLabels(b, e.OldLabels)
	if e.Source.IsZero() {
		b = pack.AppendNil(b)
	} else {
		b = pack.AppendBin(b, e.Source[:])
	}
	return pack.AppendUint(b, e.SourceSeq)
}

func appendLabels(b []byte, m map[string]string) []byte {
	b = pack.AppendArray(b, 2*len(m))
	for _, k := range sortedKeys(m) {
		b = pack.AppendText(pack.AppendText(b, k), m[k])
	}
	return b
}

// readEntry decodes an entry, which aliases value.
func readEntry(key, value []byte) (Entry, error) {
	payload, err := unseal(BucketLog, key, value)
	if err != nil {
		return Entry{}, err
	}
	if len(key) != 8 {
		return Entry{}, fmt.Errorf("%w: log/%x: no sequence", ErrDamaged, key)
	}
	e := Entry{Seq: binary.BigEndian.Uint64(key)}
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 8 || v != 1) {
		r.Fail("entry of %d fields, version %d", n, v)
	}
	e.kind = eventKind(r.Uint())
	e.PrevSeq = r.Uint()
	e.WasLive = r.Bool()
	e.OldLabels = readLabels(r)
	if !r.Nil() {
		r.Fixed(e.Source[:])
	}
	e.SourceSeq = r.Uint()
	if e.kind == merged || e.kind == collected {
		if e.Record, err = resource.DecodeRecord(r.Raw()); err != nil {
			r.Fail("%v", err)
		}
	} else {
		ev := resource.ReadEvent(r)
		e.Event, e.Record = &ev, ev.Record
	}
	if err := r.Close(); err != nil {
		return Entry{}, fmt.Errorf("%w: log/%d: %w", ErrDamaged, e.Seq, err)
	}
	return e, nil
}

func readLabels(r *pack.Reader) map[string]string {
	n := r.Array()
	if n == 0 || n%2 != 0 || r.Err() != nil {
		return nil
	}
	m := make(map[string]string, min(n/2, 64))
	for range n / 2 {
		k := r.Text()
		m[k] = r.Text()
	}
	return m
}

// Entries calls fn for up to limit entries after seq, in order, within one
// short read; the entry owns its memory. It returns the last sequence that was
// read, to go on from. When entries after that sequence were trimmed the error
// wraps ErrCompacted, and last is where the log begins.
func (s *Store) Entries(after uint64, limit int, fn func(Entry) error) (last uint64, err error) {
	last = after
	err = s.engine.View(func(tx Tx) (err error) {
		if base, err := held(tx, after); err != nil {
			last = base
			return err
		}
		tx.Ascend(BucketLog, seqKey(after+1), func(key, value []byte) bool {
			if limit--; limit < 0 {
				return false
			}
			var e Entry
			if e, err = readEntry(key, append([]byte(nil), value...)); err != nil {
				return false
			}
			if err = fn(e); err != nil {
				return false
			}
			last = e.Seq
			return true
		})
		return err
	})
	return last, err
}

// Outbox returns own events, those of earlier incarnations that stand included,
// after a log sequence, up to limit entries of the
// log, and the sequence to go on from. The outbox is a view of the log, past a
// cursor: there is no second copy.
func (s *Store) Outbox(after uint64, limit int) (events []resource.Event, last uint64, err error) {
	last, err = s.Entries(after, limit, func(e Entry) error {
		if e.Event != nil && s.isOwn(e.Event) {
			events = append(events, *e.Event)
		}
		return nil
	})
	return events, last, err
}
