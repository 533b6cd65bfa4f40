// Package loopback is a whole fleet in one goroutine: real stores and the real
// replication core of every node, on a network, a stream, disks and clocks of
// its own making, under one seeded event heap and a virtual clock. Messages are
// delayed, reordered, dropped and repeated, links are cut, nodes crash, freeze
// and come back, commits are lost, the stream loses messages, is purged,
// recreated, rolled back or truncated, clocks are wrong: one seed and one
// sequence of calls always give the same run.
//
// What chance decides is drawn from a source of its own for every purpose and
// place, so that leaving out a call changes little else: a failing run can be
// shrunk.
package loopback

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"driftless.dev/resource"
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
	// SyncInterval and MaxClockOffset are every node's.
	SyncInterval, MaxClockOffset time.Duration
	// CollectAge and CollectEvery are every node's; 0 is the default.
	CollectAge, CollectEvery time.Duration
	// Rejoin lets a node that is older than what the fleet has collected
	// re-bootstrap by itself.
	Rejoin bool
	// Schemas compiles what kinds ask for; nil is the default compiler.
	Schemas resource.SchemaCompiler
}

// Fleet is the world.
type Fleet struct {
	opts    Options
	wire    wire.Fleet
	seed    uint64
	sources map[string]*rand.Rand
	clock   time.Duration
	queue   events
	order   uint64
	nodes   []*Node
	stream  stream
	cut     map[[2]int]bool
	counts  map[string]uint64
	broken  []string
}

// epoch is when virtual time begins.
func epoch() time.Time { return time.UnixMilli(1_800_000_000_000) }

// New makes a fleet, all nodes up. It is the caller's to drive.
func New(seed uint64, o Options) (*Fleet, error) {
	f := &Fleet{opts: o, seed: seed, sources: map[string]*rand.Rand{}, cut: map[[2]int]bool{}, counts: map[string]uint64{}}
	f.stream = stream{created: 1, accepted: map[resource.ID]map[uint64]bool{}}
	var err error
	if f.wire, err = wire.NewFleet("loopback", nil); err != nil {
		return nil, err
	}
	for range o.Nodes {
		if err := f.newNode(newDisk()).Start(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *Fleet) newNode(d *disk) *Node {
	n := &Node{fleet: f, index: len(f.nodes), disk: d, slow: diskDelay}
	f.nodes = append(f.nodes, n)
	return n
}

// Nodes returns the members, clones included.
func (f *Fleet) Nodes() []*Node { return f.nodes }

// Now is the virtual time since the beginning.
func (f *Fleet) Now() time.Duration { return f.clock }

// Counts tells how often what happened, by name: the world's part of a run's
// coverage. The map is the fleet's.
func (f *Fleet) Counts() map[string]uint64 { return f.counts }

func (f *Fleet) count(what string) { f.counts[what]++ }

// Broken lists what no run may show and this one did, as seen where it
// happened: a cursor that passes over messages, a cursor of the outbox that
// claims what was never handed over.
func (f *Fleet) Broken() []string { return f.broken }

func (f *Fleet) breaks(format string, args ...any) {
	f.broken = append(f.broken, fmt.Sprintf(format, args...))
}

// source is the chance of one purpose at one place. It follows from the seed
// and the two alone.
func (f *Fleet) source(purpose string, place ...int) *rand.Rand {
	key := purpose + fmt.Sprint(place)
	rng := f.sources[key]
	if rng == nil {
		h := fnv.New64a()
		h.Write([]byte(key)) // never fails
		rng = rand.New(rand.NewPCG(f.seed, h.Sum64()))
		f.sources[key] = rng
	}
	return rng
}

// Cut parts two nodes, one way; Heal joins everything again.
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

// CutStream parts a node from the stream.
func (f *Fleet) CutStream(i int) { f.Cut(i, streamNode) }

// Heal ends every cut.
func (f *Fleet) Heal() {
	f.cut = map[[2]int]bool{}
	for _, n := range f.nodes {
		n.pumpSoon()
	}
}

// Weather makes the network and the stream as bad as the options say.
func (f *Fleet) Weather(o Options) {
	f.opts.Drop, f.opts.Duplicate, f.opts.StreamLoss, f.opts.StreamDuplicate = o.Drop, o.Duplicate, o.StreamLoss, o.StreamDuplicate
	f.opts.MaxDelay = o.MaxDelay
}

// Calm ends every loss, repetition and long way of messages.
func (f *Fleet) Calm() {
	f.opts.Drop, f.opts.Duplicate, f.opts.StreamLoss, f.opts.StreamDuplicate = 0, 0, 0, 0
	f.opts.MaxDelay = min(f.opts.MaxDelay, 200*time.Millisecond)
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

// delay is one message's way between two places.
func (f *Fleet) delay(rng *rand.Rand) time.Duration {
	return time.Duration(rng.Int64N(int64(max(f.opts.MaxDelay, time.Microsecond)))) + time.Microsecond
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
