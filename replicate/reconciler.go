package replicate

import (
	"time"

	"driftless.dev/merkle"
	"driftless.dev/resource"
	"driftless.dev/store"
)

const (
	// joinWait is how long a node that has just come up waits for a member to
	// be heard before it counts as alone.
	joinWait = 2 * time.Second
	// sessionTimeout ends a session that makes no progress.
	sessionTimeout = 30 * time.Second
	// sessionBudget ends one that goes on and on, so that a slow member cannot
	// keep this node from all the others.
	sessionBudget = 2 * time.Minute
	// movedRetry is the wait after a session whose root moved meanwhile.
	movedRetry = 200 * time.Millisecond
)

// Results of a session, the labels of its counter.
const (
	resultMatch    = "match"    // roots were equal
	resultRepaired = "repaired" // what differed was exchanged
	resultPartial  = "partial"  // some of it could not be
	resultMoved    = "moved"    // a root moved: a retry, never a success
	resultStale    = "stale"    // one side is older than what the other has collected
	resultForked   = "forked"   // own events had to be settled first
	resultError    = "error"
)

// sessionResults lists the results there are. It is a function's worth of
// constants: an array, so that nobody can change it.
var sessionResults = [...]string{resultMatch, resultRepaired, resultPartial, resultMoved, resultStale, resultForked, resultError}

// reconciler decides when to compare with whom, one session at a time.
type reconciler struct {
	session *session
	asked   []resource.ID
	dueAt   time.Duration // of the next look, periodic or sooner
	started bool
	// firstDone: the first reconciliation since the start is over, or nobody
	// was there to do it with.
	firstDone bool
	joinUntil time.Duration
	// stale says why this copy may not join the others' states, "" when it may.
	stale string
	// joined says that the store was told that it is a member's and has not done
	// so yet.
	joined bool
	// lastError is what the last failed session or refused message said.
	lastError   string
	lastErrorAt time.Time
	// applying counts batches of sessions, over ones included, that are on
	// their way to the disk.
	applying int
	// refused are records that were not taken: not pulled again while the
	// reason stands.
	refused map[merkle.Key]refusal
}

type refusal struct {
	digest merkle.Digest
	until  time.Duration
}

const (
	// refusalStands is how long a record whose stamp lies ahead is not asked
	// for again; maxRefusals bounds those that are remembered.
	refusalStands = time.Minute
	maxRefusals   = 4096
)

// remember notes records that were refused.
func (c *Core) remember(refused []store.Incoming) {
	for i := range refused {
		if len(c.rec.refused) >= maxRefusals {
			c.rec.refused = map[merkle.Key]refusal{}
		}
		digest := refused[i].Record.Digest()
		c.rec.refused[merkle.Place(&c.cfg.Fleet.Key, refused[i].Record.ID)] = refusal{merkle.Digest(digest[:16]), c.now.Mono + refusalStands}
	}
}

func (c *Core) stillRefused(place merkle.Key, digest merkle.Digest) bool {
	r, ok := c.rec.refused[place]
	return ok && r.digest == digest && c.now.Mono < r.until
}

// complain keeps what went wrong, for people.
func (c *Core) complain(reason string) {
	c.rec.lastError, c.rec.lastErrorAt = reason, c.now.Wall
}

// ask wants a session with a member soon; asking twice is asking once.
func (r *reconciler) ask(peer resource.ID) {
	for _, p := range r.asked {
		if p == peer {
			return
		}
	}
	r.asked = append(r.asked, peer)
}

// syncDue starts a session when one was asked for or time asks for it.
func (c *Core) syncDue() {
	r := &c.rec
	if !r.started {
		r.started = true
		r.dueAt = c.now.Mono + c.jitter(c.cfg.SyncInterval)
		r.joinUntil = c.now.Mono + joinWait
	}
	c.ready()
	if s := r.session; s != nil {
		switch {
		case c.now.Mono >= s.deadline:
			c.endSession(resultError, "no progress for "+sessionTimeout.String())
		case c.now.Mono >= s.ends:
			c.endSession(resultPartial, "") // the others' turn; what was exchanged stays
		}
		return
	}
	if !c.transport.Connected || r.applying > 0 || c.holding() || c.settling() {
		return // a session that timed out still has a batch on its way
	}
	for len(r.asked) > 0 && r.session == nil {
		peer := r.asked[0]
		r.asked = r.asked[1:]
		if p := c.choose(peer); p != nil {
			c.startSession(p)
		}
	}
	if r.session == nil && c.now.Mono >= r.dueAt {
		r.dueAt = c.now.Mono + c.jitter(c.cfg.SyncInterval)
		if p := c.choose(resource.ID{}); p != nil {
			c.startSession(p)
		}
	}
}

// choose returns the member that was asked for, or a random live one, those
// that differ first.
func (c *Core) choose(want resource.ID) *Peer {
	if !want.IsZero() {
		if p := c.members.peers[want]; p != nil && p.State != Lost {
			return p
		}
		return nil
	}
	var differing, live []*Peer
	for _, p := range c.members.sorted() {
		if p.State == Lost {
			continue
		}
		live = append(live, p)
		if p.differs {
			differing = append(differing, p)
		}
	}
	if len(differing) > 0 && c.rng.IntN(4) > 0 {
		live = differing
	}
	if len(live) == 0 {
		return nil
	}
	return live[c.rng.IntN(len(live))]
}

// ready notes the moment from which this node may be trusted to have seen what
// the fleet knows: the first session is over, or nobody was heard in time.
func (c *Core) ready() {
	r := &c.rec
	alone := true
	for _, p := range c.members.peers {
		alone = alone && p.State == Lost
	}
	if !r.firstDone && c.transport.Connected && alone && c.now.Mono >= r.joinUntil {
		r.firstDone = true
	}
	c.members.ready = c.transport.Connected && r.firstDone && r.stale == ""
}
