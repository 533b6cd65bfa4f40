package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"driftless.dev/client"
	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// remote is a node over HTTP.
type remote struct {
	client  *client.Client
	target  target
	timeout time.Duration
}

var _ node = (*remote)(nil)

// connect finds the node. Nothing is sent yet.
func (a *app) connect() (node, error) {
	t, err := a.find.find()
	if err != nil {
		return nil, &usageError{"driftless", err}
	}
	o := client.Options{Node: t.url, Token: t.token, Timeout: a.timeout}
	if a.insecure {
		a.warn("the node's certificate is not verified (--insecure-skip-tls-verify): whoever is on the way can read and change everything")
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	if a.timeout <= 0 {
		return nil, misuse("driftless", "--timeout %s: want more than nothing", a.timeout)
	}
	c, err := client.New(o)
	if err != nil {
		return nil, &usageError{"driftless", fmt.Errorf("%s: %w", t.from, err)}
	}
	a.closers = append(a.closers, c.Close)
	return &remote{c, t, a.timeout}, nil
}

// open connects and reads the kinds.
func (a *app) open(ctx context.Context) (node, kindSet, error) {
	n, err := a.connect()
	if err != nil {
		return nil, kindSet{}, err
	}
	kinds, err := n.Kinds(ctx)
	if err != nil {
		return nil, kindSet{}, fail("read kinds", err)
	}
	return n, newKindSet(kinds), nil
}

// told tells a node that refused from one that was not reached, or is none.
func (r *remote) told(err error) error {
	_, answered := errors.AsType[*client.Error](err)
	switch {
	case err == nil || answered:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &unreachableError{r.target, fmt.Errorf("no answer within %s", r.timeout)}
	case errors.Is(err, client.ErrProtocol):
		return &unreachableError{r.target, fmt.Errorf("what answers is no driftless node: %w", err)}
	case strings.Contains(err.Error(), "malformed HTTP") && strings.Contains(err.Error(), "server_id"): // its greeting
		return &unreachableError{r.target, errors.New("that is a NATS server, not a node's API")}
	case strings.Contains(err.Error(), "readLoopPeekFailLocked: %!w(<nil>)"): // net/http heard it before it had asked
		return &unreachableError{r.target, errors.New("what is there speaks unasked, as a NATS server does, and a node's API does not")}
	case errors.Is(err, client.ErrUnreachable):
		return &unreachableError{r.target, errors.New(cause(err))}
	}
	return err
}

// cause is what the connection said. Of a dial the client's next steps are left
// out, as this program has its own; of what came after, they say whether the
// call may have been carried out.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return op.Error()
	}
	return strings.TrimPrefix(err.Error(), client.ErrUnreachable.Error()+": ")
}

// problemOf is what a node answered, if it did.
func problemOf(err error) (fleet.Problem, bool) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return fleet.Problem{}, false
	}
	return e.Problem, true
}

func isNotFound(err error) bool { return errors.Is(err, resource.ErrNotFound) }

func (at address) target() client.Target {
	return client.Target{ID: at.id, Kind: at.kind, Scope: at.scope, Name: at.name}
}

// Kinds returns the registered kinds.
func (r *remote) Kinds(ctx context.Context) ([]resource.Kind, error) {
	return told(r, func() ([]resource.Kind, error) { return r.client.Kinds(ctx) })
}

// Get returns a live record.
func (r *remote) Get(ctx context.Context, at address) (resource.Resource, error) {
	return told(r, func() (resource.Resource, error) {
		if at.id != "" {
			return r.client.GetByID(ctx, at.id)
		}
		return r.client.Get(ctx, at.kind, at.scope, at.name)
	})
}

// List returns what a query finds.
func (r *remote) List(ctx context.Context, q query) ([]resource.Resource, error) {
	return told(r, func() ([]resource.Resource, error) {
		return r.client.List(ctx, client.Query{Kind: q.kind, Scope: q.scope, Selector: q.selector, Name: q.name})
	})
}

// Conflicts returns the names that several live records claim.
func (r *remote) Conflicts(ctx context.Context) (fleet.List[fleet.NameConflict], error) {
	return told(r, func() (fleet.List[fleet.NameConflict], error) { return r.client.Conflicts(ctx) })
}

// Ledger returns the versions that lost a conflict.
func (r *remote) Ledger(ctx context.Context, q lossQuery) (out fleet.List[fleet.Loss], err error) {
	all := r.client.Ledger(ctx, client.LedgerQuery{ID: q.id, Kind: q.kind, Scope: q.scope, Name: q.name, Reason: q.reason, Full: q.full})
	for l, err := range all {
		if err != nil {
			return out, r.told(err)
		}
		if out.Truncated = q.limit > 0 && len(out.Items) == q.limit; out.Truncated {
			break
		}
		out.Items = append(out.Items, l)
	}
	return out, nil
}

// Loss returns an entry of the ledger.
func (r *remote) Loss(ctx context.Context, entry string) (fleet.Loss, error) {
	return told(r, func() (fleet.Loss, error) { return r.client.Loss(ctx, entry) })
}

// Parked returns the records whose kind is not known.
func (r *remote) Parked(ctx context.Context) (fleet.List[resource.Resource], error) {
	return told(r, func() (fleet.List[resource.Resource], error) { return r.client.Parked(ctx) })
}

// Snapshot streams a snapshot file.
func (r *remote) Snapshot(ctx context.Context, w io.Writer) error {
	return r.told(r.client.Snapshot(ctx, w))
}

// Fsck has the node check its store.
func (r *remote) Fsck(ctx context.Context, repair bool) (fleet.Fsck, error) {
	return told(r, func() (fleet.Fsck, error) { return r.client.Fsck(ctx, repair) })
}

// Repair has the node take from a member what is damaged there.
func (r *remote) Repair(ctx context.Context, from string) (fleet.Repair, error) {
	return told(r, func() (fleet.Repair, error) { return r.client.Repair(ctx, from) })
}

// Info returns the node's account of itself.
func (r *remote) Info(ctx context.Context) (fleet.Node, error) {
	return told(r, func() (fleet.Node, error) { return r.client.Node(ctx) })
}

// Collection returns how far the collection of tombstones is.
func (r *remote) Collection(ctx context.Context) (fleet.Collection, error) {
	return told(r, func() (fleet.Collection, error) { return r.client.Collection(ctx) })
}

// Rejoin lets the node take the fleet's state.
func (r *remote) Rejoin(ctx context.Context) (fleet.Node, error) {
	return told(r, func() (fleet.Node, error) { return r.client.Rejoin(ctx) })
}

// Reidentify makes the node a member of its own.
func (r *remote) Reidentify(ctx context.Context) (fleet.Node, error) {
	return told(r, func() (fleet.Node, error) { return r.client.Reidentify(ctx) })
}

// RepairClock gives writes of a clock that ran ahead new times.
func (r *remote) RepairClock(ctx context.Context) (fleet.Node, error) {
	return told(r, func() (fleet.Node, error) { return r.client.RepairClock(ctx) })
}

// Fleet returns the members as heartbeats told of them.
func (r *remote) Fleet(ctx context.Context) (fleet.Fleet, error) {
	return told(r, func() (fleet.Fleet, error) { return r.client.Fleet(ctx) })
}

// Check has every member asked now.
func (r *remote) Check(ctx context.Context) (fleet.Fleet, error) {
	return told(r, func() (fleet.Fleet, error) { return r.client.FleetCheck(ctx) })
}

// Wait waits until the fleet has converged, or returns where it stands when
// the time is over.
func (r *remote) Wait(ctx context.Context, timeout time.Duration) (fleet.Fleet, error) {
	f, err := r.client.FleetWait(ctx, timeout)
	if p, ok := problemOf(err); ok && p.Code == fleet.CodeTimeout {
		if f.Reason == "" {
			f.Reason = p.Detail
		}
		return f, nil
	}
	return f, r.told(err)
}

// told makes a call and says what its error means.
func told[T any](r *remote, call func() (T, error)) (T, error) {
	v, err := call()
	return v, r.told(err)
}
