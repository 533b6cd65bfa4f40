package replicate

import (
	"fmt"
	"time"

	"driftless.dev/mutant"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// cursorStream names the subscriber's cursor in the store.
const cursorStream = "stream"

// applyRecords bounds the records of one transaction.
const applyRecords = 256

// subscriber applies what the stream brings, in order. While one batch is on
// its way to the disk the next gathers, so batches grow with the disk's
// latency and an idle node applies at once.
type subscriber struct {
	pending  []arrived
	bytes    int    // in pending, as messages
	applying uint64 // id of the Apply on its way, 0 for none
	inflight []arrived
	retryAt  time.Duration // after an apply that failed, else 0
	highest  uint64        // sequence seen, for mutant.DedupeBySeq
}

// arrived is one stream message, decoded; one of this node's own, or one that
// was refused, has no records and only moves the cursor.
type arrived struct {
	at      Cursor
	size    int // of the message, and of what is kept about it
	records []store.Incoming
	refused []store.Incoming
}

// Backlog is how many bytes of messages wait to be applied, for back-pressure.
func (c *Core) Backlog() int { return c.sub.bytes }

func (c *Core) message(in Message) {
	a := arrived{at: in.At, size: len(in.Data) + 256}
	repeat := mutant.DedupeBySeq && in.At.Seq <= c.sub.highest
	c.sub.highest = max(c.sub.highest, in.At.Seq)
	if in.Origin != c.cfg.Identity.Incarnation && !repeat {
		c.counts.Received++
		b, err := c.cfg.Fleet.ReadBatch(in.Data)
		switch {
		case err != nil || b.Incarnation != in.Origin || b.Realm != in.Realm:
			if err == nil {
				err = fmt.Errorf("%w: it does not belong to its subject", resource.ErrInvalid)
			}
			c.counts.Rejected++
			c.complain(fmt.Sprintf("stream message of %s refused: %v", in.Origin, err))
			if p := c.members.byIncarnation(in.Origin); p != nil {
				c.rec.ask(p.Instance)
			}
		case b.Incarnation == c.cfg.Identity.Incarnation:
		default:
			a.records, a.refused = c.sift(b.Instance, b.Events)
			if b.Missing {
				c.rec.ask(b.Instance)
			}
		}
	}
	c.sub.pending = append(c.sub.pending, a)
	c.sub.bytes += a.size
}

// sift parts events into those to apply and those whose stamps lie too far
// ahead.
func (c *Core) sift(from resource.ID, events []resource.Event) (take, refuse []store.Incoming) {
	for i := range events {
		if last, ok := c.members.ended[events[i].Incarnation]; ok && events[i].Seq > last {
			c.counts.Void++ // written anew by its author
			continue
		}
		in := store.Incoming{Record: events[i].Record, Event: &events[i], From: from}
		if c.tooFar(c.now, &in.Record) {
			refuse = append(refuse, in)
			continue
		}
		take = append(take, in)
	}
	return take, refuse
}

// flush sends what has gathered to the disk.
func (c *Core) flush() {
	s := &c.sub
	if s.applying != 0 || len(s.pending) == 0 || s.retryAt > c.now.Mono || c.holding() {
		return
	}
	s.retryAt = 0
	e := Apply{Reason: reasonAhead}
	var at Cursor
	n := 0
	for n < len(s.pending) && (n == 0 || len(e.Batch.Records)+len(s.pending[n].records) <= applyRecords) {
		at = s.pending[n].at
		e.Batch.Records = append(e.Batch.Records, s.pending[n].records...)
		e.Refused = append(e.Refused, s.pending[n].refused...)
		s.bytes -= s.pending[n].size
		n++
	}
	s.inflight, s.pending = s.pending[:n:n], s.pending[n:]
	c.progress++
	if len(e.Batch.Records) == 0 && len(e.Refused) == 0 {
		c.emit(Stage{Name: cursorStream, Data: at.encode()})
		return
	}
	e.ID = c.id()
	e.Batch.Cursor, e.Batch.CursorData = cursorStream, at.encode()
	s.applying = e.ID
	c.emit(e)
}

// reasonAhead is why a record is in quarantine when its stamp is too far
// ahead.
const reasonAhead = "a stamp lies further ahead of the fleet's clock than max-clock-offset allows"

func (c *Core) applied(in Applied) {
	if in.Err == nil {
		c.count(in.Result)
		c.covered(in.Result)
	}
	s := &c.sub
	if in.ID == 0 {
		return // a floor that was found
	}
	if in.ID != s.applying {
		c.sessionApplied(in)
		return
	}
	s.applying = 0
	if in.Err != nil {
		// Nothing of the batch happened, its cursor included: it comes first
		// again, so that the stream's order and the cursor stay true.
		s.pending = append(s.inflight, s.pending...)
		for i := range s.inflight {
			s.bytes += s.inflight[i].size
		}
		s.retryAt = c.now.Mono + c.jitter(retryMax/10)
	}
	s.inflight = nil
}

func (c *Core) count(r store.Applied) {
	c.counts.Batches++
	c.counts.Applied += uint64(r.Applied)
	c.counts.Ignored += uint64(r.Ignored)
	c.counts.Unchanged += uint64(r.Unchanged)
	c.counts.Quarantined += uint64(r.Quarantined)
	c.counts.Conflicts += uint64(r.Conflicts)
	c.counts.Clones += uint64(r.Clones)
	c.counts.Gone += uint64(r.Gone)
	c.counts.Held += uint64(r.Held)
}

// covered notes which origins have news to be told.
func (c *Core) covered(r store.Applied) {
	for inc, p := range r.Covered {
		c.members.acks[inc] = p
	}
	for _, from := range r.HeldFrom {
		c.rec.ask(from)
	}
	if len(r.Covered) > 0 && c.members.ackAt == 0 {
		c.members.ackAt = c.now.Mono + ackDelay
	}
}

// encode is the cursor's form in the store.
func (c Cursor) encode() []byte {
	b := pack.AppendArray(nil, 3)
	b = pack.AppendInt(b, c.Created)
	b = pack.AppendUint(b, c.Seq)
	return pack.AppendBin(b, c.Check[:])
}

func decodeCursor(b []byte) (c Cursor, err error) {
	if b == nil {
		return Cursor{}, nil
	}
	r := pack.NewReader(b)
	if n := r.Array(); r.Err() == nil && n != 3 {
		r.Fail("cursor of %d fields", n)
	}
	c.Created = r.Int()
	c.Seq = r.Uint()
	r.Fixed(c.Check[:])
	return c, r.Close()
}

func encodeSeq(seq uint64) []byte { return pack.AppendUint(nil, seq) }

func decodeSeq(b []byte) (uint64, error) {
	if b == nil {
		return 0, nil
	}
	r := pack.NewReader(b)
	seq := r.Uint()
	return seq, r.Close()
}
