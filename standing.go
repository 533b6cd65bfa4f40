package driftless

import (
	"context"
	"errors"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// evictPause is the time between two looks at who has been silent too long.
const evictPause = time.Minute

// evict takes members off the roster that have been silent for the horizon, so
// that they do not keep tombstones for ever. It needs a strict majority of the
// roster on this side, and never happens in a fleet of two, where each side
// would be as right as the other. A person may do it at any time: `driftless
// fleet remove`. Silence is counted from this process's start at the earliest.
func (n *Node) evict(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Clock.After(evictPause):
		}
		if n.cfg.Horizon < 0 {
			continue
		}
		roster, err := n.roster(ctx)
		if err != nil {
			continue // told by tellRoster
		}
		rep, _ := n.replicator.Status()
		for _, id := range silentTooLong(roster, &rep, n.store.Identity().Instance, n.started, n.cfg.Clock.Wall(), n.cfg.Horizon) {
			err := n.store.Delete(ctx, resource.MemberKind, resource.Scope{}, id.String(), store.As(resource.System))
			switch {
			case err == nil:
				n.log.Warn("member was silent past the horizon and is off the roster", "member", roster[id], "instance", id, "horizon", n.cfg.Horizon)
			case !errors.Is(err, resource.ErrNotFound) && ctx.Err() == nil:
				n.log.Warn("silent member not taken off the roster", "member", roster[id], "err", err)
			}
		}
	}
}

// silentTooLong lists the members to take off the roster, none without a strict
// majority of it alive on this side.
func silentTooLong(roster map[resource.ID]string, rep *replicate.Status, self resource.ID, started, now time.Time, horizon time.Duration) (out []resource.ID) {
	heard := map[resource.ID]time.Time{}
	alive := 1 // this one
	for _, p := range rep.Peers {
		heard[p.Instance] = p.LastHeard
		if _, ok := roster[p.Instance]; ok && p.State == replicate.Alive {
			alive++
		}
	}
	if len(roster) < 3 || 2*alive <= len(roster) {
		return nil
	}
	for id := range roster {
		last := heard[id]
		if last.Before(started) {
			last = started
		}
		if id != self && now.Sub(last) > horizon {
			out = append(out, id)
		}
	}
	return out
}

// Rejoin lets this node, whose copy is older than what the fleet has collected,
// take the fleet's state. Its own unsent writes are kept, or set aside in the
// ledger where their records have ended.
func (n *Node) Rejoin(context.Context) error { return n.store.AllowRejoin() }

// RepairClock gives what this node wrote while its clock ran ahead new times,
// up to the members' median, or to its own clock when that cannot be told.
func (n *Node) RepairClock(ctx context.Context) error {
	rep, _ := n.replicator.Status()
	now := n.cfg.Clock.Wall()
	if rep.ClockSure {
		now = now.Add(-rep.ClockOffset)
	}
	return n.store.Reincarnate(ctx, store.Reincarnation{Clock: hlc.At(now.UnixMilli(), 0)})
}

// ErrReidentified ends a node's Run after Reidentify: started again it is a
// member of its own.
var ErrReidentified = errors.New("this node has a new identity: start it again")

// Reidentify makes this copy a member of its own: a new instance, with what
// only this copy wrote as its own writes. Run ends with ErrReidentified.
func (n *Node) Reidentify(ctx context.Context) error {
	keep, err := n.replicator.Confirmed()
	if err != nil {
		return err
	}
	if err := n.store.Reincarnate(ctx, store.Reincarnation{Fork: true, Keep: keep, Instance: true}); err != nil {
		return err
	}
	select {
	case n.reidentified <- struct{}{}:
	default:
	}
	return nil
}
