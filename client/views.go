package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// Node returns the node's account of itself.
func (c *Client) Node(ctx context.Context) (fleet.Node, error) {
	return read[fleet.Node](ctx, c, request{method: http.MethodGet, path: "/v1/node"})
}

// Fleet returns the members, as heartbeats told the node of them.
func (c *Client) Fleet(ctx context.Context) (fleet.Fleet, error) {
	return read[fleet.Fleet](ctx, c, request{method: http.MethodGet, path: "/v1/fleet"})
}

// FleetCheck has the node ask every member now.
func (c *Client) FleetCheck(ctx context.Context) (fleet.Fleet, error) {
	return read[fleet.Fleet](ctx, c, request{method: http.MethodPost, path: "/v1/fleet/check"})
}

// FleetWait waits until the fleet has converged. When it has not in time the
// error is context.DeadlineExceeded and the fleet says where the members
// stand. A timeout of 0 is the node's default.
func (c *Client) FleetWait(ctx context.Context, timeout time.Duration) (fleet.Fleet, error) {
	query := url.Values{"until": {"converged"}}
	if timeout > 0 {
		query.Set("timeout", timeout.String())
	}
	f, err := read[fleet.Fleet](ctx, c, request{method: http.MethodGet, path: "/v1/fleet/wait", query: query, extra: max(timeout, DefaultTimeout)})
	if e, ok := errors.AsType[*Error](err); ok && e.Fleet != nil {
		return *e.Fleet, err
	}
	return f, err
}

// Collection returns how far the collection of tombstones is.
func (c *Client) Collection(ctx context.Context) (fleet.Collection, error) {
	return read[fleet.Collection](ctx, c, request{method: http.MethodGet, path: "/v1/gc"})
}

// Rejoin, as a person, lets a node whose copy is older than what the fleet has
// collected take the fleet's state.
func (c *Client) Rejoin(ctx context.Context) (fleet.Node, error) {
	return c.asPerson(ctx, "/v1/node/rejoin")
}

// Reidentify, as a person, makes the node a member of its own. The node ends
// and is to be started again.
func (c *Client) Reidentify(ctx context.Context) (fleet.Node, error) {
	return c.asPerson(ctx, "/v1/node/reidentify")
}

// RepairClock, as a person, gives writes that the node made while its clock ran
// ahead new times.
func (c *Client) RepairClock(ctx context.Context) (fleet.Node, error) {
	return c.asPerson(ctx, "/v1/clock/repair")
}

func (c *Client) asPerson(ctx context.Context, path string) (fleet.Node, error) {
	return read[fleet.Node](ctx, c, request{method: http.MethodPost, path: path, person: true})
}

// Kinds returns the registered kinds, by apiVersion then name.
func (c *Client) Kinds(ctx context.Context) ([]resource.Kind, error) {
	l, err := view[resource.Kind](ctx, c, "/v1/kinds", nil)
	return l.Items, err
}

// Conflicts returns the names that several live records claim.
func (c *Client) Conflicts(ctx context.Context) (fleet.List[fleet.NameConflict], error) {
	return view[fleet.NameConflict](ctx, c, "/v1/conflicts", nil)
}

// Parked returns the records whose kind is not known to the node yet.
func (c *Client) Parked(ctx context.Context) (fleet.List[resource.Resource], error) {
	return view[resource.Resource](ctx, c, "/v1/parked", nil)
}

// Quarantine returns the records that the node refused.
func (c *Client) Quarantine(ctx context.Context) (fleet.List[fleet.Quarantined], error) {
	return view[fleet.Quarantined](ctx, c, "/v1/quarantine", nil)
}

func view[T any](ctx context.Context, c *Client, path string, query url.Values) (fleet.List[T], error) {
	return read[fleet.List[T]](ctx, c, request{method: http.MethodGet, path: path, query: query})
}

// Healthz returns an error when the node's process is not worth keeping.
func (c *Client) Healthz(ctx context.Context) error { return c.probe(ctx, "/healthz") }

// Readyz returns an error, with what is waited for, when the node is not
// ready.
func (c *Client) Readyz(ctx context.Context) error { return c.probe(ctx, "/readyz") }

func (c *Client) probe(ctx context.Context, path string) error {
	a, err := c.do(ctx, request{method: http.MethodGet, path: path})
	if a.status == http.StatusServiceUnavailable {
		return &Error{fleet.Problem{Title: "Service Unavailable", Status: a.status, Code: fleet.CodeUnavailable, Detail: strings.TrimSpace(string(a.body))}}
	}
	return err
}
