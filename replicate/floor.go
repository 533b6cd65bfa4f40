package replicate

import (
	"fmt"
	"slices"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// Defaults of collection: how old a tombstone is at least, and the mean time
// between two rounds.
const (
	DefaultCollectAge   = 24 * time.Hour
	DefaultCollectEvery = time.Minute
)

const (
	// collectShare is how much of the time between rounds each member costs: a
	// round asks all of them.
	collectShare = 600 * time.Millisecond
	// collectTimeout ends a round in which a member does not answer.
	collectTimeout = 15 * time.Second
)

// collector raises the floor, in two steps, because one is not enough: the
// minimum of all members' vectors says what everybody holds, but not that
// nothing older is still on its way. So a round notes that minimum, and every
// member's own head as it stood then; once a later round finds that every
// member covers those heads, whatever had been written before is everywhere,
// and what the first round noted becomes the floor. (The search in
// store/search has the schedules in which one step brings a delete back.)
type collector struct {
	dueAt time.Duration
	round *round
	// noted is what the last complete round found.
	noted *round
	// blocked says why the last round did not end in a floor, "" when nothing
	// stands in the way; blockedAt is since when.
	blocked   string
	blockedAt time.Time
	lastAt    time.Time // of the last complete round
}

func (g *collector) wake() time.Duration {
	if g.round != nil {
		return g.round.deadline
	}
	return g.dueAt
}

// round is one look at every member.
type round struct {
	ask      []resource.ID
	waiting  uint64
	deadline time.Duration
	least    store.Vector // of all vectors, entry by entry
	heads    store.Vector // each member's own events, as it told them
	members  int
}

func (c *Core) collectDue() {
	g := &c.gc
	if g.round != nil {
		if c.now.Mono >= g.round.deadline {
			c.collectBlocked(fmt.Sprintf("member %s does not answer", c.nameOf(g.round.ask[0])))
		}
		return
	}
	if g.dueAt == 0 {
		g.dueAt = c.now.Mono + c.jitter(c.collectPause())
	}
	if c.now.Mono < g.dueAt || c.members.unrostered || !c.transport.Connected || c.settling() || !c.rec.firstDone {
		return
	}
	g.dueAt = c.now.Mono + c.jitter(c.collectPause())
	mine := c.now.Summary()
	switch {
	case mine.Garbage.Tombstones == 0:
		g.noted, g.blocked = nil, ""
		return
	case c.rec.stale != "":
		return
	}
	r := &round{least: mine.Vector.Clone(), heads: store.Vector{}, members: 1}
	if mine.Head.Own.Seq > 0 {
		r.heads[mine.Identity.Incarnation] = mine.Head.Own
	}
	r.ask = c.collectFrom()
	g.round = r
	c.collectNext()
}

func (c *Core) collectPause() time.Duration {
	return max(c.cfg.CollectEvery, time.Duration(len(c.members.roster))*collectShare)
}

// collectFrom lists whom a floor needs: everybody on the roster, silent or not,
// and whoever else is heard: nobody's events may be left out.
func (c *Core) collectFrom() (ids []resource.ID) {
	for _, id := range sortedIDs(c.members.roster) {
		if id != c.cfg.Identity.Instance {
			ids = append(ids, id)
		}
	}
	for _, p := range c.members.sorted() {
		if p.State != Lost && !slices.Contains(ids, p.Instance) {
			ids = append(ids, p.Instance)
		}
	}
	return ids
}

func (c *Core) collectNext() {
	r := c.gc.round
	if len(r.ask) == 0 {
		c.collectDone()
		return
	}
	if p := c.members.peers[r.ask[0]]; p == nil || p.State == Lost {
		c.collectBlocked(fmt.Sprintf("member %s is silent", c.nameOf(r.ask[0])))
		return
	}
	r.waiting, r.deadline = c.id(), c.now.Mono+collectTimeout
	c.emit(Request{ID: r.waiting, To: r.ask[0], Verb: VerbHello, Data: c.hello(r.ask[0])})
}

// collectAnswered takes in one member's standing.
func (c *Core) collectAnswered(in Replied) {
	r := c.gc.round
	var st wire.Standing
	err := in.Err
	if err == nil {
		st, err = c.cfg.Fleet.ReadStanding(in.Data)
	}
	if err == nil && st.Heartbeat.Instance != r.ask[0] {
		err = fmt.Errorf("%w: %s answered", resource.ErrInvalid, st.Heartbeat.Instance)
	}
	if err != nil {
		c.collectBlocked(fmt.Sprintf("member %s does not answer: %v", c.nameOf(r.ask[0]), err))
		return
	}
	theirs := storeVector(st.Vector)
	for inc, p := range r.least {
		r.least[inc] = p.Least(theirs[inc]) // the zero position when the member has nothing of it
	}
	if own := st.Heartbeat.Own; own.Seq > 0 {
		r.heads[own.Incarnation] = store.Position{Seq: own.Seq, HLC: own.HLC, Hash: own.Hash}
	}
	r.members++
	r.ask = r.ask[1:]
	c.collectNext()
}

// collectDone ends a complete round: what the one before noted becomes the
// floor if every member covers its heads now.
func (c *Core) collectDone() {
	g := &c.gc
	done, noted := g.round, g.noted
	g.round, g.noted, g.lastAt = nil, done, c.now.Wall
	if noted == nil {
		c.collectWaits("a second round, after all members have what was on its way")
		return
	}
	if !done.least.Covers(noted.heads) {
		c.collectWaits("members to have what others had written by the last round")
		return
	}
	present, _ := c.reference() // this node's own clock may be the one that is wrong
	floor := store.FloorOf(noted.least).Cut(hlc.At(present.Add(-c.cfg.CollectAge).UnixMilli(), 0))
	if mine := c.now.Summary(); !mine.Floor.Reaches(floor) {
		c.counts.FloorRaises++
		c.emit(Apply{Batch: store.Batch{Floor: floor}})
	}
	c.collectWaits("")
}

func (c *Core) collectBlocked(reason string) {
	c.gc.round = nil
	c.collectWaits(reason)
}

func (c *Core) collectWaits(reason string) {
	if g := &c.gc; g.blocked != reason {
		g.blocked, g.blockedAt = reason, c.now.Wall
	}
}

// nameOf names a member for people.
func (c *Core) nameOf(id resource.ID) string {
	if p := c.members.peers[id]; p != nil && p.Name != "" {
		return p.Name
	}
	return id.String()
}

func wireFloor(f store.Floor) (out []wire.Mark) {
	for _, inc := range f.Incarnations() {
		out = append(out, wire.Mark{Incarnation: inc, HLC: f[inc]})
	}
	return out
}

func storeFloor(marks []wire.Mark) store.Floor {
	f := store.Floor{}
	for _, m := range marks {
		f[m.Incarnation] = m.HLC
	}
	return f
}

// Collection is how far collection is, for people.
type Collection struct {
	// Blocked says what a floor waits for, "" when nothing; since BlockedAt.
	Blocked   string
	BlockedAt time.Time
	// LastRound is when all members were last asked.
	LastRound time.Time
}
