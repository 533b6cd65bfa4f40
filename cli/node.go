package cli

import (
	"context"
	"io"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// node is what the commands ask of a node.
type node interface {
	Kinds(ctx context.Context) ([]resource.Kind, error)
	Get(ctx context.Context, at address) (resource.Resource, error)
	List(ctx context.Context, q query) ([]resource.Resource, error)

	// Put writes a record. An address without a name and an id creates one.
	Put(ctx context.Context, at address, want resource.Resource, o writeOptions) (written, error)
	// PutStatus writes a record's status alone, nil clears it.
	PutStatus(ctx context.Context, id string, status []byte, o writeOptions) (written, error)
	Delete(ctx context.Context, at address, o writeOptions) (written, error)
	Teardown(ctx context.Context, at address, o writeOptions) (written, error)
	Release(ctx context.Context, at address, o writeOptions) (written, error)
	Claim(ctx context.Context, at address, o writeOptions) (written, error)

	Conflicts(ctx context.Context) (fleet.List[fleet.NameConflict], error)
	// Ledger lists what lost.
	Ledger(ctx context.Context, q lossQuery) (fleet.List[fleet.Loss], error)
	// Loss is one entry, whole; the beginning of its name will do.
	Loss(ctx context.Context, entry string) (fleet.Loss, error)
	Parked(ctx context.Context) (fleet.List[resource.Resource], error)

	Info(ctx context.Context) (fleet.Node, error)
	Collection(ctx context.Context) (fleet.Collection, error)
	Rejoin(ctx context.Context) (fleet.Node, error)
	Reidentify(ctx context.Context) (fleet.Node, error)
	RepairClock(ctx context.Context) (fleet.Node, error)
	// Snapshot streams a snapshot file.
	Snapshot(ctx context.Context, w io.Writer) error
	Fsck(ctx context.Context, repair bool) (fleet.Fsck, error)
	Repair(ctx context.Context, from string) (fleet.Repair, error)
	Fleet(ctx context.Context) (fleet.Fleet, error)
	Check(ctx context.Context) (fleet.Fleet, error)
	// Wait waits until the fleet has converged or the time is over, and returns
	// the last verdict.
	Wait(ctx context.Context, timeout time.Duration) (fleet.Fleet, error)
}

// address is a record's id, or its kind, scope and name.
type address struct {
	id    string
	kind  string
	scope resource.Scope
	name  string
}

// query asks for the records of a kind; scope is nil for every scope.
type query struct {
	kind     string
	scope    *resource.Scope
	selector string
	name     string
}

// lossQuery asks for entries of the ledger. full has the versions themselves in
// them; limit 0 is all.
type lossQuery struct {
	id, kind, name, reason string
	scope                  *resource.Scope
	full                   bool
	limit                  int
}

// writeOptions are what every write may say.
type writeOptions struct {
	actor       resource.Actor
	owner       string
	epoch       resource.Epoch
	wait        string
	waitTimeout time.Duration
	dryRun      bool
	// ifMatch is the digest that the record must have.
	ifMatch string
}

// written is what a write came to.
type written struct {
	resource resource.Resource
	created  bool
	epoch    resource.Epoch
	waited   waited
}
