package store

import (
	"context"
	"errors"
	"fmt"

	"driftless.dev/resource"
)

func isNotFound(err error) bool { return errors.Is(err, resource.ErrNotFound) }

// Option adds to a write what a call seldom needs.
type Option func(*Write)

// As sets the author; without it a write is the agent's.
func As(a resource.Actor) Option { return func(w *Write) { w.Actor = a } }

// ByOwner sets the calling controller's name.
func ByOwner(name string) Option { return func(w *Write) { w.Owner = name } }

// UnderEpoch sets the holder's token.
func UnderEpoch(e resource.Epoch) Option { return func(w *Write) { w.Epoch = e } }

// Put creates or updates a resource, whole: nil finalizers, owners or status
// clear.
func (s *Store) Put(ctx context.Context, r resource.Resource, opts ...Option) (resource.Resource, error) {
	return s.do(ctx, Write{Op: OpPut, Resource: r}, opts)
}

// Delete asks for the deletion of an address.
func (s *Store) Delete(ctx context.Context, kind string, scope resource.Scope, name string, opts ...Option) error {
	_, err := s.do(ctx, Write{Op: OpDelete, Kind: kind, Scope: scope, Name: name}, opts)
	return err
}

func (s *Store) do(ctx context.Context, w Write, opts []Option) (resource.Resource, error) {
	for _, o := range opts {
		o(&w)
	}
	out, err := s.Write(ctx, w)
	return out.Resource, err
}

// maxAttempts bounds Update's retries: far beyond what contention makes, so
// that running out of it means something else is wrong.
const maxAttempts = 1000

// Update reads, applies mutate to a fresh copy and puts the result, again for
// as long as another write comes between, within a bound whose exhaustion is
// ErrConflict. mutate may run several times; its ErrSkipUpdate ends without a
// write.
func (s *Store) Update(ctx context.Context, kind string, scope resource.Scope, name string, mutate func(*resource.Resource) error, opts ...Option) (resource.Resource, error) {
	return s.update(ctx, func() (resource.Resource, error) { return s.Get(ctx, kind, scope, name) }, mutate, opts)
}

// UpdateByID is Update for a record's id.
func (s *Store) UpdateByID(ctx context.Context, id string, mutate func(*resource.Resource) error, opts ...Option) (resource.Resource, error) {
	return s.update(ctx, func() (resource.Resource, error) { return s.GetByID(ctx, id) }, mutate, opts)
}

func (s *Store) update(ctx context.Context, read func() (resource.Resource, error), mutate func(*resource.Resource) error, opts []Option) (resource.Resource, error) {
	var last error
	for range maxAttempts {
		r, err := read()
		if err != nil {
			return resource.Resource{}, err
		}
		asRead := r.Clone()
		switch err := mutate(&r); {
		case errors.Is(err, resource.ErrSkipUpdate):
			return asRead, nil
		case err != nil:
			return resource.Resource{}, err
		}
		out, err := s.Put(ctx, r, opts...)
		if !errors.Is(err, resource.ErrConflict) {
			return out, err
		}
		last = err
	}
	return resource.Resource{}, fmt.Errorf("update: %d attempts: %w", maxAttempts, last)
}

// OwnerGone reports whether a resource's controller owner is gone: a
// tombstone, terminating, or of another incarnation than the one meant. An
// owner that was never seen here is not gone: it may only be late. A resource
// without a controller owner is a root and never an orphan.
func (s *Store) OwnerGone(r resource.Resource) (gone bool, err error) {
	ref, ok := r.Controller()
	if !ok {
		return false, nil
	}
	id, err := resource.ParseID(ref.ID)
	if err != nil {
		return false, err
	}
	err = s.engine.View(func(tx Tx) error {
		st, err := lookup(s, tx, id)
		if err != nil {
			return err
		}
		// Known once and collected since: another life may stand under the id.
		ended := !ref.Creation.IsZero() && s.Floor().Covers(ref.Creation)
		switch {
		case st == nil:
			gone = ended
		default:
			later := ref.Creation.Compare(st.rec.Creation.Point()) < 0
			gone = st.rec.Requested() || !means(ref, &st.rec) || ended && later
		}
		return nil
	})
	return gone, err
}

// means reports whether a reference is to the owner's present incarnation. One
// that was written before the owner was known here names none. The first
// incarnation goes by the zero point, or by a creation stamp for people.
func means(ref resource.OwnerReference, owner *resource.Record) bool {
	now := owner.Incarnation()
	switch {
	case ref.Incarnation.IsZero() && ref.Creation.IsZero(), ref.Incarnation == now:
		return true
	default:
		return now.IsZero() && (ref.Incarnation == ref.Creation || ref.Incarnation == owner.Creation.Point())
	}
}

// Merge joins a resource of the foundation model, or one read from another
// store, by its envelope.
func (s *Store) Merge(ctx context.Context, remote resource.Resource) (Applied, error) {
	rec, err := resource.FromEnvelope(remote)
	if err != nil {
		return Applied{}, err
	}
	return s.Apply(ctx, Batch{Records: []Incoming{{Record: rec, From: rec.Creation.Origin}}})
}
