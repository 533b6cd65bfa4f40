package resource

import (
	"encoding/json"
	"fmt"
	"time"

	"driftless.dev/hlc"
)

// Actor is who authored a write. It decides precedence: a person's write
// outranks an automated one, whatever the clocks.
type Actor uint8

// The actors. Agent and system rank alike.
const (
	Agent Actor = iota
	System
	Human
)

// Resource is the universal record as programs and people see it. Fields up to
// Status are the caller's; the Envelope is the system's, except Finalizers,
// OwnerReferences, ValidFrom and ValidTo.
//
// A Resource returned by this project is the caller's to change: it shares no
// memory with a store.
type Resource struct {
	APIVersion string
	Kind       string
	// ID is stable and global: a ULID assigned on create, or NameID for kinds
	// of identity "name".
	ID string
	// Name is unique per (Kind, Scope) as an address.
	Name string
	// GenerateName asks a create for Name = GenerateName + ID; it is never
	// stored, and Name wins over it.
	GenerateName string
	Scope        Scope
	Labels       map[string]string
	Annotations  map[string]string
	// Spec is the desired state and Status the observed one: canonical JSON,
	// nil when unset.
	Spec   json.RawMessage
	Status json.RawMessage
	// Owner names the controller that wrote the record first; automation
	// under another name is refused.
	Owner string
	Envelope
}

// Envelope is the metadata that every resource carries.
type Envelope struct {
	// SyncVersion counts writes and is the opt-in token of optimistic
	// concurrency; Version counts the writes that changed desired or observed.
	SyncVersion int64
	Version     int64
	// OriginInstanceID is the instance that created the record.
	OriginInstanceID string
	// UpdatedHLC, LastWriterID and WriterActor are one triple: the stamp of
	// desired or deletion, whichever is newer.
	UpdatedHLC   hlc.Timestamp
	LastWriterID string
	WriterActor  Actor
	// Deleted marks a tombstone: a deletion of strength "delete" is requested
	// and no finalizer stands.
	Deleted bool
	// Finalizers are sorted keys that must be removed before a deletion
	// completes.
	Finalizers []string
	// DeletionTimestamp is when the pending or completed deletion was
	// requested; nil when none is.
	DeletionTimestamp *time.Time
	// DeletionStrength is the strength of that request.
	DeletionStrength Strength
	OwnerReferences  []OwnerReference
	// ContentHash and SpecHash are hex SHA-256 (see Hash and SpecHash).
	ContentHash string
	SpecHash    string
	// Digest is the hex record digest: what replicas agree on, the ETag.
	Digest string
	// ValidFrom and ValidTo bound the half-open time in which the resource is
	// true in the world; nil means since creation and for ever.
	ValidFrom *time.Time
	ValidTo   *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time

	// Incarnation is the derived record incarnation: it changes when a record
	// returns after a deletion.
	Incarnation Point
	// Fence is the highest epoch that was ever claimed: what a write under a
	// token must carry.
	Fence Epoch
	// DesiredStamp, DeletionStamp and ObservedStamp are the registers' stamps,
	// zero when the register was never written. A caller that passes the
	// stamps it read back to Put has them compared (see SyncVersion).
	DesiredStamp  Stamp
	DeletionStamp Stamp
	ObservedStamp Stamp
}

// OwnerReference links a resource to one that owns it. ID and Incarnation
// address the owner; the names are for people.
type OwnerReference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
	ID         string `json:"id"`
	// Incarnation is the owner's record incarnation that is meant (zero for its
	// first), and Creation its creation stamp. The store fills both in when both
	// are zero and the owner is known there.
	Incarnation Point `json:"incarnation,omitzero"`
	Creation    Point `json:"creation,omitzero"`
	// Controller marks the one owner that manages this resource's lifecycle.
	Controller bool `json:"controller,omitempty"`
}

// Validate checks the id and that neither point is half of one.
func (o OwnerReference) Validate() error {
	if _, err := ParseID(o.ID); err != nil {
		return err
	}
	if !o.Incarnation.valid() || !o.Creation.valid() {
		return fmt.Errorf("%w: incarnation and creation are <hlc>@<writer>", ErrInvalid)
	}
	return nil
}

// GroupKind returns the resource's qualified kind.
func (r Resource) GroupKind() GroupKind {
	group, _ := SplitAPIVersion(r.APIVersion)
	return GroupKind{Group: group, Kind: r.Kind}
}

// Key returns the resource's logical key.
func (r Resource) Key() Key {
	return Key{Kind: r.GroupKind().String(), Scope: r.Scope, Name: r.Name}
}

// Terminating reports whether a deletion is requested and not complete.
func (r Resource) Terminating() bool { return r.DeletionTimestamp != nil && !r.Deleted }

// Controller returns the owner reference that manages the resource, if any.
func (r Resource) Controller() (OwnerReference, bool) {
	for _, o := range r.OwnerReferences {
		if o.Controller {
			return o, true
		}
	}
	return OwnerReference{}, false
}

// ValidAt reports whether the resource is true in the world at t. The interval
// is half-open, so adjacent ones tile without overlap.
func (r Resource) ValidAt(t time.Time) bool {
	from := r.CreatedAt
	if r.ValidFrom != nil {
		from = *r.ValidFrom
	}
	return !t.Before(from) && (r.ValidTo == nil || t.Before(*r.ValidTo))
}
