package replicate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// Config is what a core is made of.
type Config struct {
	Fleet    wire.Fleet
	Identity store.Identity
	// Name and Software are for people.
	Name, Software string
	// Boot and Seed are drawn at every start: Boot tells starts apart, Seed
	// feeds jitter and the choice of peers.
	Boot, Seed uint64
	// Published is the log sequence up to which own events were handed over.
	Published uint64
	// SyncInterval is the mean time between reconciliations with a random peer.
	SyncInterval time.Duration
	// MaxClockOffset bounds how far ahead of the fleet's reference a stamp may
	// be.
	MaxClockOffset time.Duration
	// Members is how many others are on the roster at the start: with two or
	// more, nothing of theirs is taken in before enough clocks are heard to tell
	// a stamp that no sound clock issued, or a moment has passed.
	Members int
	// Confirmed is the last own event that a member was known to hold, Started
	// the clock at the start, Own the own head then.
	Confirmed uint64
	Started   hlc.Timestamp
	Own       uint64
	// CollectAge is how old a tombstone must be to be collected, CollectEvery
	// the mean time between two looks at whether any can be.
	CollectAge, CollectEvery time.Duration
	// Rejoin lets a copy that is older than what the fleet has collected
	// re-bootstrap by itself.
	Rejoin bool
}

// Defaults of Config.
const (
	DefaultSyncInterval   = 10 * time.Second
	DefaultMaxClockOffset = 60 * time.Second
)

// Now is the world as one step sees it.
type Now struct {
	Wall time.Time
	// Mono never steps back; durations and timeouts are measured on it.
	Mono time.Duration
	// State pins the store's current state, Summary is the cheap part of it.
	State   func() store.State
	Summary func() store.Summary
}

// Core is the replication state machine. It is not safe for concurrent use:
// its shell calls Step from one goroutine at a time.
type Core struct {
	cfg     Config
	rng     *rand.Rand
	now     Now
	effects []Effect
	lastID  uint64
	// progress rises whenever something changed that somebody may wait for: an
	// acknowledgement, room in the backlog, the transport.
	progress uint64

	transport Transport
	members   membership
	pub       publisher
	sub       subscriber
	rec       reconciler
	gc        collector
	past      past
	counts    Counters
}

// Counters count what happened since the start.
type Counters struct {
	Published, PublishFailures      uint64
	Received, Rejected, Quarantined uint64
	Batches                         uint64
	Applied, Ignored, Unchanged     uint64
	Conflicts                       uint64
	// Clones counts stamps that two different writes carried, OwnClones
	// heartbeats of another process under this node's identity.
	Clones, OwnClones             uint64
	Heartbeats, ForeignHeartbeats uint64
	Sessions                      map[string]uint64 // by result
	Pulled, Pushed                uint64
	// Gone and Held count records that were collected here, and events that
	// waited for a comparison; Forks and Rollbacks how often own events were
	// settled anew; FloorRaises the floors that this node
	// found, Bootstraps how often it took a member's state for its own.
	Gone, Held, Forks, Rollbacks, FloorRaises, Bootstraps uint64
	// ClockRepairs counts how often own writes of a wrong clock were looked for.
	ClockRepairs uint64
	// Void counts events that their author has written anew under another
	// incarnation.
	Void uint64
}

// NewCore returns a core at the start of its life.
func NewCore(cfg Config) *Core {
	if cfg.SyncInterval <= 0 {
		cfg.SyncInterval = DefaultSyncInterval
	}
	if cfg.MaxClockOffset <= 0 {
		cfg.MaxClockOffset = DefaultMaxClockOffset
	}
	if cfg.CollectAge <= 0 {
		cfg.CollectAge = DefaultCollectAge
	}
	if cfg.CollectEvery <= 0 {
		cfg.CollectEvery = DefaultCollectEvery
	}
	c := &Core{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, cfg.Boot))}
	c.members.peers = map[resource.ID]*Peer{}
	c.members.acks = map[resource.ID]store.Position{}
	c.members.told = store.Vector{}
	c.pub.start(cfg.Published)
	unsure := cfg.Members > 0 && cfg.Own > 0 // one that has written nothing cannot collide
	c.past = past{waiting: unsure, answered: !unsure, confirmed: cfg.Confirmed, atStart: cfg.Own, started: cfg.Started, vouching: map[uint64]func(store.Vouching) error{}}
	c.counts.Sessions = map[string]uint64{}
	c.members.unrostered = true
	c.rec.refused = map[merkle.Key]refusal{}
	for _, r := range sessionResults {
		c.counts.Sessions[r] = 0
	}
	return c
}

// LoadCore returns a core for a store, which knows who it is and how far its
// outbox was handed over.
func LoadCore(s *store.Store, cfg Config) (*Core, error) {
	published, err := s.Cursor(cursorPublished)
	if err != nil {
		return nil, err
	}
	if cfg.Published, err = decodeSeq(published); err != nil {
		return nil, fmt.Errorf("read publisher's cursor: %w", err)
	}
	confirmed, err := s.Cursor(cursorConfirmed)
	if err != nil {
		return nil, err
	}
	if cfg.Confirmed, err = decodeSeq(confirmed); err != nil {
		return nil, fmt.Errorf("read confirmed cursor: %w", err)
	}
	cfg.Identity, cfg.Started, cfg.Own = s.Identity(), s.Clock().Peek(), s.Head().Own.Seq
	c := NewCore(cfg)
	if c.past.waiting {
		s.Await()
	}
	return c, nil
}

// LoadCursor returns where the stream was left.
func LoadCursor(s *store.Store) (Cursor, error) {
	data, err := s.Cursor(cursorStream)
	if err != nil {
		return Cursor{}, err
	}
	return decodeCursor(data)
}

// Step takes one input and returns what is to be done, in order. The slice is
// the caller's.
func (c *Core) Step(now Now, in Input) []Effect {
	c.now, c.effects = now, nil
	switch in := in.(type) {
	case Tick:
	case Appended:
		c.identify(in.Identity)
		c.pub.grown(in.Seq)
	case OutboxRead:
		c.outboxRead(in)
	case Published:
		c.published(in)
	case Message:
		c.message(in)
	case Heard:
		c.heard(in)
	case Acked:
		c.acked(in)
	case Applied:
		c.applied(in)
	case TookPush:
		c.covered(in.Result)
	case Replied:
		c.replied(in)
	case RecordsRead:
		c.recordsRead(in)
	case Vouched:
		c.vouched(in)
	case Claimed:
		c.claimed(in)
	case Reincarnated:
		c.reincarnated(in)
	case TransportChanged:
		c.transportChanged(in.Transport)
	}
	c.membershipDue()
	c.publish()
	c.flush()
	c.syncDue()
	c.pastDue()
	c.clockDue()
	c.collectDue()
	return c.effects
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

func (c *Core) id() uint64 {
	c.lastID++
	return c.lastID
}

func (c *Core) transportChanged(t Transport) {
	was := c.transport
	c.progress++
	c.transport = t
	if t.Fresh {
		c.pub.again()
	}
	if t.Stream && !was.Stream {
		c.pub.retryAt = 0
	}
	if t.Connected && !was.Connected {
		c.members.beatAt = 0 // say hello to whoever is there
		c.rec.joinUntil = c.now.Mono + joinWait
	}
}

// SetRoster says which instances are members, this one included: nobody else
// moves the clock's median and the heartbeat's period, and a floor needs all of
// them.
func (c *Core) SetRoster(r Roster) { c.members.setRoster(r) }

// Wake returns when the next Tick is due, on the monotonic clock.
func (c *Core) Wake() time.Duration {
	at := c.members.beatAt
	if s := c.rec.session; s != nil {
		at = min(at, s.deadline)
	}
	for _, t := range [...]time.Duration{c.members.ackAt, c.pub.retryAt, c.sub.retryAt, c.rec.dueAt, c.rec.joinUntil, c.rec.joinUntil + joinWait, c.past.until, c.past.clockAt, c.gc.wake()} {
		if t > c.now.Mono && t < at {
			at = t
		}
	}
	return at
}

// reference is the fleet's idea of the time: the median of the own and the
// live members' wall clocks, when there are three or more; else the own one,
// and then it is not sure enough to refuse anything by.
func (c *Core) reference() (ref time.Time, sure bool) { return c.members.reference(c.now) }

// holding reports whether this node still waits for enough clocks.
func (c *Core) holding() bool {
	_, sure := c.reference()
	return c.cfg.Members >= 2 && !sure && c.now.Mono < c.rec.joinUntil+joinWait
}

// tooFar reports whether a record carries a stamp that no sound clock would
// have issued yet.
func (c *Core) tooFar(now Now, r *resource.Record) bool {
	ref, sure := c.members.reference(now)
	if !sure {
		return false
	}
	limit := hlc.At(ref.Add(c.cfg.MaxClockOffset).UnixMilli(), 0)
	for p := range r.Points() {
		if p.HLC > limit {
			return true
		}
	}
	return false
}
