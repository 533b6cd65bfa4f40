package loopback

import (
	"context"
	"errors"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
)

const (
	// requestTimeout and ackTimeout are how long silence lasts before the core
	// is told of it.
	requestTimeout = 5 * time.Second
	ackTimeout     = 8 * time.Second
	// diskDelay bounds a transaction.
	diskDelay = 5 * time.Millisecond
)

// step gives the core an input and does what it asks for.
func (n *Node) step(in replicate.Input) {
	if !n.up {
		return
	}
	for _, e := range n.core.Step(n.now(), in) {
		n.do(e)
	}
	n.wakeSoon()
}

// later runs fn after a delay, unless the node has stopped since.
func (n *Node) later(delay time.Duration, fn func()) {
	life := n.life
	n.fleet.at(delay, func() {
		if n.up && n.life == life {
			fn()
		}
	})
}

// wakeSoon schedules the core's next tick, once.
func (n *Node) wakeSoon() {
	at := max(n.core.Wake(), n.fleet.clock+time.Millisecond)
	if n.wake > n.fleet.clock && n.wake <= at {
		return
	}
	n.wake = at
	n.later(at-n.fleet.clock, func() {
		if n.wake == at {
			n.wake = 0
		}
		n.step(replicate.Tick{})
	})
}

func (n *Node) do(e replicate.Effect) {
	disk := time.Duration(n.fleet.rng.Int64N(int64(diskDelay)))
	switch e := e.(type) {
	case replicate.Stage:
		n.Store.Stage(e.Name, e.Data)
	case replicate.Answered:
		if e.Confirmed {
			n.Store.Confirm()
		} else {
			n.Store.Unanswered()
		}
	case replicate.Joined:
		n.later(disk, func() { _ = n.Store.DisallowRejoin() }) // a full disk: told again at the next start
	case replicate.Vouch:
		n.later(disk, func() {
			v, err := n.Store.Vouch(e.Position)
			n.step(replicate.Vouched{ID: e.ID, Vouching: v, Err: err})
		})
	case replicate.Reincarnate:
		n.later(disk, func() {
			err := n.Store.Reincarnate(context.Background(), e.How)
			n.step(replicate.Reincarnated{ID: e.ID, Identity: n.Store.Identity(), Err: err})
		})
	case replicate.Broadcast:
		n.broadcast(e.Data)
	case replicate.Request:
		n.request(e)
	case replicate.Publish:
		n.publish(e)
	case replicate.Apply:
		n.later(disk, func() { n.apply(e) })
	case replicate.ReadOutbox:
		n.later(disk, func() {
			events, last, err := n.Store.Outbox(e.After, e.Limit)
			n.step(replicate.OutboxRead{Events: events, Last: last, Err: err})
		})
	case replicate.ReadRecords:
		n.later(disk, func() {
			frames, done, err := n.Store.RecordsAt(e.Realm, e.Places, replicate.MaxFrame*3/4)
			n.step(replicate.RecordsRead{ID: e.ID, Frames: frames, Done: done, Err: err})
		})
	}
}

func (n *Node) apply(e replicate.Apply) {
	out, err := n.Store.Apply(context.Background(), e.Batch)
	if err == nil && len(e.Refused) > 0 {
		err = n.Store.Quarantine(e.Refused, e.Reason)
	}
	n.step(replicate.Applied{ID: e.ID, Result: out, Err: err})
	n.grown()
}

// grown tells the core of the log's end.
func (n *Node) grown() {
	n.step(replicate.Appended{Seq: n.Store.Head().Seq, Identity: n.Store.Identity()})
}

// Write makes a local write, as the API would. One that would have to wait for
// the fleet to answer is refused: nobody waits here.
func (n *Node) Write(w store.Write) (store.Written, error) {
	out, err := n.Store.Write(ended(), w)
	n.grown()
	return out, err
}

// ended is a context for calls that must not wait. It ends while it is looked
// at and not before, so that only a call that waits notices.
func ended() context.Context { return impatient{context.Background()} }

type impatient struct{ context.Context }

func (impatient) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// passes decides whether a message from one place gets to another.
func (f *Fleet) passes(from, to int, drop float64) bool {
	return !f.cut[[2]int{from, to}] && f.rng.Float64() >= drop
}

// copies is how many times a message arrives that does arrive.
func (f *Fleet) copies(duplicate float64) int {
	if f.rng.Float64() < duplicate {
		return 2
	}
	return 1
}

func (n *Node) broadcast(data []byte) {
	f := n.fleet
	for _, to := range f.nodes {
		if to == n || !f.passes(n.index, to.index, f.opts.Drop) {
			continue
		}
		for range f.copies(f.opts.Duplicate) {
			to.later(f.delay(), func() { to.step(replicate.Heard{Data: data}) })
		}
	}
}

func (f *Fleet) byInstance(id resource.ID) *Node {
	for _, n := range f.nodes {
		if n.Store.Identity().Instance == id {
			return n
		}
	}
	return nil
}

// request carries a request there and its answer back; what is lost on the way
// is silence, and then an error.
func (n *Node) request(e replicate.Request) {
	f := n.fleet
	to := f.byInstance(e.To)
	answered := false
	if to != nil && to.up && f.passes(n.index, to.index, f.opts.Drop) {
		for range f.copies(f.opts.Duplicate) {
			to.later(f.delay(), func() {
				data, err := to.resp.Serve(context.Background(), e.Verb, e.Data)
				to.grown()
				if !errors.Is(err, replicate.ErrSilent) && f.passes(to.index, n.index, f.opts.Drop) {
					n.later(f.delay(), func() { n.answer(e.ID, &answered, data, err) })
				}
			})
		}
	}
	n.later(requestTimeout, func() { n.answer(e.ID, &answered, nil, replicate.ErrUnreachable) })
}

func (n *Node) answer(id uint64, answered *bool, data []byte, err error) {
	if *answered || id == 0 {
		return
	}
	*answered = true
	n.step(replicate.Replied{ID: id, Data: data, Err: err})
}

// publish carries a message to the stream and its ack back.
func (n *Node) publish(e replicate.Publish) {
	f := n.fleet
	origin := e.Origin
	if f.opts.Streamless || !f.passes(n.index, streamNode, 0) {
		n.later(ackTimeout, func() { n.step(replicate.Published{ID: e.ID, Err: replicate.ErrDisconnected}) })
		return
	}
	f.at(f.delay(), func() {
		f.stream = append(f.stream, message{realm: e.Realm, origin: origin, data: e.Data})
		for _, other := range f.nodes {
			other.pumpSoon()
		}
	})
	n.later(f.delay()+f.delay(), func() { n.step(replicate.Published{ID: e.ID}) })
}

// pumpSoon delivers what the stream holds beyond the node's place, in order.
func (n *Node) pumpSoon() {
	if n.up && !n.pumping {
		n.pumping = true
		n.later(n.fleet.delay(), n.pump)
	}
}

func (n *Node) pump() {
	f := n.fleet
	n.pumping = false
	if n.next >= len(f.stream) || f.cut[[2]int{n.index, streamNode}] || n.core.Backlog() > 1<<20 {
		if n.next < len(f.stream) {
			n.pumping = true
			n.later(100*time.Millisecond, n.pump)
		}
		return
	}
	m := f.stream[n.next]
	n.next++
	at := replicate.Cursor{Created: f.created, Seq: uint64(n.next)}
	if f.rng.Float64() >= f.opts.StreamLoss {
		for range f.copies(f.opts.StreamDuplicate) {
			n.step(replicate.Message{At: at, Realm: m.realm, Origin: m.origin, Data: m.data})
		}
	}
	if n.next < len(f.stream) {
		n.pumping = true
		n.later(time.Microsecond, n.pump)
	}
}
