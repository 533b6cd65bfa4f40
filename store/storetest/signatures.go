package storetest

import (
	"context"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// The foundation model's store, as its callers call it. Put and Delete take
// options after that.
type foundationStore interface {
	Get(ctx context.Context, kind string, scope resource.Scope, name string) (resource.Resource, error)
	GetByID(ctx context.Context, id string) (resource.Resource, error)
	List(ctx context.Context, kind string, scope resource.Scope, sel resource.Selector) ([]resource.Resource, error)
	ListAll(ctx context.Context, kind string, sel resource.Selector) ([]resource.Resource, error)
	GetAnyScope(ctx context.Context, kind, name string) (resource.Resource, bool, error)
	ListKeys(ctx context.Context, kind string) ([]resource.Key, error)
	Snapshot(ctx context.Context) error
	Close() error
}

var _ foundationStore = (*store.Store)(nil)

var _ = []any{
	func(ctx context.Context, s *store.Store, r resource.Resource) (resource.Resource, error) {
		return s.Put(ctx, r)
	},
	func(ctx context.Context, s *store.Store, kind string, scope resource.Scope, name string) error {
		return s.Delete(ctx, kind, scope, name)
	},
	func(ctx context.Context, s *store.Store, kind string, scope resource.Scope, name string, mutate func(*resource.Resource) error) (resource.Resource, error) {
		return s.Update(ctx, kind, scope, name, mutate)
	},
	func(ctx context.Context, s *store.Store, id string, mutate func(*resource.Resource) error) (resource.Resource, error) {
		return s.UpdateByID(ctx, id, mutate)
	},
}
