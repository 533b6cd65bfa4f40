package replicate

import (
	"errors"
	"fmt"

	"driftless.dev/store"
	"driftless.dev/wire"
)

// ErrStale is why a state that is older than what the fleet has collected takes
// part in no exchange: joined as it is, it would bring deletes back.
var ErrStale = errors.New("this copy is older than what the fleet has collected")

// joinFloors makes the floors of the session's two sides one, before roots are
// compared or records flow, and goes on with compareRoots. A side that has not
// seen what the other's floor speaks of takes part in nothing but its own
// bootstrap.
func (c *Core) joinFloors(s *session) error {
	theirs, vector := storeFloor(s.theirs.Floor), storeVector(s.theirs.Vector)
	behind, ahead := !theirs.Under(s.mine.Vector), !s.mine.Floor.Under(vector)
	if p := c.members.peers[s.peer]; p != nil {
		p.Stale = ahead
	}
	switch {
	case ahead && !behind:
		c.endSession(resultStale, "")
		return nil
	case behind && !c.cfg.Rejoin && !c.now.Summary().Rejoin:
		c.rec.stale = fmt.Sprintf("%v: `driftless node rejoin` lets it take the fleet's state and keep its own unsent writes (or start with --rejoin auto)", ErrStale)
		c.endSession(resultStale, "")
		return nil
	case behind:
		s.boot = &store.Bootstrap{Vector: vector, Floor: theirs, From: s.peer}
		return c.compareRoots(s)
	}
	c.rec.stale = ""
	c.joined()
	if !s.mine.Floor.Reaches(theirs) {
		c.apply(store.Batch{Floor: theirs}, nil, func(s *session, _ Applied) error {
			s.mine = c.now.State()
			return c.raiseTheirs(s)
		})
		return nil
	}
	return c.raiseTheirs(s)
}

// joined notes that this state was compared with a member's as an equal: from
// then on it is one of the fleet, and a re-bootstrap is an operator's to allow.
func (c *Core) joined() {
	leave := c.now.Summary().Rejoin
	if leave && !c.rec.joined {
		c.emit(Joined{})
	}
	c.rec.joined = leave // told, until it is so: a leave given later ends in its turn
}

// raiseTheirs hands this side's floor to a member that has a lower one, which
// then says anew where it stands.
func (c *Core) raiseTheirs(s *session) error {
	if storeFloor(s.theirs.Floor).Reaches(s.mine.Floor) {
		return c.compareRoots(s)
	}
	if s.hellos++; s.hellos > maxHellos {
		c.endSession(resultMoved, "")
		return nil
	}
	p := wire.Push{From: c.cfg.Identity.Instance, FloorDigest: s.mine.Floor.Digest(), Floor: wireFloor(s.mine.Floor)}
	c.ask(VerbPush, c.cfg.Fleet.AppendPush(nil, &p), func(s *session, in Replied) error {
		if _, err := c.cfg.Fleet.ReadPushed(in.Data); err != nil {
			return err
		}
		c.ask(VerbHello, c.hello(s.peer), c.helloAnswered)
		return nil
	})
	return nil
}

// maxHellos bounds how often a session begins again because floors rise.
const maxHellos = 3

// bootstrapped ends a session that made this state a member's again: from here
// on it is one of the fleet, and offers what only it has.
func (c *Core) bootstrapped(s *session) error {
	c.apply(store.Batch{Adopt: s.boot.Vector, Floor: s.boot.Floor, Member: true}, nil, func(s *session, _ Applied) error {
		peer := s.peer
		c.rec.stale = ""
		c.counts.Bootstraps++
		c.endSession(resultRepaired, "")
		c.rec.ask(peer) // now as equals
		return nil
	})
	return nil
}
