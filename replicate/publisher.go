package replicate

import (
	"errors"
	"time"

	"driftless.dev/mutant"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

const (
	// safetyWindow is how many log entries are handed over again after a
	// restart of node or server: the stream's ack is not durable.
	safetyWindow = 4096
	// outboxChunk is how many log entries are read at once, outboxWindow how
	// many chunks may wait for the stream's ack: at most 256 messages, should
	// each entry be of a realm of its own, which is what a bus takes.
	outboxChunk  = 128
	outboxWindow = 2
	// batchBytes bounds the events of one message.
	batchBytes = 192 << 10
	// retryMin and retryMax bound the wait after a failed publish.
	retryMin = 100 * time.Millisecond
	retryMax = 10 * time.Second
	// cursorPublished names the publisher's cursor in the store.
	cursorPublished = "published"
)

// publisher hands own log entries to the stream, in order, within a window.
// The outbox is a view of the log past a cursor.
type publisher struct {
	head uint64 // of the log
	read uint64 // read up to here
	done uint64 // every chunk up to here is acked
	top  uint64 // the highest that done ever was
	// chunks wait for acks, in order; each counts what is outstanding.
	chunks  []*outboxPart
	byID    map[uint64]*outboxPart
	reading bool
	// stale counts answers to reads that a rewind made meaningless.
	stale   bool
	retryAt time.Duration // 0 when nothing failed
	// lastError is why the last attempt failed, "" since a success.
	lastError string
	backoff   time.Duration
}

type outboxPart struct {
	last    uint64
	waiting int
}

func (p *publisher) start(published uint64) {
	p.byID = map[uint64]*outboxPart{}
	p.top = published
	p.again()
}

func (p *publisher) grown(seq uint64) { p.head = max(p.head, seq) }

// again goes back by the safety window from the furthest that was acked, once,
// however often it is asked to.
func (p *publisher) again() {
	p.done = min(max(p.done, p.top), p.top-min(safetyWindow, p.top))
	p.rewind()
}

// rewind goes back to what is acked, forgetting what is outstanding.
func (p *publisher) rewind() {
	p.read = p.done
	p.chunks, p.byID = nil, map[uint64]*outboxPart{}
	p.stale = p.reading
}

// publish asks for the next part of the outbox when there is one and the
// window has room.
func (c *Core) publish() {
	p := &c.pub
	switch {
	case p.reading || p.read >= p.head || len(p.chunks) >= outboxWindow:
		return
	case !c.transport.Stream || p.retryAt > c.now.Mono || !c.mayPublish():
		return
	}
	p.reading, p.retryAt = true, 0
	c.emit(ReadOutbox{After: p.read, Limit: outboxChunk})
}

// mayPublish holds own events back while they are in question, or while this
// copy is older than what the fleet has collected; with other members on the
// roster, until one of them could say so.
func (c *Core) mayPublish() bool {
	return !c.settling() && !c.past.cloned && c.rec.stale == "" && (c.cfg.Members == 0 || c.rec.firstDone)
}

func (c *Core) outboxRead(in OutboxRead) {
	p := &c.pub
	p.reading = false
	if p.stale {
		p.stale = false
		return
	}
	if errors.Is(in.Err, store.ErrCompacted) && in.Last > p.read {
		// What was trimmed was handed over once; whoever missed it has the
		// records by reconciliation. The outbox goes on where the log begins.
		p.read, p.done, p.top = in.Last, max(p.done, in.Last), max(p.top, in.Last)
		return
	}
	if in.Err != nil {
		c.publishFailed(in.Err)
		return
	}
	part := &outboxPart{last: in.Last}
	p.read = in.Last
	if mutant.CursorOffByOne {
		p.read++
	}
	p.chunks = append(p.chunks, part)
	for _, b := range c.batches(in.Events) {
		id := c.id()
		p.byID[id] = part
		part.waiting++
		c.emit(Publish{ID: id, Realm: b.Realm, Origin: b.Incarnation, Data: c.cfg.Fleet.AppendBatch(nil, &b)})
	}
	c.settle()
}

// batches groups events by incarnation and realm, in order, within the limits of a message. An
// event too large for one is left out and said to be missing.
func (c *Core) batches(events []resource.Event) (out []wire.Batch) {
	type line struct { // of events that one subject carries
		incarnation resource.ID
		realm       string
	}
	open := map[line]int{} // index of its last batch
	sizes := map[line]int{}
	for _, ev := range events {
		realm := line{ev.Incarnation, ev.Record.Realm()}
		size := len(ev.AppendTo(nil))
		i, ok := open[realm]
		if !ok || sizes[realm]+size > batchBytes || len(out[i].Events) == wire.MaxBatchRecords || out[i].Missing {
			i = len(out)
			out = append(out, wire.Batch{Instance: c.cfg.Identity.Instance, Incarnation: ev.Incarnation, Realm: realm.realm})
			open[realm], sizes[realm] = i, 0
		}
		if size > batchBytes {
			out[i].Missing = true
			continue
		}
		out[i].Events = append(out[i].Events, ev)
		sizes[realm] += size
	}
	return out
}

func (c *Core) published(in Published) {
	p := &c.pub
	part := p.byID[in.ID]
	if part == nil {
		return // of before a rewind
	}
	delete(p.byID, in.ID)
	if in.Err != nil {
		c.publishFailed(in.Err)
		return
	}
	c.counts.Published++
	p.backoff, p.lastError = 0, ""
	part.waiting--
	c.settle()
}

// settle moves the cursor over parts that are acked without a gap.
func (c *Core) settle() {
	p := &c.pub
	was := p.done
	for len(p.chunks) > 0 && p.chunks[0].waiting == 0 {
		p.done = p.chunks[0].last
		p.top = max(p.top, p.done)
		p.chunks = p.chunks[1:]
	}
	if p.done != was {
		c.progress++
		c.emit(Stage{Name: cursorPublished, Data: encodeSeq(p.done)})
	}
}

// publishFailed goes back to what is acked and tries again later: anything but
// an ack says nothing about whether the stream has the message, and a repeat
// does no harm.
func (c *Core) publishFailed(err error) {
	p := &c.pub
	p.lastError = err.Error()
	c.counts.PublishFailures++
	p.rewind()
	p.backoff = min(max(2*p.backoff, retryMin), retryMax)
	p.retryAt = c.now.Mono + c.jitter(p.backoff)
}

// jitter returns a duration between half of d and d.
func (c *Core) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(c.rng.Int64N(int64(d/2)+1))
}
