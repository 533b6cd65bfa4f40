package driftless

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// memberSpec is the spec of a Member record: one per instance, named by its
// id, written by the instance itself. The live ones are the fleet's roster.
type memberSpec struct {
	Name         string   `json:"name"`
	Incarnations []string `json:"incarnations"`
	Realms       []string `json:"realms"`
}

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
	held = "MemberHeld: this node's Member record says something else and is held"
	_, err = n.store.Update(ctx, resource.MemberKind, resource.Scope{}, name, n.sayMember, store.As(resource.System))
	if errors.Is(err, resource.ErrNotFound) {
		held = "MemberRemoved: this node is not in the roster: its Member record was removed"
		r := resource.Resource{APIVersion: resource.CoreGroupVersion, Kind: resource.MemberKind, Name: name}
		if err := n.sayMember(&r); err != nil {
			return "", err
		}
		_, err = n.store.Put(ctx, r, store.As(resource.System))
	}
	for _, refusal := range []error{resource.ErrOutranked, resource.ErrFenced, resource.ErrOwnerConflict} {
		if errors.Is(err, refusal) {
			return fmt.Sprintf("%s (%v): driftless release member %s gives it back", held, err, name), nil
		}
	}
	return "", err
}

// sayMember writes what this node is into its Member record, or leaves one
// that says so.
func (n *Node) sayMember(r *resource.Resource) error {
	inc := n.store.Identity().Incarnation.String()
	want := memberSpec{Name: n.cfg.Name, Realms: []string{"*"}, Incarnations: []string{inc}}
	if had, err := resource.DecodeSpec[memberSpec](*r); err == nil {
		if slices.Contains(had.Incarnations, inc) {
			want.Incarnations = had.Incarnations
		} else {
			want.Incarnations = append(had.Incarnations, inc)
		}
		if reflect.DeepEqual(had, want) {
			return resource.ErrSkipUpdate
		}
	}
	var err error
	r.Spec, err = resource.EncodeSpec(want)
	return err
}

// tellRoster tells replication who the members are, so that whoever else can
// send heartbeats moves neither its clock nor its pace.
func (n *Node) tellRoster(ctx context.Context) {
	roster, err := n.roster(ctx)
	if err != nil {
		n.log.Warn("roster not read", "err", err)
		return
	}
	n.replicator.SetRoster(slices.Collect(maps.Keys(roster)))
}

// roster returns the live members by instance, with their names, this node
// included.
func (n *Node) roster(ctx context.Context) (map[resource.ID]string, error) {
	members, err := n.store.List(ctx, resource.MemberKind, resource.Scope{}, nil)
	if err != nil {
		return nil, err
	}
	out := map[resource.ID]string{n.store.Identity().Instance: n.cfg.Name}
	for _, m := range members {
		id, err := resource.ParseID(m.Name)
		if err != nil {
			continue // not written by a node: nobody to wait for
		}
		spec, err := resource.DecodeSpec[memberSpec](m)
		if err != nil || spec.Name == "" {
			spec.Name = m.Name
		}
		out[id] = spec.Name
	}
	return out, nil
}
