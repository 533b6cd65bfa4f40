package driftless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// memberRetry is the wait before a refused write of the own Member record is
// tried again.
const memberRetry = 5 * time.Second

// keepMember writes this node's Member record when it says something else, so
// that the others count it in.
func (n *Node) keepMember(ctx context.Context) error {
	for {
		err := n.writeMember(ctx)
		switch {
		case err == nil:
			<-ctx.Done()
			return nil
		case errors.Is(err, store.ErrFailed), errors.Is(err, store.ErrClosed), ctx.Err() != nil:
			return nil // whoever failed says so
		}
		n.log.Warn("member record not written", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Clock.After(memberRetry):
		}
	}
}

func (n *Node) writeMember(ctx context.Context) error {
	id := n.store.Identity()
	spec := memberSpec{Name: n.cfg.Name, Realms: []string{"*"}}
	if r, err := n.store.Get(ctx, resource.MemberKind, resource.Scope{}, id.Instance.String()); err == nil {
		if had, err := resource.DecodeSpec[memberSpec](r); err == nil {
			spec.Incarnations = had.Incarnations
		}
	}
	if last := len(spec.Incarnations) - 1; last < 0 || spec.Incarnations[last] != id.Incarnation.String() {
		spec.Incarnations = append(spec.Incarnations, id.Incarnation.String())
	}
	body, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("encode member: %w", err)
	}
	_, err = n.store.Put(ctx, resource.Resource{
		APIVersion: resource.CoreGroupVersion, Kind: resource.MemberKind, Name: id.Instance.String(), Spec: body,
	}, store.As(resource.System))
	return err
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
