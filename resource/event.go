package resource

import (
	"crypto/sha256"
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/pack"
)

// Event types, the vocabulary of the log. Each event carries the canonical
// post-image, so folding the log from empty gives the projection.
const (
	EvPut     = "resource.put"
	EvDeleted = "resource.deleted"
	// EvMerged records a version that arrived from another node and was
	// joined in.
	EvMerged = "resource.merged"
	// EvCollected records that a tombstone was removed for good.
	EvCollected = "resource.collected"
)

// Event is one entry that an incarnation wrote to its own log: what is
// published, and what a dot (incarnation, sequence) names for ever.
type Event struct {
	Deleted bool // EvDeleted rather than EvPut
	// Incarnation and Seq are the event's dot; Seq is contiguous per
	// incarnation, from 1.
	Incarnation ID
	Seq         uint64
	// HLC is the stamp of the write.
	HLC hlc.Timestamp
	// RealmPrev is the Seq of the incarnation's previous event in this realm,
	// 0 when this is the first.
	RealmPrev uint64
	// PrevHash is the hash of the incarnation's previous event, zero for its
	// first.
	PrevHash [32]byte
	Record   Record
}

// eventTag separates event hashes from every other hash.
const eventTag = "driftless-event/1"

const eventVersion = 1

// Type returns the event's type.
func (e *Event) Type() string {
	if e.Deleted {
		return EvDeleted
	}
	return EvPut
}

// Hash chains the event to its predecessors: two events of one dot with
// different hashes prove a fork.
func (e *Event) Hash() [32]byte { return e.HashWith(e.Record.Digest()) }

// HashWith is Hash for a caller that has the record's digest already.
func (e *Event) HashWith(digest [32]byte) [32]byte {
	var room [256]byte
	b := pack.AppendArray(room[:0], 9)
	b = pack.AppendText(b, eventTag)
	b = pack.AppendBin(b, e.Incarnation[:])
	b = pack.AppendUint(b, e.Seq)
	b = pack.AppendText(b, e.Record.Realm())
	b = pack.AppendUint(b, e.RealmPrev)
	b = pack.AppendBin(b, e.PrevHash[:])
	b = pack.AppendBool(b, e.Deleted)
	b = pack.AppendUint(b, uint64(e.HLC))
	b = pack.AppendBin(b, digest[:])
	return sha256.Sum256(b)
}

// AppendTo appends the event's frame.
func (e *Event) AppendTo(b []byte) []byte { return e.Record.AppendTo(e.appendHead(b)) }

// AppendFrame appends the event's frame around the record's own frame, for a
// caller that has encoded the record already.
func (e *Event) AppendFrame(b, record []byte) []byte { return append(e.appendHead(b), record...) }

func (e *Event) appendHead(b []byte) []byte {
	b = pack.AppendArray(b, 8)
	b = pack.AppendUint(b, eventVersion)
	b = pack.AppendBin(b, e.Incarnation[:])
	b = pack.AppendUint(b, e.Seq)
	b = pack.AppendUint(b, uint64(e.HLC))
	b = pack.AppendUint(b, e.RealmPrev)
	b = pack.AppendBin(b, e.PrevHash[:])
	return pack.AppendBool(b, e.Deleted)
}

// ReadEvent reads an event's frame, which ends with the record's; the event
// aliases the reader's bytes. Errors are the reader's.
func ReadEvent(r *pack.Reader) (e Event) {
	exactly(r, 8)
	if v := r.Uint(); r.Err() == nil && v != eventVersion {
		r.Fail("event version %d is not known here", v)
	}
	r.Fixed(e.Incarnation[:])
	e.Seq = r.Uint()
	e.HLC = hlc.Timestamp(r.Uint())
	e.RealmPrev = r.Uint()
	r.Fixed(e.PrevHash[:])
	e.Deleted = r.Bool()
	raw := r.Raw()
	if r.Err() != nil {
		return e
	}
	rec, err := DecodeRecord(raw)
	if err != nil {
		r.Fail("event %s/%d: %v", e.Incarnation, e.Seq, err)
	}
	e.Record = rec
	return e
}

// Validate checks what every node judges alike of an event from a peer.
func (e *Event) Validate() error {
	if e.Incarnation.IsZero() || e.Seq == 0 || e.HLC == 0 || e.HLC > MaxHLC || e.RealmPrev >= e.Seq {
		return fmt.Errorf("%w: event %s/%d is not well formed", ErrInvalid, e.Incarnation, e.Seq)
	}
	if e.Deleted && !e.Record.Deleted() {
		return fmt.Errorf("%w: event %s/%d deletes a record that is live", ErrInvalid, e.Incarnation, e.Seq)
	}
	for p := range e.Record.points {
		if p.HLC > e.HLC {
			return fmt.Errorf("%w: event %s/%d holds a stamp later than itself", ErrInvalid, e.Incarnation, e.Seq)
		}
	}
	return e.Record.Validate()
}
