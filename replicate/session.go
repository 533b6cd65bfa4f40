package replicate

import (
	"errors"
	"fmt"
	"time"

	"driftless.dev/merkle"
	"driftless.dev/mutant"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// session compares this node's state with one member's, pinned root against
// pinned root, and exchanges what differs: hello, descent, pull, push, realm
// by realm. At its end this node's state includes the member's pinned one, so
// its vector is adopted, and the other way round.
type session struct {
	peer     resource.ID
	deadline time.Duration
	waiting  uint64 // id of the request or read whose answer is due
	answer   func(*session, Replied) error
	read     func(*session, RecordsRead) error
	applying func(*session, Applied) error

	// boot is set while this side is too old to be joined as an equal.
	boot *store.Bootstrap
	// hellos counts how often the session began.
	hellos int
	mine   store.State
	theirs wire.Standing
	realms []realmPair
	// whole says that nothing was left out so far: only then is a vector
	// adopted.
	whole bool
	// again says that the session stopped at a limit and is worth another at
	// once.
	again bool
	// ends is when the session has taken its share, whatever is left.
	ends time.Duration

	realm   string
	descent *merkle.Descent
	root    merkle.Root
	asked   []merkle.Prefix
	remote  map[merkle.Key][]merkle.Digest
	pull    []merkle.Key
	push    []merkle.Key
	partial []byte // of a frame that comes in pieces
}

type realmPair struct {
	name  string
	root  merkle.Root
	count uint64
}

// startSession says hello.
func (c *Core) startSession(p *Peer) {
	s := &session{peer: p.Instance, mine: c.now.State(), whole: true, ends: c.now.Mono + sessionBudget}
	c.rec.session = s
	c.ask(VerbHello, c.hello(p.Instance), c.helloAnswered)
}

// ask sends the session's next request.
func (c *Core) ask(verb string, data []byte, answer func(*session, Replied) error) {
	s := c.rec.session
	s.waiting, s.answer, s.deadline = c.id(), answer, c.now.Mono+sessionTimeout
	c.emit(Request{ID: s.waiting, To: s.peer, Verb: verb, Data: data})
}

func (c *Core) replied(in Replied) {
	s := c.rec.session
	if r := c.gc.round; r != nil && in.ID == r.waiting {
		c.collectAnswered(in)
		return
	}
	if s == nil || in.ID == 0 || in.ID != s.waiting && !mutant.LateReply || s.answer == nil {
		return
	}
	answer := s.answer
	s.answer = nil
	if in.Err != nil {
		c.endSession(resultError, in.Err.Error())
		return
	}
	if err := answer(s, in); err != nil {
		c.endSession(resultError, err.Error())
	}
}

func (c *Core) recordsRead(in RecordsRead) {
	s := c.rec.session
	if s == nil || in.ID != s.waiting || s.read == nil {
		return
	}
	read := s.read
	s.read = nil
	err := in.Err
	if err == nil {
		err = read(s, in)
	}
	if err != nil {
		c.endSession(resultError, err.Error())
	}
}

func (c *Core) sessionApplied(in Applied) {
	c.rec.applying--
	s := c.rec.session
	if s == nil || in.ID != s.waiting || s.applying == nil {
		return
	}
	next := s.applying
	s.applying = nil
	err := in.Err
	if err == nil {
		if in.Result.Quarantined > 0 {
			s.whole = false
		}
		err = next(s, in)
	}
	if err != nil {
		c.endSession(resultError, err.Error())
	}
}

// apply sends records of the session to the disk.
func (c *Core) apply(b store.Batch, refused []store.Incoming, next func(*session, Applied) error) {
	s := c.rec.session
	s.waiting, s.applying, s.deadline = c.id(), next, c.now.Mono+sessionTimeout
	c.rec.applying++
	if len(refused) > 0 {
		s.whole = false
		c.counts.Quarantined += uint64(len(refused))
	}
	c.emit(Apply{ID: s.waiting, Batch: b, Refused: refused, Reason: reasonAhead})
}

// endSession closes the session with a result.
func (c *Core) endSession(result, reason string) {
	r := &c.rec
	peer, cut := r.session.peer, r.session.again || c.now.Mono >= r.session.ends
	r.session = nil
	c.counts.Sessions[result]++
	switch result {
	case resultMoved:
		r.dueAt = c.now.Mono + movedRetry
		return // a retry, never a success
	case resultError:
		c.complain(reason)
		return
	}
	if cut {
		return // there is more to come
	}
	r.firstDone = true // what could be exchanged has been
	if p := c.members.peers[peer]; p != nil && result == resultMatch {
		p.LastMatch, p.differs = c.now.Wall, false
	}
}

func (c *Core) helloAnswered(s *session, in Replied) (err error) {
	if s.theirs, err = c.cfg.Fleet.ReadStanding(in.Data); err != nil {
		return err
	}
	if s.theirs.Heartbeat.Instance != s.peer {
		return fmt.Errorf("%w: %s answered for %s", resource.ErrInvalid, s.theirs.Heartbeat.Instance, s.peer)
	}
	hb := s.theirs.Heartbeat
	if super := merkle.SuperRoot(&c.cfg.Fleet.Key, realmRoots(s.theirs.Realms)); super != merkle.Root(hb.Super) {
		return fmt.Errorf("%w: the super-root is not that of the realms", resource.ErrInvalid)
	}
	s.mine = c.now.State()
	claim := storeVector(s.theirs.Vector)[c.cfg.Identity.Incarnation]
	if s.mine.Identity != c.cfg.Identity {
		return c.changedOnItsWay()
	}
	s.deadline = c.now.Mono + sessionTimeout
	return c.vouch(claim, func(v store.Vouching) error {
		if c.rec.session != s {
			return nil
		}
		if v != store.Shared {
			c.remint(v, "member "+c.nameOf(s.peer)+" holds other events of this node than it has")
			return nil
		}
		c.confirm(claim.Seq)
		if p := c.members.peers[s.peer]; p != nil {
			c.reportedBy(p, s.theirs.Vector)
		}
		if c.rec.session != s {
			return nil // settled meanwhile
		}
		return c.joinFloors(s)
	})
}

// compareRoots goes on with what differs, floors being one.
func (c *Core) compareRoots(s *session) error {
	hb := s.theirs.Heartbeat
	if s.boot != nil && merkle.Root(hb.Super) == s.mine.Super {
		return c.bootstrapped(s)
	}
	if merkle.Root(hb.Super) == s.mine.Super && s.mine.Vector.Covers(storeVector(s.theirs.Vector)) {
		c.endSession(resultMatch, "")
		return nil
	}
	if merkle.Root(hb.Super) == s.mine.Super {
		c.apply(store.Batch{Adopt: storeVector(s.theirs.Vector)}, nil, func(*session, Applied) error {
			c.endSession(resultMatch, "")
			return nil
		})
		return nil
	}
	s.realms = differing(s.mine, s.theirs)
	return c.nextRealm()
}

func realmRoots(realms []wire.Realm) (out []merkle.RealmRoot) {
	for _, r := range realms {
		out = append(out, merkle.RealmRoot{Realm: r.Name, Root: r.Root, Count: int(min(r.Records, 1<<40))})
	}
	return out
}

// differing lists the realms whose roots are not equal; a realm that one side
// does not list is empty there.
func differing(mine store.State, theirs wire.Standing) (out []realmPair) {
	seen := map[string]bool{}
	for _, r := range theirs.Realms {
		seen[r.Name] = true
		if m, ok := mine.Realm(r.Name); !ok || m.Root != r.Root {
			out = append(out, realmPair{name: r.Name, root: r.Root, count: r.Records})
		}
	}
	for _, m := range mine.Realms {
		if !seen[m.Realm] {
			out = append(out, realmPair{name: m.Realm})
		}
	}
	return out
}

func storeVector(ps []wire.Position) store.Vector {
	v := store.Vector{}
	for _, p := range ps {
		v[p.Incarnation] = store.Position{Seq: p.Seq, HLC: p.HLC, Hash: p.Hash}
	}
	return v
}

func wireVector(v store.Vector) (out []wire.Position) {
	for _, inc := range v.Incarnations() {
		out = append(out, wirePosition(inc, v[inc]))
	}
	return out
}

// nextRealm begins the descent into the next realm that differs.
func (c *Core) nextRealm() error {
	s := c.rec.session
	if len(s.realms) == 0 {
		return c.concludeSession()
	}
	next := s.realms[0]
	s.realms = s.realms[1:]
	s.realm, s.root = next.name, next.root
	s.remote, s.pull, s.push = map[merkle.Key][]merkle.Digest{}, nil, nil
	view := c.view(s)
	if next.count == 0 {
		for row := range view.Rows(merkle.Prefix{}) {
			s.push = append(s.push, row.Key)
		}
		return c.pushNext()
	}
	s.descent = merkle.NewDescent(view, next.root)
	return c.descend()
}

// view is this node's pinned side of the realm, an empty one when it has none.
func (c *Core) view(s *session) *merkle.View {
	if m, ok := s.mine.Realm(s.realm); ok {
		return m.View
	}
	return merkle.New(c.cfg.Fleet.Key, s.realm).View()
}

// descend asks for the next nodes that differ, until none does.
func (c *Core) descend() error {
	s := c.rec.session
	if s.asked = s.descent.Ask(wire.MaxPrefixes); len(s.asked) == 0 {
		return c.descended()
	}
	req := wire.NodesRequest{Realm: s.realm, Root: s.root, Prefixes: s.asked}
	c.ask(VerbNodes, c.cfg.Fleet.AppendNodesRequest(nil, &req), c.nodesAnswered)
	return nil
}

func (c *Core) nodesAnswered(s *session, in Replied) error {
	nodes, err := c.cfg.Fleet.ReadNodes(in.Data)
	if err != nil {
		return err
	}
	if nodes.Moved {
		c.endSession(resultMoved, "the member's root moved")
		return nil
	}
	if len(nodes.Nodes) > len(s.asked) || len(nodes.Nodes) == 0 {
		return fmt.Errorf("%w: %d nodes for %d prefixes", resource.ErrInvalid, len(nodes.Nodes), len(s.asked))
	}
	for i, n := range nodes.Nodes {
		switch err := s.descent.Answer(s.asked[i], n); {
		case errors.Is(err, merkle.ErrLimit):
			// What was found so far is true: exchange it and begin again.
			s.whole, s.again = false, true
			return c.descended()
		case err != nil:
			return fmt.Errorf("compare realm %q: %w", s.realm, err)
		}
	}
	return c.descend()
}

// descended sorts what differs into what to pull and what to push.
func (c *Core) descended() error {
	s := c.rec.session
	for _, d := range s.descent.Differences() {
		if !d.Remote.IsZero() && c.stillRefused(d.Key, d.Remote) {
			s.whole = false
			continue
		}
		if !d.Remote.IsZero() {
			s.remote[d.Key] = append(s.remote[d.Key], d.Remote)
			s.pull = appendKey(s.pull, d.Key)
		}
		if !d.Local.IsZero() {
			s.push = appendKey(s.push, d.Key)
		}
	}
	s.descent = nil
	return c.pullNext()
}

// appendKey appends a key once; keys come sorted.
func appendKey(keys []merkle.Key, k merkle.Key) []merkle.Key {
	if n := len(keys); n > 0 && keys[n-1] == k {
		return keys
	}
	return append(keys, k)
}
