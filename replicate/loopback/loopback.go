// Package loopback is a whole fleet in one goroutine: real stores and the real
// replication core of every node, on a network and a stream of its own making,
// under one seeded event heap and a virtual clock. Messages are delayed,
// reordered, dropped and repeated, links are cut, nodes are stopped and
// started, the stream loses messages or is recreated, clocks are wrong: one
// seed always gives the same run.
package loopback

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
	"driftless.dev/wire"
)

// Options says how bad the world is. Probabilities are per message.
type Options struct {
	Nodes int
	// Drop and Duplicate are of heartbeats and requests; StreamLoss and
	// StreamDuplicate of the stream.
	Drop, Duplicate             float64
	StreamLoss, StreamDuplicate float64
	// MaxDelay bounds a message's way; each takes a random part of it.
	MaxDelay time.Duration
	// Streamless fleets have no stream at all.
	Streamless bool
	// SyncInterval is every node's.
	SyncInterval time.Duration
}

// Fleet is the world.
type Fleet struct {
	opts  Options
	rng   *rand.Rand
	clock time.Duration
	queue events
	order uint64
	nodes []*Node
	// stream is what JetStream is to a fleet; created changes when it is made
	// anew.
	stream  []message
	created int64
	cut     map[[2]int]bool
}

type message struct {
	realm  string
	origin resource.ID
	data   []byte
}

// Node is one member.
type Node struct {
	fleet  *Fleet
	index  int
	engine *memory.Engine
	Store  *store.Store
	core   *replicate.Core
	resp   *replicate.Responder
	up     bool
	// life tells this start from earlier ones: what an earlier one had under
	// way is gone with it.
	life uint64
	// Offset is how far the node's wall clock is off.
	Offset time.Duration
	next   int // in the stream
	wake   time.Duration
	// pumping says that a look at the stream is scheduled.
	pumping bool
}

// epoch is when virtual time begins.
func epoch() time.Time { return time.UnixMilli(1_800_000_000_000) }

// New makes a fleet, all nodes up. It is the caller's to drive.
func New(seed uint64, o Options) (*Fleet, error) {
	f := &Fleet{opts: o, rng: rand.New(rand.NewPCG(seed, 1)), created: 1, cut: map[[2]int]bool{}}
	for i := range o.Nodes {
		n := &Node{fleet: f, index: i, engine: memory.NewEngine()}
		f.nodes = append(f.nodes, n)
		if err := n.Start(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Nodes returns the members.
func (f *Fleet) Nodes() []*Node { return f.nodes }

// Now is the virtual time since the beginning.
func (f *Fleet) Now() time.Duration { return f.clock }

// Rand is the fleet's own source, for a workload that is to follow from the
// seed too.
func (f *Fleet) Rand() *rand.Rand { return f.rng }

// Start opens the node's store and begins its life.
func (n *Node) Start() error {
	fleet, err := wire.NewFleet("loopback", nil)
	if err != nil {
		return err
	}
	n.life++
	n.Store, err = store.Open(n.engine, store.Config{
		Wall: n.wall, Secret: fleet.Key, Random: source{n.fleet.rng},
		Guard: func(ts hlc.Timestamp) error { return n.core.Guard(n.now(), ts) },
	})
	if err != nil {
		return fmt.Errorf("start node %d: %w", n.index, err)
	}
	n.core, err = replicate.LoadCore(n.Store, replicate.Config{
		Fleet: fleet, Name: fmt.Sprint("n", n.index), Boot: n.fleet.rng.Uint64(), Seed: n.fleet.rng.Uint64(), SyncInterval: n.fleet.opts.SyncInterval,
	})
	if err != nil {
		return fmt.Errorf("start node %d: %w", n.index, err)
	}
	n.resp = replicate.NewResponder(fleet, n.Store, func(fn func(*replicate.Core)) { fn(n.core) }, n.now, n.step)
	n.up, n.wake, n.pumping = true, 0, false
	if err := n.resume(); err != nil {
		return err
	}
	n.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true, Stream: !n.fleet.opts.Streamless, Fresh: true}})
	n.grown()
	n.pumpSoon()
	return nil
}

// resume finds the node's place in the stream.
func (n *Node) resume() error {
	at, err := replicate.LoadCursor(n.Store)
	if err != nil {
		return err
	}
	n.next = 0
	if at.Created == n.fleet.created && at.Seq <= uint64(len(n.fleet.stream)) {
		n.next = int(at.Seq)
	}
	return nil
}

// Stop ends the node at once: what was not committed is gone.
func (n *Node) Stop() { n.up = false }

// FillDisk lets every commit of the node fail for want of space, or ends that.
func (n *Node) FillDisk(full bool) {
	n.engine.FailCommit(nil)
	if full {
		n.engine.FailCommit(func() error { return store.ErrNoSpace })
	}
}

// Status is what the node's core knows.
func (n *Node) Status() replicate.Status { return n.core.Status(n.now()) }

// Up reports whether the node runs.
func (n *Node) Up() bool { return n.up }

func (n *Node) wall() time.Time { return epoch().Add(n.fleet.clock + n.Offset) }

func (n *Node) now() replicate.Now {
	return replicate.Now{Wall: n.wall(), Mono: n.fleet.clock, State: n.Store.State, Summary: n.Store.Summary}
}

// Cut parts two nodes, both ways or one way; Heal joins everything again.
func (f *Fleet) Cut(from, to int) { f.cut[[2]int{from, to}] = true }

// Isolate parts a node from all others and from the stream.
func (f *Fleet) Isolate(i int) {
	for j := range f.nodes {
		f.Cut(i, j)
		f.Cut(j, i)
	}
	f.Cut(i, streamNode)
}

// streamNode is the stream's place in the table of cuts.
const streamNode = -1

// Heal ends every cut, and every loss and repetition with it.
func (f *Fleet) Heal() {
	f.cut = map[[2]int]bool{}
	f.opts.Drop, f.opts.Duplicate, f.opts.StreamLoss, f.opts.StreamDuplicate = 0, 0, 0, 0
	for _, n := range f.nodes {
		if n.up {
			n.pumpSoon()
		}
	}
}

// ResetStream deletes the stream and makes a new one.
func (f *Fleet) ResetStream() {
	f.created++
	f.stream = nil
	for _, n := range f.nodes {
		n.next = 0
		if n.up {
			n.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true, Stream: true, Fresh: true}})
		}
	}
}

// Run lets virtual time pass, until done says so or the time is over; it
// reports whether done did. done is asked after every event.
func (f *Fleet) Run(limit time.Duration, done func() bool) bool {
	end := f.clock + limit
	for len(f.queue) > 0 && f.queue[0].at <= end {
		e := heap.Pop(&f.queue).(event)
		f.clock = max(f.clock, e.at)
		e.fn()
		if done != nil && done() {
			return true
		}
	}
	f.clock = end
	return false
}

// at schedules fn.
func (f *Fleet) at(delay time.Duration, fn func()) {
	f.order++
	heap.Push(&f.queue, event{at: f.clock + delay, order: f.order, fn: fn})
}

func (f *Fleet) delay() time.Duration {
	return time.Duration(f.rng.Int64N(int64(max(f.opts.MaxDelay, time.Microsecond)))) + time.Microsecond
}

type event struct {
	at    time.Duration
	order uint64 // of scheduling: the tie-break
	fn    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// source makes random bytes from the fleet's seed.
type source struct{ rng *rand.Rand }

func (s source) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.rng.Uint32())
	}
	return len(b), nil
}
