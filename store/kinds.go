package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"driftless.dev/resource"
)

func kindKind() resource.GroupKind {
	group, _ := resource.SplitAPIVersion(resource.CoreGroupVersion)
	return resource.GroupKind{Group: group, Kind: resource.KindKind}
}

// noteKind remembers that a Kind record changed, local or merged alike: kinds
// are data, replicated like everything else.
func (t *txn) noteKind(rec *resource.Record) {
	t.kindsChanged = t.kindsChanged || rec.Kind == kindKind()
}

// liveKinds reads what the live Kind records serve, in the order in which
// records hold a name: of two that cannot both be registered the first is, on
// every node alike, in whatever order they arrived. One that this version
// cannot read serves nothing, and its records stay parked; so does a damaged
// one, until it is repaired.
func liveKinds(s *Store, tx Tx) (kinds []resource.Kind, err error) {
	var rows []nameRow
	hidden := false
	defer func() { s.kindsHidden.Store(hidden) }()
	prefix := kindPrefix(kindKind())
	tx.Ascend(BucketNames, prefix, func(key, value []byte) bool {
		if !bytes.HasPrefix(key, prefix) {
			return false
		}
		row, bad := readNameRow(key, value)
		if s.noteDamage(BucketNames, key, bad); bad == nil {
			rows = append(rows, row)
		}
		hidden = hidden || bad != nil
		return true
	})
	slices.SortFunc(rows, nameRow.before)
	for _, row := range rows {
		if !row.live {
			continue
		}
		st, err := lookup(s, tx, row.id)
		if errors.Is(err, ErrDamaged) {
			hidden = true
			continue
		}
		if err != nil {
			return nil, err
		}
		if st == nil {
			s.damage.note(Damage{Bucket: BucketIDs, Key: row.id[:], Record: row.id, Reason: "kind record is named and not indexed"})
			hidden = true
			continue
		}
		if k := kindOf(&st.rec); k != nil {
			kinds = append(kinds, *k)
		}
	}
	return kinds, nil
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
func (t *txn) serves(apiVersion, name string) (bool, error) {
	if !t.kindsChanged {
		_, ok := t.s.registry.Lookup(apiVersion, name)
		return ok, nil
	}
	kinds, err := liveKinds(t.s, t.tx)
	return slices.ContainsFunc(append(kinds, resource.CoreKinds()...), func(k resource.Kind) bool {
		return k.APIVersion == apiVersion && k.Name == name
	}), err
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
		if k.GroupKind() != kind.GroupKind() || k.APIVersion == kind.APIVersion {
			continue
		}
		if serves, err := t.serves(k.APIVersion, k.Name); err != nil || serves {
			return err // another version goes on serving its records
		}
	}
	used, err := anyLive(t.tx, kindPrefix(kind.GroupKind()))
	if used {
		return fmt.Errorf("%w: kind %s has live records: delete them first", resource.ErrInUse, kind.GroupKind())
	}
	return err
}
