package loopback

import (
	"driftless.dev/pack"
	"driftless.dev/replicate"
)

// streamCursor is the name under which the core keeps its place in the stream.
const streamCursor = "stream"

// delivered is one message that the core was given and no cursor has passed.
type delivered struct {
	at     replicate.Cursor
	events int // of others
}

// staged holds a cursor that the core keeps without a batch against what was
// delivered.
func (r *reader) staged(n *Node, name string, data []byte) {
	if name == streamCursor {
		r.open = r.open[r.passes(n, data, 0):]
	}
}

// applying holds a batch and its cursor against what was delivered; a batch
// that fails comes again, so that only applied closes the account.
func (r *reader) applying(n *Node, e replicate.Apply) {
	if e.Batch.Cursor == streamCursor {
		r.passes(n, e.Batch.CursorData, len(e.Batch.Records)+len(e.Refused))
	}
}

func (r *reader) applied(n *Node, e replicate.Apply) {
	if e.Batch.Cursor == streamCursor {
		r.open = r.open[r.passes(n, e.Batch.CursorData, len(e.Batch.Records)+len(e.Refused)):]
	}
}

// passes returns how many deliveries a cursor passes. Their events are what the
// batch brings: others would be lost to the stream.
func (r *reader) passes(n *Node, cursor []byte, brought int) int {
	at, err := readCursor(cursor)
	if err != nil {
		n.fleet.breaks("stream cursor: node %d: does not read: %v", n.index, err)
		return 0
	}
	due, upTo := 0, 0
	for i := range r.open {
		due += r.open[i].events
		if r.open[i].at != at {
			continue
		}
		// A repeat stands at the same place: the cursor means the first of them
		// that makes the account even.
		if upTo = i + 1; due >= brought {
			break
		}
	}
	switch {
	case upTo == 0:
		n.fleet.breaks("stream cursor: node %d stands at message %d, which was not delivered", n.index, at.Seq)
	case due < brought || due > brought && n.voided() == 0:
		n.fleet.breaks("stream cursor: node %d passes %d events up to message %d and brings %d", n.index, due, at.Seq, brought)
	}
	return upTo
}

// voided counts events that their author has declared void: they are not
// applied.
func (n *Node) voided() uint64 { return n.core.Status(n.now()).Counters.Void }

func readCursor(b []byte) (c replicate.Cursor, err error) {
	r := pack.NewReader(b)
	r.Array()
	c.Created = r.Int()
	c.Seq = r.Uint()
	r.Fixed(c.Check[:])
	return c, r.Close()
}
