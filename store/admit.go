package store

import (
	"fmt"

	"driftless.dev/resource"
)

// address is what a write is about, once its kind is resolved.
type address struct {
	kind  resource.GroupKind
	scope resource.Scope
	name  string
	id    resource.ID
	// named is set for kinds whose ids are functions of their names.
	named bool
}

// admit judges what needs no stored state: names, labels, the kind and its
// schema. It runs in the caller's goroutine, outside the transaction.
func (s *Store) admit(w *Write) (address, error) {
	if w.Op != OpPut {
		return s.resolveAddress(w)
	}
	r := &w.Resource
	a := address{kind: r.GroupKind(), scope: r.Scope, name: r.Name, id: w.ID}
	if a.id.IsZero() && r.ID != "" {
		var err error
		if a.id, err = resource.ParseID(r.ID); err != nil {
			return address{}, err
		}
	}
	for _, check := range []func(*resource.Resource) error{validateNames, validateOwners, s.admitKind} {
		if err := check(r); err != nil {
			return address{}, err
		}
	}
	kind, known := s.registry.Lookup(r.APIVersion, r.Kind)
	a.named = kind.Identity == resource.IdentityName
	if _, served := s.registry.LookupKind(a.kind); !known && !served {
		if err := s.parkedAt(a); err != nil {
			return address{}, err
		}
	}
	if err := w.prepare(); err != nil {
		return address{}, err
	}
	return a, s.registry.ValidateCanonical(r.APIVersion, r.Kind, w.desired.Spec)
}

// parkedAt explains a write of an unknown kind to a name that a parked record
// holds.
func (s *Store) parkedAt(a address) error {
	return s.engine.View(func(tx Tx) error {
		if n, ok, err := holder(tx, a.kind, a.scope, a.name); err != nil {
			return err
		} else if ok && n.live {
			return fmt.Errorf("%w: no version of kind %s is known here yet: apply its kind first", resource.ErrParked, a.kind)
		}
		return nil
	})
}

func (s *Store) resolveAddress(w *Write) (address, error) {
	a := address{scope: w.Scope, name: w.Name, id: w.ID}
	if !a.id.IsZero() {
		return a, nil
	}
	kind, err := s.resolveKind(w.Kind)
	if err != nil {
		return address{}, err
	}
	a.kind = kind.GroupKind()
	if err := w.Scope.Validate(); err != nil {
		return address{}, err
	}
	return a, resource.ValidateName("name", w.Name)
}

func validateNames(r *resource.Resource) error {
	if r.APIVersion == "" || r.Kind == "" {
		return fmt.Errorf("%w: apiVersion and kind are required", resource.ErrInvalid)
	}
	if r.Name == "" && r.GenerateName == "" {
		return fmt.Errorf("%w: metadata.name or metadata.generateName is required", resource.ErrInvalid)
	}
	field, name := "metadata.name", r.Name
	if name == "" {
		field, name = "metadata.generateName", r.GenerateName
	}
	for _, err := range []error{
		resource.ValidateName(field, name), r.Scope.Validate(), resource.ValidateLabels(r.Labels),
		resource.ValidateAnnotations(r.Annotations), resource.ValidateFinalizers(r.Finalizers),
	} {
		if err != nil {
			return err
		}
	}
	if r.Owner != "" {
		return resource.ValidateName("metadata.owner", r.Owner)
	}
	return nil
}

func validateOwners(r *resource.Resource) error {
	controllers := 0
	for i, o := range r.OwnerReferences {
		if err := o.Validate(); err != nil {
			return fmt.Errorf("metadata.ownerReferences[%d]: %w", i, err)
		}
		if o.Controller {
			controllers++
		}
	}
	if controllers > 1 {
		return fmt.Errorf("%w: metadata.ownerReferences: %d controllers, at most one", resource.ErrInvalid, controllers)
	}
	return nil
}

func (s *Store) admitKind(r *resource.Resource) error {
	if r.GroupKind() == kindKind() {
		if err := admitKind(s.registry, r); err != nil {
			return err
		}
	}
	if k, ok := s.registry.Lookup(r.APIVersion, r.Kind); ok && k.Level == resource.LevelFleet && !r.Scope.IsGlobal() {
		return fmt.Errorf("%w: kind %s is fleet-level: it lives in the global scope only", resource.ErrInvalid, k.GroupKind())
	}
	return nil
}
