package replicate

import (
	"time"

	"driftless.dev/resource"
)

const (
	// joinWait is how long a node that has just come up waits for a member to
	// be heard before it counts as alone.
	joinWait = 2 * time.Second
	// sessionTimeout ends a session that makes no progress.
	sessionTimeout = 30 * time.Second
	// movedRetry is the wait after a session whose root moved meanwhile.
	movedRetry = 200 * time.Millisecond
)

// Results of a session, the labels of its counter.
const (
	resultMatch    = "match"    // roots were equal
	resultRepaired = "repaired" // what differed was exchanged
	resultPartial  = "partial"  // some of it could not be
	resultMoved    = "moved"    // a root moved: a retry, never a success
	resultError    = "error"
)

// sessionResults lists the results there are. It is a function's worth of
// constants: an array, so that nobody can change it.
var sessionResults = [...]string{resultMatch, resultRepaired, resultPartial, resultMoved, resultError}

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
	// LastError is what the last failed session said.
	lastError string
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
		if c.now.Mono >= s.deadline {
			c.endSession(resultError, "no progress for "+sessionTimeout.String())
		}
		return
	}
	if !c.transport.Connected {
		return
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
	c.members.ready = c.transport.Connected && r.firstDone
}
