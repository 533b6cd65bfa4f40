// Package api is the HTTP face of a node: resources, views of the node and the
// fleet, health and metrics.
//
// One table (routes.go) says what there is; the mux, the strictness about
// query parameters, the metrics' labels and the OpenAPI document all come from
// it. A request passes one chain of steps (endpoint.go), and every refusal is
// one problem+json document (problem.go).
package api

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/store"
	"github.com/prometheus/client_golang/prometheus"
)

// Node is what the API serves.
type Node interface {
	// Store is the node's copy of the records.
	Store() *store.Store
	// Info is the node's account of itself.
	Info() fleet.Node
	// Fleet is the node's view of all members. With ask every member is asked
	// now, else it is what heartbeats told.
	Fleet(ctx context.Context, ask bool) (fleet.Fleet, error)
	// Wait returns when a write is where the concern wants it, or when ctx
	// ends: the result says how far it came.
	Wait(ctx context.Context, concern Concern, w store.Written) WaitResult
	// Ready reports whether the node is ready and, if not, what it waits for.
	Ready() (ready bool, waiting string)
	// Collection is how far the collection of tombstones is.
	Collection() fleet.Collection
	// Rejoin lets the node take the fleet's state for its own, older one;
	// Reidentify makes it a member of its own, which takes a restart.
	Rejoin(context.Context) error
	Reidentify(context.Context) error
	// RepairClock gives writes of a clock that ran ahead new times.
	RepairClock(context.Context) error
}

// Observer counts what the API did.
type Observer interface {
	// Wrote counts a write by operation (Ops) and result (Results).
	Wrote(op, result string)
	// Served counts a request. route is a pattern of the route table or
	// "other", and method one of HTTP's or "OTHER".
	Served(route, method string, code int, took time.Duration)
}

// Config is what a server is made of. Node is required.
type Config struct {
	Node Node
	// Tokens are the callers; without any, a caller on the loopback interface
	// or the Unix socket is believed to be whom it says.
	Tokens []Token
	// TLS, when set, is served. With RequireAndVerifyClientCert a certificate
	// authenticates a caller, as an agent or the system: speaking for a person
	// takes a token.
	TLS *tls.Config
	// Hosts are further values of the Host header to accept, beside the
	// loopback names and the address that the connection came to; "*" accepts
	// any.
	Hosts []string
	// Codes gives stable codes (fleet.Code…) to errors of the node's other
	// parts, such as the guard of its clock.
	Codes map[error]string
	// Logger gets one line for each failure that is the node's own; nil
	// discards.
	Logger *slog.Logger
	// Repair takes from a member, by name or instance id, the records that are
	// damaged or missing here; nil offers no repair.
	Repair func(ctx context.Context, member string) (fleet.Repair, error)
	// Registry is what /metrics gathers; nil has no metrics.
	Registry prometheus.Gatherer
	// Observer may be nil.
	Observer Observer
	// MaxBody bounds a request's body; 0 is DefaultMaxBody.
	MaxBody int64
	// Now measures how long requests take; nil is time.Now, which clock steps
	// do not disturb.
	Now func() time.Time
}

// DefaultMaxBody leaves room for a record of the largest size in JSON.
const DefaultMaxBody = 9 << 20
