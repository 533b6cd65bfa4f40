package loopback

import (
	"crypto/sha256"
	"slices"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
)

// stream is what JetStream is to a fleet: messages under sequences, of one
// incarnation of it after the other.
type stream struct {
	created  int64
	first    uint64 // messages[0] has sequence first+1
	messages []message
	// accepted is every dot that a message of the stream ever carried, whatever
	// became of it: what an ack is true of.
	accepted map[resource.ID]map[uint64]bool
}

type message struct {
	realm  string
	origin resource.ID
	data   []byte
	check  [16]byte
	events []uint64 // the dots' sequences
}

func (s *stream) last() uint64 { return s.first + uint64(len(s.messages)) }

func (s *stream) at(seq uint64) *message {
	if seq <= s.first || seq > s.last() {
		return nil
	}
	return &s.messages[seq-s.first-1]
}

// Accepted reports whether the stream ever took the event.
func (f *Fleet) Accepted(incarnation resource.ID, seq uint64) bool {
	return f.stream.accepted[incarnation][seq]
}

// publish carries a message to the stream and its ack back.
func (n *Node) publish(e replicate.Publish) {
	f := n.fleet
	origin := e.Origin
	if f.opts.Streamless || f.cut[[2]int{n.index, streamNode}] {
		f.count("publish unanswered")
		n.later(ackTimeout, func() { n.step(replicate.Published{ID: e.ID, Err: replicate.ErrDisconnected}) })
		return
	}
	rng := f.source("publish", n.index)
	there, back := f.delay(rng), f.delay(rng)
	f.at(there, func() { f.accept(origin, e) })
	n.later(there+back, func() { n.step(replicate.Published{ID: e.ID}) })
}

func (f *Fleet) accept(origin resource.ID, e replicate.Publish) {
	m := message{realm: e.Realm, origin: origin, data: e.Data}
	sum := sha256.Sum256(e.Data)
	copy(m.check[:], sum[:])
	b, err := f.wire.ReadBatch(e.Data)
	if err != nil {
		f.breaks("P10: node published what does not read: %v", err)
	}
	if f.stream.accepted[origin] == nil {
		f.stream.accepted[origin] = map[uint64]bool{}
	}
	for i := range b.Events {
		m.events = append(m.events, b.Events[i].Seq)
		f.stream.accepted[origin][b.Events[i].Seq] = true
	}
	f.stream.messages = append(f.stream.messages, m)
	for _, other := range f.nodes {
		other.pumpSoon()
	}
}

// Purge empties the stream, Recreate makes a new one, Rollback takes its last
// messages away, as a server that crashed does, and Truncate its first, as age
// does.
func (f *Fleet) Purge() {
	f.stream.first, f.stream.messages = f.stream.last(), nil
}

// Recreate deletes the stream and makes a new one.
func (f *Fleet) Recreate() {
	f.stream.created++
	f.stream.first, f.stream.messages = 0, nil
	f.restarted()
}

// Rollback takes the last k messages away.
func (f *Fleet) Rollback(k int) {
	keep := max(0, len(f.stream.messages)-k)
	f.stream.messages = slices.Clip(f.stream.messages[:keep])
	f.restarted()
}

// Truncate takes the first k messages away.
func (f *Fleet) Truncate(k int) {
	k = min(k, len(f.stream.messages))
	f.stream.first += uint64(k)
	f.stream.messages = f.stream.messages[k:]
}

// restarted makes every node find its place again, as a new consumer does.
func (f *Fleet) restarted() {
	for _, n := range f.nodes {
		if !n.up {
			continue
		}
		n.later(f.delay(f.source("restart", n.index)), func() {
			if again, err := n.place(); err != nil {
				f.breaks("node %d: stream cursor: %v", n.index, err)
			} else if again {
				f.count("stream read again")
			}
			n.connect(true)
		})
	}
}

func (n *Node) connect(fresh bool) {
	n.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true, Stream: !n.fleet.opts.Streamless, Fresh: fresh}})
	n.pumpSoon()
}

// reader is a node's place in the stream, and the books on it: what was
// delivered has to be applied, or refused by name, before a cursor passes it.
type reader struct {
	next    uint64 // sequence of the next message
	created int64
	pumping bool
	open    []delivered // not passed by a cursor yet
}

// place finds the node's place from its stored cursor, as the transport does;
// it reports whether the stream is read again from its beginning.
func (n *Node) place() (again bool, err error) {
	s := &n.fleet.stream
	at, err := replicate.LoadCursor(n.Store)
	if err != nil {
		return false, err
	}
	n.reader.next, n.reader.created = 1, s.created
	if at.Seq == 0 || at.Created != s.created {
		return at.Seq != 0, nil
	}
	switch m := s.at(at.Seq); {
	case s.last() < at.Seq, m != nil && m.check != at.Check:
		return true, nil
	}
	n.reader.next = at.Seq + 1
	return false, nil
}

// pumpSoon delivers what the stream holds beyond the node's place, in order.
func (n *Node) pumpSoon() {
	if n.up && !n.reader.pumping && n.reader.next <= n.fleet.stream.last() {
		n.reader.pumping = true
		n.later(n.fleet.delay(n.fleet.source("pump", n.index)), n.pump)
	}
}

func (n *Node) pump() {
	f, r := n.fleet, &n.reader
	r.pumping = false
	if r.next > f.stream.last() || r.created != f.stream.created {
		return
	}
	if f.cut[[2]int{n.index, streamNode}] || n.core.Backlog() > 1<<20 {
		r.pumping = true
		n.later(100*time.Millisecond, n.pump)
		return
	}
	r.next = max(r.next, f.stream.first+1)
	if m := f.stream.at(r.next); m != nil {
		at := replicate.Cursor{Created: f.stream.created, Seq: r.next, Check: m.check}
		r.next++
		n.deliver(at, *m)
	}
	if n.up && r.next <= f.stream.last() {
		r.pumping = true
		n.later(time.Microsecond, n.pump)
	}
}

func (n *Node) deliver(at replicate.Cursor, m message) {
	f := n.fleet
	rng := f.source("stream", n.index)
	if f.opts.StreamLoss > 0 && rng.Float64() < f.opts.StreamLoss {
		f.count("stream message lost")
		return
	}
	copies := 1
	if f.opts.StreamDuplicate > 0 && rng.Float64() < f.opts.StreamDuplicate {
		f.count("stream message duplicated")
		copies = 2
	}
	for range copies {
		d := delivered{at: at, events: len(m.events)}
		if m.origin == n.Store.Identity().Incarnation {
			d.events = 0
		}
		n.reader.open = append(n.reader.open, d)
		n.step(replicate.Message{At: at, Realm: m.realm, Origin: m.origin, Data: m.data})
	}
}
