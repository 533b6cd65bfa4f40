package resource

import (
	"maps"
	"slices"
	"time"
)

// Clone returns a copy that shares no memory with r.
func (r Resource) Clone() Resource {
	r.Labels, r.Annotations = maps.Clone(r.Labels), maps.Clone(r.Annotations)
	r.Spec, r.Status = slices.Clone(r.Spec), slices.Clone(r.Status)
	r.Finalizers, r.OwnerReferences = slices.Clone(r.Finalizers), slices.Clone(r.OwnerReferences)
	for _, t := range [...]**time.Time{&r.DeletionTimestamp, &r.ValidFrom, &r.ValidTo} {
		if *t != nil {
			at := **t
			*t = &at
		}
	}
	return r
}
