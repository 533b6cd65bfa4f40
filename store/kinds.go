package store

import (
	"fmt"

	"driftless.dev/resource"
)

// kindChange brings a Kind record's post-image into the registry once its
// transaction has committed.
type kindChange struct{ record resource.Record }

func kindKind() resource.GroupKind {
	group, _ := resource.SplitAPIVersion(resource.CoreGroupVersion)
	return resource.GroupKind{Group: group, Kind: resource.KindKind}
}

// noteKind remembers that a Kind record changed, local or merged alike: kinds
// are data, replicated like everything else.
func (t *txn) noteKind(_ *stored, rec *resource.Record) {
	if rec.Kind == kindKind() {
		t.kinds = append(t.kinds, kindChange{record: *rec})
	}
}

// apply registers a live kind and unregisters a dead one. A merged kind whose
// schema does not compile here cannot be admitted against: its records stay
// parked, which the list of parked records shows.
func (k kindChange) apply(reg *resource.Registry) {
	kind, err := resource.KindFromResource(k.record.Resource())
	if err != nil {
		return
	}
	if k.record.Deleted() || reg.Register(kind) != nil {
		reg.Unregister(kind.APIVersion, kind.Name)
	}
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
	for _, core := range resource.CoreKinds() {
		if core.GroupKind() == kind.GroupKind() {
			return fmt.Errorf("%w: kind %s is built in", resource.ErrInvalid, kind.GroupKind())
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
		if k.GroupKind() == kind.GroupKind() && k.APIVersion != kind.APIVersion {
			return nil // another version goes on serving its records
		}
	}
	if ids := liveNames(t.tx, kindPrefix(kind.GroupKind())); len(ids) > 0 {
		return fmt.Errorf("%w: kind %s has %d live records: delete them first", resource.ErrInUse, kind.GroupKind(), len(ids))
	}
	return nil
}
