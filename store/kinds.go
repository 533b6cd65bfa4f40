package store

import (
	"fmt"
	"slices"

	"driftless.dev/resource"
)

// kindChange brings a Kind record's post-image into the registry once its
// transaction has committed: the kind that it served and the one that it
// serves, nil for none. Neither shares memory with the engine.
type kindChange struct{ was, is *resource.Kind }

func kindKind() resource.GroupKind {
	group, _ := resource.SplitAPIVersion(resource.CoreGroupVersion)
	return resource.GroupKind{Group: group, Kind: resource.KindKind}
}

// noteKind remembers that a Kind record changed, local or merged alike: kinds
// are data, replicated like everything else.
func (t *txn) noteKind(prev *stored, rec *resource.Record) {
	if rec.Kind != kindKind() {
		return
	}
	c := kindChange{is: kindOf(rec)}
	if prev != nil {
		c.was = kindOf(&prev.rec)
	}
	t.kinds = append(t.kinds, c)
}

// apply registers a live kind and unregisters a dead one. A merged kind whose
// schema does not compile here cannot be admitted against: its records stay
// parked, which the list of parked records shows.
func (c kindChange) apply(reg *resource.Registry) {
	if c.was != nil && (c.is == nil || c.was.APIVersion != c.is.APIVersion || c.was.Name != c.is.Name) {
		reg.Unregister(c.was.APIVersion, c.was.Name)
	}
	if c.is != nil && reg.Register(*c.is) != nil {
		reg.Unregister(c.is.APIVersion, c.is.Name)
	}
}

// kindOf reads the kind that a record serves, nil unless it is live. A peer's
// record of a core kind serves nothing: those come with the system.
func kindOf(rec *resource.Record) *resource.Kind {
	if rec.Deleted() {
		return nil
	}
	kind, err := resource.KindFromResource(rec.Resource())
	if err != nil || isCore(kind) {
		return nil
	}
	return &kind
}

func isCore(kind resource.Kind) bool {
	return slices.ContainsFunc(resource.CoreKinds(), func(core resource.Kind) bool { return core.GroupKind() == kind.GroupKind() })
}

// serves reports whether a version of a kind is registered once this
// transaction's own changes are.
func (t *txn) serves(apiVersion, name string) bool {
	for _, c := range slices.Backward(t.kinds) {
		if c.was != nil && c.was.APIVersion == apiVersion && c.was.Name == name {
			return c.is != nil
		}
	}
	_, ok := t.s.registry.Lookup(apiVersion, name)
	return ok
}

// admitKind holds a write of a Kind record to what every other kind relies on.
func admitKind(reg *resource.Registry, r *resource.Resource) error {
	kind, err := resource.KindFromResource(*r)
	if err != nil {
		return err
	}
	if r.Name != kind.RecordName() {
		return fmt.Errorf("%w: metadata.name of this kind must be %q", resource.ErrInvalid, kind.RecordName())
	}
	if isCore(kind) {
		return fmt.Errorf("%w: kind %s is built in", resource.ErrInvalid, kind.GroupKind())
	}
	for _, k := range reg.Kinds() {
		if k.APIVersion == kind.APIVersion && (k.Name == kind.Name) != (k.RecordName() == kind.RecordName()) {
			return fmt.Errorf("%w: record %q serves kind %s: neither name ever changes", resource.ErrInvalid, k.RecordName(), k.GroupKind())
		}
	}
	return reg.Check(kind)
}

// kindInUse refuses the deletion of the last version of a kind that has live
// records.
func (t *txn) kindInUse(rec *resource.Record) error {
	if rec.Kind != kindKind() {
		return nil
	}
	kind, err := resource.KindFromResource(rec.Resource())
	if err != nil {
		return nil // nothing can be of a kind that does not read
	}
	for _, k := range t.s.registry.Kinds() {
		if k.GroupKind() == kind.GroupKind() && k.APIVersion != kind.APIVersion && t.serves(k.APIVersion, k.Name) {
			return nil // another version goes on serving its records
		}
	}
	ids, err := liveNames(t.tx, kindPrefix(kind.GroupKind()))
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		return fmt.Errorf("%w: kind %s has %d live records: delete them first", resource.ErrInUse, kind.GroupKind(), len(ids))
	}
	return nil
}
