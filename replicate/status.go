package replicate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// ErrClock is returned for a local write whose stamp would lie too far ahead
// of the fleet's clock.
var ErrClock = errors.New("clock is ahead of the fleet")

// Guard judges a stamp that is about to be issued.
func (c *Core) Guard(now Now, ts hlc.Timestamp) error {
	if c.past.cloned {
		return errCloned()
	}
	ref, sure := c.members.reference(now)
	return guard(ref, sure, c.cfg.MaxClockOffset, now.Wall, ts)
}

// errCloned is what a local write on the newer of two clones is told.
func errCloned() error {
	return fmt.Errorf("%w, and this one was started later: stop it, or make it a member of its own with `driftless node reidentify`", ErrCloned)
}

func guard(ref time.Time, sure bool, limit time.Duration, wall time.Time, ts hlc.Timestamp) error {
	if ahead := ts.Time().Sub(ref); sure && ahead > limit {
		return fmt.Errorf("%w: the stamp would be %s ahead of the members' median, %s is allowed: set this machine's clock (its wall clock differs by %s)",
			ErrClock, ahead.Round(time.Second), limit, wall.Sub(ref).Round(time.Second))
	}
	return nil
}

// Status is what a node knows of itself and the others, for people.
type Status struct {
	Transport Transport
	Ready     bool
	// Waiting says what readiness waits for, "" when ready.
	Waiting string
	// Published is the log sequence up to which own events are in the stream.
	Published uint64
	Peers     []Peer
	Counters  Counters
	// LastError is what the last failed session or refused message said,
	// Foreign why the last foreign heartbeat was refused; each with its time.
	LastError, Foreign     string
	LastErrorAt, ForeignAt time.Time
	// CloneAt is when another process was last heard under this identity.
	CloneAt time.Time
	// PublishError is why nothing was handed to the stream since the last
	// success, "" when all is well.
	PublishError string
	// ClockOffset is how far this node's wall clock is ahead of the fleet's
	// reference; Sure says that there are enough clocks to tell.
	ClockOffset time.Duration
	ClockSure   bool
	// Stale says why this copy may not join the others' states, "" when it may.
	Stale string
	// Cloned says that this is the newer of two processes of one identity: it
	// takes no writes. Waiting for the fleet to confirm the own past holds them.
	Cloned, Unconfirmed bool
	Collection          Collection
}

// Status returns a snapshot and a channel that closes when it may have
// changed.
func (r *Replicator) Status() (Status, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.Status(Now{Wall: r.clock.Wall(), Mono: r.clock.Mono()}), r.changed
}

// Status returns a snapshot.
func (c *Core) Status(now Now) Status {
	ref, sure := c.members.reference(now)
	st := Status{
		Transport: c.transport, Ready: c.members.ready, Published: c.pub.done, Counters: c.counts,
		LastError: c.rec.lastError, LastErrorAt: c.rec.lastErrorAt, Foreign: c.members.foreign, ForeignAt: c.members.foreignAt,
		PublishError: c.pub.lastError, CloneAt: c.members.cloneAt,
		ClockOffset: now.Wall.Sub(ref), ClockSure: sure, Stale: c.rec.stale, Cloned: c.past.cloned, Unconfirmed: c.past.waiting,
		Collection: Collection{Blocked: c.gc.blocked, BlockedAt: c.gc.blockedAt, LastRound: c.gc.lastAt},
	}
	st.Counters.Sessions = maps.Clone(c.counts.Sessions)
	for _, p := range c.members.sorted() {
		q := *p
		q.ClockOffset = p.offset(now)
		st.Peers = append(st.Peers, q)
	}
	switch {
	case st.Ready:
	case !c.transport.Connected:
		st.Waiting = "nats: " + orUnknown(c.transport.Reason)
	case st.Stale != "":
		st.Waiting = st.Stale
	default:
		st.Waiting = "first reconciliation"
	}
	return st
}

func orUnknown(reason string) string {
	if reason == "" {
		return "not connected yet"
	}
	return reason
}

// Ask asks one member where it stands, now.
func (r *Replicator) Ask(ctx context.Context, instance resource.ID) (wire.Standing, error) {
	fleet := r.resp.fleet
	hello := wire.Hello{From: r.store.Identity().Instance, Name: r.core.cfg.Name}
	data, err := r.bus.Request(ctx, instance, VerbHello, fleet.AppendHello(nil, &hello))
	if err != nil {
		return wire.Standing{}, err
	}
	return fleet.ReadStanding(data)
}

// Confirmed is the last own event that a member is known to hold as it is here.
func (r *Replicator) Confirmed() (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.Confirmed()
}

// Confirmed is Replicator's.
func (c *Core) Confirmed() (uint64, error) {
	if c.settling() {
		return 0, ErrUnsettled
	}
	return c.past.confirmed, nil
}

// SetRoster says which instances are members, as the Member records name them.
func (r *Replicator) SetRoster(members Roster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.core.SetRoster(members)
	r.core.now = r.now()
	r.refer()
}

// Waited is what a write that waited for others came to.
type Waited struct {
	Reached int
	Wanted  int
	// Missing names the members that have not applied it.
	Missing []string
}

// WaitPeers waits until n members (or, with n < 0, every one of roster) have
// applied this node's event seq. When ctx ends first the result says how far
// it came: the write is durable here all the same. Nobody answering is never
// read as agreement.
func (r *Replicator) WaitPeers(ctx context.Context, seq uint64, n int, roster map[resource.ID]string) Waited {
	for {
		st, changed := r.Status()
		w := reached(st.Peers, seq, n, roster)
		if w.Reached >= w.Wanted {
			return w
		}
		select {
		case <-ctx.Done():
			return w
		case <-changed:
		}
	}
}

func reached(peers []Peer, seq uint64, n int, roster map[resource.ID]string) (w Waited) {
	names := maps.Clone(roster)
	if names == nil {
		names = map[resource.ID]string{}
	}
	for _, p := range peers {
		_, rostered := names[p.Instance]
		switch {
		case p.Applied >= seq:
			w.Reached++
			delete(names, p.Instance)
		case rostered || p.State != Lost:
			names[p.Instance] = p.Name
		}
	}
	if w.Wanted = n; n < 0 {
		w.Wanted = w.Reached + len(names)
	}
	if w.Reached >= w.Wanted {
		return w
	}
	for _, id := range sortedIDs(names) {
		w.Missing = append(w.Missing, names[id])
	}
	return w
}

// WaitStream waits until the stream has acknowledged this node's log up to seq.
func (r *Replicator) WaitStream(ctx context.Context, seq uint64) bool {
	for {
		st, changed := r.Status()
		if st.Published >= seq {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// Self answers the same question for this node.
func (r *Replicator) Self() (wire.Standing, error) {
	fleet := r.resp.fleet
	hello := wire.Hello{From: r.store.Identity().Instance, Name: r.core.cfg.Name}
	data, err := r.resp.hello(fleet.AppendHello(nil, &hello), false)
	if err != nil {
		return wire.Standing{}, err
	}
	return fleet.ReadStanding(data)
}
