package store

import (
	"errors"

	"driftless.dev/resource"
)

// SchemaViolation is a live record that its kind's schema, as it is now, would
// not admit: merged from a node that knew another schema, or older than it.
type SchemaViolation struct {
	Resource resource.Resource
	Err      error
}

// SchemaViolations lists them, up to limit. Admission is for local writes, so
// such records are served like any other; they are judged anew by every call.
func (s *Store) SchemaViolations(limit int) (out []SchemaViolation, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.eachLive(func(rec *resource.Record) bool {
		d := &rec.Desired.Value
		apiVersion := d.APIVersion
		if _, ok := s.registry.Lookup(apiVersion, rec.Kind.Kind); !ok {
			k, known := s.registry.LookupKind(rec.Kind) // another version serves it
			if !known {
				return true // parked
			}
			apiVersion = k.APIVersion
		}
		if err := s.registry.Validate(apiVersion, rec.Kind.Kind, d.Spec); errors.Is(err, resource.ErrInvalid) {
			out = append(out, SchemaViolation{Resource: rec.Resource(), Err: err})
		}
		return len(out) < limit
	})
	return out, err
}
