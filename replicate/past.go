package replicate

import (
	"errors"
	"fmt"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// Sentinels of a node whose own past is in question.
var (
	// ErrCloned is returned for a local write on the newer of two processes that
	// share an identity.
	ErrCloned = errors.New("another node runs under this node's identity")
	// ErrUnsettled is returned to a member that asks while own events are in
	// question: no record flows before that is settled.
	ErrUnsettled = errors.New("this node's own events are being settled")
	// ErrSilent tells a bus to leave a request without an answer.
	ErrSilent = errors.New("not answered here")
)

const (
	// askWait is how long a node that comes up waits for a member to say
	// whether its copy of itself is the newest.
	askWait = 2 * time.Second
	// cursorConfirmed names, in the store, how far own events were confirmed.
	cursorConfirmed = "confirmed"
	// clockPause is the least time between two looks at whether own stamps lie
	// ahead.
	clockPause = 5 * time.Second
	// mintPause is the least time between two new incarnations: whoever lies
	// about this node's past must not make it shed one after the other.
	mintPause = 10 * time.Second
	// cloneHeard is how many heartbeats of another process make this one stop
	// writing: one alone may be a former life's, late.
	cloneHeard = 2
)

// past is what this node knows of its own events in the eyes of the others. A
// node's log can be older than the fleet's memory of it (a restored backup, a
// virtual machine rolled back), or another than it (a copied directory that
// was started twice). Either is found out before records flow, and settled by
// a new incarnation.
type past struct {
	// waiting says that nobody has said yet whether this copy is the newest.
	waiting bool
	until   time.Duration
	// answered says that a member has confirmed it.
	answered bool
	// confirmed is the last own event that a member is known to hold as it is
	// here.
	confirmed uint64
	// atStart is the own head at the start: what lies beyond was written by
	// this process.
	atStart uint64
	// settling is the id of a Reincarnate on its way.
	settling uint64
	// mintedAt is when the last one began.
	mintedAt time.Duration
	// clockAt is when own stamps are looked at next; aheadOf is the clock that
	// no repair could set back, since others' stamps hold it there.
	clockAt time.Duration
	aheadOf hlc.Timestamp
	started hlc.Timestamp
	// twin is the boot nonce of another process under this identity, heard as
	// often as twinHeard says; cloned says that this one is the newer of them.
	twin      uint64
	twinHeard int
	cloned    bool
	// vouching are claims whose comparison with the log is on its way.
	vouching map[uint64]func(store.Vouching) error
}

func (c *Core) settling() bool { return c.past.settling != 0 }

// pastDue asks nobody in particular: whoever is heard first is asked, and when
// nobody is, the store is told so.
func (c *Core) pastDue() {
	p := &c.past
	if p.until == 0 {
		p.until = c.now.Mono + askWait
	}
	if p.waiting && c.now.Mono >= p.until {
		p.waiting = false
		c.emit(Answered{})
	}
}

// confirm notes that a member holds own events up to seq as they are here.
func (c *Core) confirm(seq uint64) {
	p := &c.past
	if p.waiting = false; !p.answered {
		p.answered = true
		c.emit(Answered{Confirmed: true})
	}
	if seq > p.confirmed {
		p.confirmed = seq
		c.emit(Stage{Name: cursorConfirmed, Data: encodeSeq(seq)})
	}
}

// vouch compares a claim about own events with the log and goes on with the
// verdict, at once where the head is enough to tell.
func (c *Core) vouch(claim store.Position, then func(store.Vouching) error) error {
	switch own := c.now.Summary().Head.Own; {
	case claim.Seq > own.Seq:
		return then(store.Beyond)
	case claim.Seq == 0 || claim.Seq == own.Seq && claim.Hash == own.Hash: // whatever time is vouched for beside it
		return then(store.Shared)
	case claim.Seq == own.Seq:
		return then(store.Forked)
	}
	id := c.id()
	c.past.vouching[id] = then
	c.emit(Vouch{ID: id, Position: claim})
	return nil
}

func (c *Core) vouched(in Vouched) {
	then := c.past.vouching[in.ID]
	delete(c.past.vouching, in.ID)
	if then == nil || c.rec.session == nil {
		return
	}
	err := in.Err
	if err == nil {
		err = then(in.Vouching)
	}
	if err != nil && c.rec.session != nil {
		c.endSession(resultError, err.Error())
	}
}

// claimed takes in what a member holds of this node's own events.
func (c *Core) claimed(in Claimed) {
	if in.Incarnation != c.cfg.Identity.Incarnation {
		return
	}
	if in.Vouching == store.Shared {
		c.confirm(in.Position.Seq)
		return
	}
	c.remint(in.Vouching, fmt.Sprintf("a member holds event %d of this node otherwise", in.Position.Seq))
}

// remint begins a new incarnation. A copy that is merely behind gives nothing
// up: what it holds, the others hold too. One that has written since, or whose
// events are others than the fleet's, writes anew what nobody is known to hold.
func (c *Core) remint(v store.Vouching, why string) {
	p := &c.past
	if p.settling != 0 || p.mintedAt > 0 && c.now.Mono < p.mintedAt+mintPause {
		return
	}
	p.mintedAt = c.now.Mono
	fork := v == store.Forked || c.now.Summary().Head.Own.Seq > p.atStart
	if v == store.Forked {
		c.counts.Forks++
	} else {
		c.counts.Rollbacks++
	}
	c.complain("own past: " + why)
	p.settling = c.id()
	c.emit(Reincarnate{ID: p.settling, How: store.Reincarnation{Fork: fork, Keep: p.confirmed}})
	if c.rec.session != nil {
		peer := c.rec.session.peer
		c.endSession(resultForked, "")
		c.rec.ask(peer)
	}
}

func (c *Core) reincarnated(in Reincarnated) {
	if in.ID != c.past.settling {
		return
	}
	c.past.settling = 0
	if errors.Is(in.Err, store.ErrNotAhead) {
		c.past.aheadOf = c.now.Summary().Head.HLC
		return
	}
	if in.Err != nil {
		c.complain("own past: " + in.Err.Error())
		return // whoever claims it next begins again
	}
	c.identify(in.Identity)
	c.confirm(0)
}

// identify takes in a change of the store's identity: what others have of own
// events is counted anew.
func (c *Core) identify(id store.Identity) {
	if id == c.cfg.Identity || id.Incarnation.IsZero() {
		return
	}
	c.cfg.Identity = id
	c.past.confirmed, c.past.atStart = 0, 0
	for _, p := range c.members.peers {
		p.Applied = 0
	}
	c.members.beatAt = 0
	c.progress++
}

// hello is the question where a member stands, with what is held of it here.
func (c *Core) hello(to resource.ID) []byte {
	m := wire.Hello{From: c.cfg.Identity.Instance, Name: c.cfg.Name}
	if p := c.members.peers[to]; p != nil {
		m.Held = wirePosition(p.Incarnation, c.now.Summary().Vector[p.Incarnation])
	}
	return c.cfg.Fleet.AppendHello(nil, &m)
}

// heardTwin takes in a heartbeat of another process under this identity. A
// former life's was sent before this one began.
func (c *Core) heardTwin(hb *wire.Heartbeat) {
	p := &c.past
	if hb.Boot == c.cfg.Boot || max(hb.HLC, hlc.At(int64(min(hb.WallMillis, 1<<47)), 0)) <= p.started {
		return
	}
	if p.twin != hb.Boot {
		p.twin, p.twinHeard = hb.Boot, 0
	}
	c.counts.OwnClones++
	c.members.cloneAt = c.now.Wall
	if p.twinHeard++; p.twinHeard < cloneHeard {
		return // reported; acted upon when it is heard again
	}
	if newer(c.past.started, c.cfg.Boot, hb) {
		p.cloned = true
		if hb.Incarnation == c.cfg.Identity.Incarnation {
			c.remint(store.Forked, "another process runs under this node's identity")
		}
	}
}

// newer tells two processes of one identity apart, the same way in both.
func newer(started hlc.Timestamp, boot uint64, hb *wire.Heartbeat) bool {
	if started != hb.Started {
		return started > hb.Started
	}
	return boot > hb.Boot
}

// clockDue repairs what this node wrote while its clock was wrong, once it is
// right: the others hold such writes in quarantine, and this node could not
// write for as long as its last stamp lies ahead.
func (c *Core) clockDue() {
	p := &c.past
	if c.now.Mono < p.clockAt || c.settling() || p.waiting {
		return
	}
	p.clockAt = c.now.Mono + clockPause
	ref, sure := c.reference()
	off := c.now.Wall.Sub(ref).Abs()
	head := c.now.Summary().Head.HLC
	if !sure || off > c.cfg.MaxClockOffset/2 || head.Time().Sub(ref) <= c.cfg.MaxClockOffset || head == p.aheadOf {
		return
	}
	c.counts.ClockRepairs++
	p.settling = c.id()
	c.emit(Reincarnate{ID: p.settling, How: store.Reincarnation{Clock: hlc.At(ref.UnixMilli(), 0)}})
}
