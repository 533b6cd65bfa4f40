package store

import (
	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// Op is what a write asks for.
type Op uint8

// The operations.
const (
	// OpPut creates or updates desired, finalizers and, unless left out, status.
	OpPut Op = iota
	// OpStatus writes observed alone.
	OpStatus
	// OpDelete asks for a deletion that completes once no finalizer stands.
	OpDelete
	// OpTeardown asks for a deletion that waits for OpDestroy.
	OpTeardown
	// OpDestroy completes a teardown; it is refused while a finalizer stands.
	OpDestroy
	// OpRelease gives the record back to automation; for people only.
	OpRelease
	// OpClaim raises the epoch for a new holder.
	OpClaim
)

// Write is a mutation that is asked for and not judged yet. The record is
// addressed by ID when that is set, else by kind, scope and name.
type Write struct {
	Op Op
	ID resource.ID
	// Kind is a kind's name in any form that the registry resolves; OpPut goes
	// by the resource's apiVersion and kind instead.
	Kind  string
	Scope resource.Scope
	Name  string
	// Resource is what OpPut and OpStatus write. Its own SyncVersion and
	// stamps, when set, must match what is stored.
	Resource resource.Resource
	// Given, when set, tells which parts the caller named; the others stay as
	// they are. Without it the resource is whole, and absent parts clear.
	Given *resource.Given

	// Actor is the authenticated caller's; Owner its controller name; Epoch
	// its holder's token.
	Actor resource.Actor
	Owner string
	Epoch resource.Epoch
	// IfDigest, when set, must be the stored record's digest in hex.
	IfDigest string
	// CreateOnly refuses a name that is taken.
	CreateOnly bool
	// DryRun judges the write and returns what it would store, without storing
	// it.
	DryRun bool

	// desired and status are the resource's canonical parts, made once, by the
	// caller's goroutine: the transaction that all writers share must not wait
	// for one of them to parse JSON.
	prepared bool
	desired  resource.Desired
	status   []byte
}

// prepare makes the canonical parts of what is to be written.
func (w *Write) prepare() (err error) {
	if w.prepared {
		return nil
	}
	if w.Op == OpPut {
		if w.desired, err = resource.Desire(w.Resource); err != nil {
			return err
		}
	}
	if w.status, err = resource.CanonicalStatus(w.Resource.Status); err != nil {
		return err
	}
	w.prepared = true
	return nil
}

// Written is what a write came to.
type Written struct {
	Resource resource.Resource
	// Seq is the log's sequence after the write, and HLC its stamp; for a
	// write that changed nothing they are the record's last.
	Seq uint64
	HLC hlc.Timestamp
	// Incarnation and OriginSeq are the dot of the event, zero when no event
	// was written.
	Incarnation resource.ID
	OriginSeq   uint64
	// Created tells a create (or a return after a deletion) from an update,
	// Changed whether an event was written.
	Created, Changed bool
}
