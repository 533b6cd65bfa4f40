package replicate

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

const (
	// heartbeatMin is the period of heartbeats in a small fleet; a large one
	// stretches it, so that no node's traffic grows with its square.
	heartbeatMin   = time.Second
	heartbeatShare = 100
	// ackDelay gathers acknowledgements to one origin.
	ackDelay = 20 * time.Millisecond
	// A member is suspect after suspectAfter periods of silence and lost after
	// lostAfter.
	suspectAfter = 3
	lostAfter    = 10
)

// membership keeps what is heard of the others, and says where this node
// stands.
type membership struct {
	peers  map[resource.ID]*Peer
	beatAt time.Duration
	ackAt  time.Duration                  // 0 when nothing waits
	acks   map[resource.ID]store.Position // by origin incarnation
	told   store.Vector                   // as the last heartbeat told it
	// toldLast is where the next heartbeat goes on from.
	toldLast resource.ID
	ready    bool
	// roster is who the Member records name, unrostered that nobody has said
	// yet. Only members move the clock's median and the heartbeat's period:
	// anyone on the transport can send a heartbeat.
	roster     map[resource.ID]bool
	unrostered bool
	// ended are the last events that stand of incarnations that are over.
	ended map[resource.ID]uint64
	// cloneAt is when another process was last heard under this identity.
	cloneAt time.Time
	// foreign is the last reason why a heartbeat was refused.
	foreign   string
	foreignAt time.Time
}

// period is the time between heartbeats.
func (m *membership) period() time.Duration {
	n := len(m.roster)
	if m.unrostered {
		n = len(m.peers)
	}
	return max(heartbeatMin, time.Duration(n)*heartbeatMin/heartbeatShare)
}

func (m *membership) setRoster(r Roster) {
	m.roster, m.unrostered, m.ended = map[resource.ID]bool{}, false, r.Ended
	for id := range r.Names {
		m.roster[id] = true
	}
}

func (m *membership) counts(p *Peer) bool { return m.unrostered || m.roster[p.Instance] }

// maxPeers bounds the members that are kept in mind: beyond it the one that was
// silent longest makes room.
const maxPeers = 16384

func (m *membership) makeRoom() {
	if len(m.peers) < maxPeers {
		return
	}
	var oldest *Peer
	for _, p := range m.sorted() {
		if oldest == nil || p.heardAt < oldest.heardAt {
			oldest = p
		}
	}
	delete(m.peers, oldest.Instance)
}

// sorted returns the peers in a fixed order.
func (m *membership) sorted() []*Peer {
	out := make([]*Peer, 0, len(m.peers))
	for _, id := range sortedIDs(m.peers) {
		out = append(out, m.peers[id])
	}
	return out
}

// sortedIDs returns a map's keys in byte order, so that nothing depends on the
// order of a map.
func sortedIDs[V any](m map[resource.ID]V) []resource.ID {
	ids := slices.Collect(maps.Keys(m))
	slices.SortFunc(ids, func(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

func (m *membership) byIncarnation(inc resource.ID) *Peer {
	for _, p := range m.sorted() {
		if p.Incarnation == inc {
			return p
		}
	}
	return nil
}

// offset goes on from the last heartbeat by the monotonic clock, so that a step
// of this node's own wall clock shows at once.
func (p *Peer) offset(now Now) time.Duration {
	return p.wall.Add(now.Mono - p.heardAt).Sub(now.Wall)
}

// reference is the median of the own and the live members' wall clocks, sure
// with three or more.
func (m *membership) reference(now Now) (time.Time, bool) {
	offsets := []time.Duration{0}
	for _, p := range m.peers {
		if p.State != Lost && m.counts(p) {
			offsets = append(offsets, p.offset(now))
		}
	}
	if len(offsets) < 3 {
		return now.Wall, false
	}
	slices.Sort(offsets)
	mid := offsets[len(offsets)/2]
	if len(offsets)%2 == 0 {
		mid = (mid + offsets[len(offsets)/2-1]) / 2
	}
	return now.Wall.Add(mid), true
}

// membershipDue does what time asks for: liveness, heartbeats, acks.
func (c *Core) membershipDue() {
	m := &c.members
	for _, p := range m.peers {
		silent := c.now.Mono - p.heardAt
		switch {
		case silent > lostAfter*m.period():
			p.State = Lost
		case silent > suspectAfter*m.period():
			p.State = Suspect
		}
	}
	if c.now.Mono >= m.beatAt {
		m.beatAt = c.now.Mono + m.period()
		if c.transport.Connected {
			c.emit(Broadcast{Data: c.heartbeat()})
		}
	}
	if m.ackAt > 0 && c.now.Mono >= m.ackAt {
		c.acknowledge()
	}
}

// Standing returns the heartbeat of this moment, without changed entries.
func (c *Core) Standing(now Now) wire.Heartbeat {
	s := now.Summary()
	id := s.Identity
	return wire.Heartbeat{
		Instance: id.Instance, Incarnation: id.Incarnation, Name: c.cfg.Name, Software: c.cfg.Software, Boot: c.cfg.Boot,
		WallMillis: uint64(max(now.Wall.UnixMilli(), 0)), HLC: s.Head.HLC, Ready: c.members.ready,
		Own:   wire.Position{Incarnation: id.Incarnation, Seq: s.Head.Own.Seq, HLC: s.Head.Own.HLC, Hash: s.Head.Own.Hash},
		Super: s.Super, VectorDigest: s.VectorDigest, Started: c.past.started, FloorDigest: s.Floor.Digest(),
	}
}

func (c *Core) heartbeat() []byte {
	hb := c.Standing(c.now)
	vector := c.now.Summary().Vector
	incs := vector.Incarnations()
	// Begin after the last that was told, or those that write all the time
	// would keep the others from ever being told.
	after, _ := slices.BinarySearchFunc(incs, c.members.toldLast, func(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) })
	for i := range incs {
		inc := incs[(after+1+i)%len(incs)]
		if len(hb.Changed) == wire.MaxChanged {
			break
		}
		if p := vector[inc]; c.members.told[inc].Seq != p.Seq && inc != c.cfg.Identity.Incarnation {
			c.members.told[inc], c.members.toldLast = p, inc
			hb.Changed = append(hb.Changed, wirePosition(inc, p))
		}
	}
	return c.cfg.Fleet.AppendHeartbeat(nil, &hb)
}

func wirePosition(inc resource.ID, p store.Position) wire.Position {
	return wire.Position{Incarnation: inc, Seq: p.Seq, HLC: p.HLC, Hash: p.Hash}
}

// acknowledge tells origins how far their events are here. What cannot be
// delivered is told by the next heartbeat.
func (c *Core) acknowledge() {
	m := &c.members
	m.ackAt = 0
	for _, inc := range store.Vector(m.acks).Incarnations() {
		if p := m.byIncarnation(inc); p != nil && p.State != Lost && c.transport.Connected {
			ack := wire.Ack{From: c.cfg.Identity.Instance, Position: wirePosition(inc, m.acks[inc])}
			c.emit(Request{To: p.Instance, Verb: VerbApplied, Data: c.cfg.Fleet.AppendAck(nil, &ack)})
		}
		delete(m.acks, inc)
	}
}

func (c *Core) acked(in Acked) {
	ack, err := c.cfg.Fleet.ReadAck(in.Data)
	if err != nil || ack.Position.Incarnation != c.cfg.Identity.Incarnation {
		c.counts.Rejected++
		return
	}
	if p := c.members.peers[ack.From]; p != nil {
		c.holds(p, ack.Position)
		c.progress++
	}
}

// heard takes in a heartbeat and compares roots.
func (c *Core) heard(in Heard) {
	hb, err := c.cfg.Fleet.ReadHeartbeat(in.Data)
	if err != nil {
		c.counts.ForeignHeartbeats++
		c.members.foreign, c.members.foreignAt = err.Error(), c.now.Wall
		return
	}
	c.hearHeartbeat(&hb)
}

func (c *Core) hearHeartbeat(hb *wire.Heartbeat) {
	if hb.Instance == c.cfg.Identity.Instance {
		c.heardTwin(hb)
		return
	}
	c.counts.Heartbeats++
	p := c.members.peers[hb.Instance]
	joined := p == nil || p.State == Lost || p.Boot != hb.Boot
	if p == nil {
		c.members.makeRoom()
		p = &Peer{Instance: hb.Instance}
		c.members.peers[hb.Instance] = p
	}
	if p.Incarnation != hb.Incarnation || hb.Own.Seq < p.Own.Seq {
		p.Applied = 0
	}
	p.Incarnation, p.Name, p.Software, p.Boot, p.Ready = hb.Incarnation, hb.Name, hb.Software, hb.Boot, hb.Ready
	p.State, p.heardAt, p.LastHeard = Alive, c.now.Mono, c.now.Wall
	p.wall = time.UnixMilli(int64(min(hb.WallMillis, 1<<48)))
	p.Super, p.VectorDigest, p.floor = hb.Super, hb.VectorDigest, hb.FloorDigest
	p.Own = store.Position{Seq: hb.Own.Seq, HLC: hb.Own.HLC, Hash: hb.Own.Hash}
	c.reportedBy(p, hb.Changed)
	c.compare(p, joined)
}

// reportedBy takes from a member's vector, or a part of it, how far this
// node's own events are there.
func (c *Core) reportedBy(p *Peer, vector []wire.Position) {
	c.progress++
	for _, e := range vector {
		if e.Incarnation == c.cfg.Identity.Incarnation {
			c.holds(p, e)
		}
	}
}

// holds takes in how far this node's own events are with a member. A member
// that holds more of them than there are, or the last of them otherwise, knows
// another past of this node.
func (c *Core) holds(p *Peer, e wire.Position) {
	mine := c.now.Summary()
	own := mine.Head.Own
	switch {
	case mine.Identity != c.cfg.Identity:
		// changed meanwhile: told anew soon
	case e.Seq > own.Seq:
		c.remint(store.Beyond, "member "+c.nameOf(p.Instance)+" holds more of this node's events than it has")
	case e.Seq == own.Seq && e.Hash != own.Hash:
		c.remint(store.Forked, "member "+c.nameOf(p.Instance)+" holds another last event of this node")
	default:
		p.Applied = max(p.Applied, e.Seq)
		if e.Seq == own.Seq && e.Seq > 0 {
			c.confirm(e.Seq)
		}
	}
}

// compare judges a member's roots against this node's. Equal vectors with
// different roots have diverged: a session now. Different vectors are behind:
// a session when that lasts, or at once without a stream to close the gap. A
// member that came back is compared at once.
func (c *Core) compare(p *Peer, joined bool) {
	mine := c.now.Summary()
	if c.past.waiting || joined && !c.past.answered {
		c.rec.ask(p.Instance)
	}
	if p.floor != mine.Floor.Digest() && c.now.Mono >= p.floorAskAt {
		p.floorAskAt = c.now.Mono + floorPatience
		c.rec.ask(p.Instance)
	}
	if p.Super == mine.Super {
		p.LastMatch, p.differs = c.now.Wall, false
		c.rec.firstDone = true
		if p.floor == mine.Floor.Digest() {
			c.joined()
		}
		if p.VectorDigest == mine.VectorDigest {
			p.Applied = max(p.Applied, mine.Head.Own.Seq)
		}
		c.compareVectors(p, joined, p.VectorDigest == mine.VectorDigest)
		return
	}
	if !p.differs {
		p.differs, p.differsAt = true, c.now.Mono
	}
	patience := behindPatience
	if joined || p.VectorDigest == mine.VectorDigest || !c.transport.Stream {
		patience = 0
	}
	if c.now.Mono-p.differsAt >= patience {
		p.differsAt = c.now.Mono
		c.rec.ask(p.Instance)
	}
}

// compareVectors judges a member whose state is the same: vectors that stay
// unequal are made one by a session that has nothing else to do.
func (c *Core) compareVectors(p *Peer, joined, equal bool) {
	switch {
	case equal:
		p.unequalAt = 0
	case joined, p.unequalAt > 0 && c.now.Mono-p.unequalAt >= behindPatience:
		p.unequalAt = 0
		c.rec.ask(p.Instance)
	case p.unequalAt == 0:
		p.unequalAt = c.now.Mono
	}
}

// floorPatience is how long a member with another floor is left alone after it
// was asked: one that may not join takes no more than that.
const floorPatience = 5 * time.Second

// behindPatience is how long vectors may differ before a session is worth it:
// the stream usually closes the gap.
const behindPatience = 2 * time.Second
