package driftless

import (
	"context"
	"errors"
	"fmt"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// memberPause is the least time between two looks at the own Member record.
const memberPause = 2 * time.Second

// keepMember keeps this node's Member record, by which the others count it in:
// it writes it when it is absent or says something else, at the start and
// whenever the store has changed, until ctx ends. A person's word about it
// stands; conditions then tell.
func (n *Node) keepMember(ctx context.Context) error {
	for {
		changed, _ := n.store.Changed() // before the look: what comes after it is not missed
		n.tellRoster(ctx)
		held, err := n.writeMember(ctx)
		switch {
		case errors.Is(err, store.ErrFailed), errors.Is(err, store.ErrClosed), ctx.Err() != nil:
			return nil // whoever failed says so
		case err != nil:
			n.log.Warn("member record not written", "err", err)
		default:
			if was := n.memberHeld.Swap(&held); held != "" && (was == nil || *was != held) {
				n.log.Warn("member record not written", "reason", held)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Clock.After(memberPause):
		}
	}
}

// writeMember makes the Member record say what it should. held says who does
// not let it, "" when it does; retrying cures that only once the record has
// changed.
func (n *Node) writeMember(ctx context.Context) (held string, err error) {
	name := n.store.Identity().Instance.String()
	removed, err := replicate.SayMember(ctx, n.store, n.cfg.Name)
	held = "MemberHeld: this node's Member record says something else and is held"
	if removed {
		held = "MemberRemoved: this node is not in the roster: its Member record was removed"
	}
	for _, refusal := range []error{resource.ErrOutranked, resource.ErrFenced, resource.ErrOwnerConflict} {
		if errors.Is(err, refusal) {
			return fmt.Sprintf("%s (%v): driftless release member %s gives it back", held, err, name), nil
		}
	}
	return "", err
}

// tellRoster tells replication who the members are, so that whoever else can
// send heartbeats moves neither its clock nor its pace.
func (n *Node) tellRoster(ctx context.Context) {
	roster, err := replicate.ReadRoster(ctx, n.store, n.cfg.Name)
	if err != nil {
		n.log.Warn("roster not read", "err", err)
		return
	}
	n.replicator.SetRoster(roster)
}

// roster returns the live members by instance, with their names, this node
// included.
func (n *Node) roster(ctx context.Context) (map[resource.ID]string, error) {
	r, err := replicate.ReadRoster(ctx, n.store, n.cfg.Name)
	return r.Names, err
}
