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

// later runs fn after a delay, unless the node has stopped since; a frozen node
// does it when it thaws.
func (n *Node) later(delay time.Duration, fn func()) {
	life := n.life
	n.fleet.at(delay, func() {
		switch {
		case !n.up || n.life != life:
		case n.frozen:
			n.held = append(n.held, fn)
		default:
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

// disk work takes its time and is done in order.
func (n *Node) onDisk(fn func()) {
	took := time.Duration(n.fleet.source("disk", n.index).Int64N(int64(n.slow)))
	n.busy = max(n.busy, n.fleet.clock) + took
	n.later(n.busy-n.fleet.clock, fn)
}

func (n *Node) do(e replicate.Effect) {
	switch e := e.(type) {
	case replicate.Stage:
		n.reader.staged(n, e.Name, e.Data)
		n.Store.Stage(e.Name, e.Data)
	case replicate.Broadcast:
		n.broadcast(e.Data)
	case replicate.Request:
		n.request(e)
	case replicate.Publish:
		n.publish(e)
	case replicate.Joined:
		n.onDisk(func() {
			_ = n.Store.DisallowRejoin() // a full disk: told again at the next start
			n.failStop()
		})
	case replicate.Answered:
		n.answered(e.Confirmed)
	case replicate.Vouch:
		n.onDisk(func() {
			v, err := n.Store.Vouch(e.Position)
			n.step(replicate.Vouched{ID: e.ID, Vouching: v, Err: err})
		})
	case replicate.Reincarnate:
		n.onDisk(func() {
			n.fleet.count("reincarnated")
			err := n.Store.Reincarnate(context.Background(), e.How)
			n.failStop()
			n.step(replicate.Reincarnated{ID: e.ID, Identity: n.Store.Identity(), Err: err})
		})
	case replicate.Apply:
		n.reader.applying(n, e)
		n.onDisk(func() { n.apply(e) })
	case replicate.ReadOutbox:
		n.onDisk(func() {
			events, last, err := n.Store.Outbox(e.After, e.Limit)
			n.step(replicate.OutboxRead{Events: events, Last: last, Err: err})
		})
	case replicate.ReadRecords:
		n.onDisk(func() {
			frames, done, err := n.Store.RecordsAt(e.Realm, e.Places, replicate.MaxFrame*3/4)
			n.step(replicate.RecordsRead{ID: e.ID, Frames: frames, Done: done, Err: err})
		})
	}
}

func (n *Node) apply(e replicate.Apply) {
	out, err := n.Store.Apply(context.Background(), e.Batch)
	if err == nil && len(e.Refused) > 0 {
		stood := n.Store.Clock().Last()
		err = n.Store.Quarantine(e.Refused, e.Reason)
		n.fleet.counts["quarantine entered"] += uint64(len(e.Refused))
		if moved := n.Store.Clock().Last(); moved != stood {
			n.fleet.breaks("clock: node %d moved its clock from %s to %s by stamps that it refused", n.index, stood, moved)
		}
	}
	n.failStop()
	if err == nil {
		n.reader.applied(n, e)
	}
	n.step(replicate.Applied{ID: e.ID, Result: out, Err: err})
	n.grown()
}

// grown tells the core of the log's end.
func (n *Node) grown() {
	n.step(replicate.Appended{Seq: n.Store.Head().Seq, Identity: n.Store.Identity()})
}

// answered lets local writes go on: the fleet knows of no newer copy of this
// node, or nobody was there to say.
func (n *Node) answered(confirmed bool) {
	if confirmed {
		n.fleet.count("past confirmed")
		n.Store.Confirm()
		return
	}
	n.fleet.count("past unanswered")
	n.Store.Unanswered()
}

// FailStop ends a node whose store has failed under the caller's hands.
func (n *Node) FailStop() { n.failStop() }

// failStop ends a node whose store has failed, as the process would.
func (n *Node) failStop() {
	if n.up && n.Store.Err() != nil {
		n.fleet.count("fail-stop")
		n.crash()
	}
}

// Write makes a local write, as the API would. One that would have to wait for
// the fleet's answer is refused: nobody waits here.
func (n *Node) Write(w store.Write) (store.Written, error) {
	out, err := n.Store.Write(impatient{context.Background()}, w)
	n.failStop()
	n.grown()
	return out, err
}

// impatient is a context for calls that must not wait: it is over for whoever
// waits for it, and for nobody else.
type impatient struct{ context.Context }

// Done is closed.
func (impatient) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// passes decides whether a message from one place gets to another.
func (f *Fleet) passes(from, to int) bool {
	switch {
	case f.cut[[2]int{from, to}]:
		f.count("message cut")
		return false
	case f.opts.Drop > 0 && f.source("drop", from, to).Float64() < f.opts.Drop:
		f.count("message dropped")
		return false
	}
	return true
}

// copies is how many times a message arrives that does arrive.
func (f *Fleet) copies(from, to int) int {
	if f.opts.Duplicate > 0 && f.source("duplicate", from, to).Float64() < f.opts.Duplicate {
		f.count("message duplicated")
		return 2
	}
	return 1
}

func (n *Node) broadcast(data []byte) {
	f := n.fleet
	for _, to := range f.nodes {
		if to == n || !to.up || !f.passes(n.index, to.index) {
			continue
		}
		for range f.copies(n.index, to.index) {
			to.later(f.delay(f.source("beat", n.index, to.index)), func() { to.step(replicate.Heard{Data: data}) })
		}
	}
}

func (f *Fleet) byInstance(id resource.ID) (out []*Node) {
	for _, n := range f.nodes {
		if n.Store.Identity().Instance == id {
			out = append(out, n)
		}
	}
	return out
}

// request carries a request there and its answer back, to every process that
// goes by the name; what is lost on the way is silence, and then an error.
// Answers may come late or twice: the core must tell.
func (n *Node) request(e replicate.Request) {
	f := n.fleet
	rng := f.source("request", n.index)
	for _, to := range f.byInstance(e.To) {
		if !to.up || !f.passes(n.index, to.index) {
			continue
		}
		for range f.copies(n.index, to.index) {
			life := n.life
			to.later(f.delay(rng), func() { n.served(e, to, life) })
		}
	}
	if e.ID != 0 {
		n.later(requestTimeout, func() { n.step(replicate.Replied{ID: e.ID, Err: replicate.ErrUnreachable}) })
	}
}

// served answers a request of one life of the node: an answer finds the process
// that asked, or nobody.
func (n *Node) served(e replicate.Request, to *Node, life uint64) {
	f := n.fleet
	data, err := to.resp.Serve(context.Background(), e.Verb, e.Data)
	to.failStop()
	to.grown()
	if errors.Is(err, replicate.ErrSilent) {
		return
	}
	if e.ID != 0 && n.up && n.life == life && to.up && f.passes(to.index, n.index) {
		for range f.copies(to.index, n.index) {
			n.later(f.delay(f.source("answer", to.index, n.index)), func() { n.step(replicate.Replied{ID: e.ID, Data: data, Err: err}) })
		}
	}
}
