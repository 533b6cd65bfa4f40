package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// shown reports whether reads see the record: it is live and its kind is known
// here. A record whose kind is not is parked: in the state and in the digest,
// hidden until the kind arrives.
func (s *Store) shown(r *resource.Record) bool {
	if r.Deleted() {
		return false
	}
	_, known := s.registry.LookupKind(r.Kind)
	return known
}

// Get returns the live resource of an address: the holder of the name.
func (s *Store) Get(ctx context.Context, kind string, scope resource.Scope, name string) (resource.Resource, error) {
	k, err := s.resolveKind(kind)
	if err != nil {
		return resource.Resource{}, err
	}
	return s.read(ctx, address{kind: k.GroupKind(), scope: scope, name: name})
}

// GetByID returns the live resource with an id.
func (s *Store) GetByID(ctx context.Context, id string) (resource.Resource, error) {
	parsed, err := resource.ParseID(id)
	if err != nil {
		return resource.Resource{}, err
	}
	return s.read(ctx, address{id: parsed})
}

func (s *Store) read(ctx context.Context, a address) (out resource.Resource, err error) {
	if err := ctx.Err(); err != nil {
		return resource.Resource{}, err
	}
	err = s.engine.View(func(tx Tx) error {
		id := a.id
		if id.IsZero() {
			n, ok, err := holder(tx, a.kind, a.scope, a.name)
			if err != nil {
				return err
			}
			if !ok || !n.live {
				if err := s.hidden(a.describe()); err != nil {
					return err
				}
				return fmt.Errorf("%w: %s", resource.ErrNotFound, a.describe())
			}
			id = n.id
		}
		st, err := lookup(s, tx, id)
		if err != nil {
			return err
		}
		if st == nil || !s.shown(&st.rec) {
			err := s.hidden(a.describe())
			if st != nil && !st.rec.Deleted() {
				err = s.hiddenKind()
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("%w: %s", resource.ErrNotFound, a.describe())
		}
		out = st.rec.Resource()
		return nil
	})
	return out, err
}

// GetResolved returns the most specific live resource of a name: the scope
// itself, then without the workspace, then without the project, then global.
func (s *Store) GetResolved(ctx context.Context, kind string, scope resource.Scope, name string) (resource.Resource, error) {
	scopes := [...]resource.Scope{
		scope, {Instance: scope.Instance, Project: scope.Project}, {Instance: scope.Instance}, {},
	}
	for i, sc := range scopes {
		if i > 0 && sc == scopes[i-1] {
			continue
		}
		r, err := s.Get(ctx, kind, sc, name)
		if !isNotFound(err) {
			return r, err
		}
	}
	return resource.Resource{}, fmt.Errorf("%w: %s %q in scope %s or a wider one", resource.ErrNotFound, kind, name, scope)
}

// List returns the live resources of a kind in a scope that the selector
// matches, by name.
func (s *Store) List(ctx context.Context, kind string, scope resource.Scope, sel resource.Selector) ([]resource.Resource, error) {
	p, err := s.Query(ctx, Query{Kind: kind, Scope: &scope, Selector: sel})
	return p.Items, err
}

// ListAll returns the live resources of a kind in every scope that the
// selector matches, by scope then name.
func (s *Store) ListAll(ctx context.Context, kind string, sel resource.Selector) ([]resource.Resource, error) {
	p, err := s.Query(ctx, Query{Kind: kind, Selector: sel})
	return p.Items, err
}

// AnyScopeGetter finds a name in any scope.
type AnyScopeGetter interface {
	GetAnyScope(ctx context.Context, kind, name string) (resource.Resource, bool, error)
}

// KeyLister lists addresses without reading records.
type KeyLister interface {
	ListKeys(ctx context.Context, kind string) ([]resource.Key, error)
}

var (
	_ AnyScopeGetter = (*Store)(nil)
	_ KeyLister      = (*Store)(nil)
)

// GetAnyScope returns the first live resource of a kind with a name, in scope
// order; found is false, with no error, when no scope has it.
func (s *Store) GetAnyScope(ctx context.Context, kind, name string) (r resource.Resource, found bool, err error) {
	p, err := s.Query(ctx, Query{Kind: kind, Name: name, Limit: 1})
	if err != nil || len(p.Items) == 0 {
		return resource.Resource{}, false, err
	}
	r, err = s.Get(ctx, kind, p.Items[0].Scope, name) // the holder, should several have it
	if isNotFound(err) {
		return resource.Resource{}, false, nil
	}
	return r, err == nil, err
}

// ListKeys returns the addresses of a kind's live resources, by scope then
// name, each once.
func (s *Store) ListKeys(ctx context.Context, kind string) (keys []resource.Key, err error) {
	k, err := s.resolveKind(kind)
	if err != nil {
		return nil, err
	}
	if err := s.hidden("a name of the list"); err != nil {
		return nil, err
	}
	prefix := kindPrefix(k.GroupKind())
	err = s.engine.View(func(tx Tx) (err error) {
		tx.Ascend(BucketNames, prefix, func(key, value []byte) bool {
			if !bytes.HasPrefix(key, prefix) {
				return false
			}
			var n nameRow
			if n, err = readNameRow(key, value); err != nil {
				return false
			}
			kind, scope, name, _, _ := splitNameKey(key)
			entry := resource.Key{Kind: kind, Scope: scope, Name: name}
			if n.live && (len(keys) == 0 || keys[len(keys)-1] != entry) {
				keys = append(keys, entry)
			}
			return ctx.Err() == nil
		})
		return cmp.Or(err, ctx.Err())
	})
	return keys, err
}

// Parked lists the live records whose kind is not known here, up to limit.
func (s *Store) Parked(limit int) (out []resource.Resource, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.eachLive(func(rec *resource.Record) bool {
		if _, known := s.registry.LookupKind(rec.Kind); !known {
			out = append(out, rec.Resource())
		}
		return len(out) < limit
	})
	return out, err
}

// eachLive calls fn for every live record, known kind or not, by kind, scope,
// name and id, until fn returns false. It goes in chunks, so that reads stay
// short; what is written meanwhile may be met or not.
func (s *Store) eachLive(fn func(*resource.Record) bool) error {
	var from []byte
	for more := true; more; {
		err := s.engine.View(func(tx Tx) (err error) {
			walked := 0
			more = false
			tx.Ascend(BucketNames, from, func(key, value []byte) bool {
				if walked++; walked > chunk {
					from, more = bytes.Clone(key), true
					return false
				}
				var rec *resource.Record
				if rec, err = liveRow(s, tx, key, value); err != nil {
					return false
				}
				return rec == nil || fn(rec)
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// liveRow reads the record of a names row, nil for a tombstone.
func liveRow(s *Store, tx Tx, key, value []byte) (*resource.Record, error) {
	n, err := readNameRow(key, value)
	if err != nil || !n.live {
		return nil, err
	}
	st, err := lookup(s, tx, n.id)
	if err != nil || st == nil {
		return nil, cmp.Or(err, fmt.Errorf("%w: record %s is named and missing", ErrDamaged, n.id))
	}
	return &st.rec, nil
}

// RecordsAt returns the records at placement keys of a realm, tombstones
// included, undecoded frames apart: what a peer pulls. Frames are the
// caller's; it stops before maxBytes are exceeded, after at least one.
func (s *Store) RecordsAt(realm string, places []merkle.Key, maxBytes int) (frames [][]byte, done int, err error) {
	size := 0
	err = s.engine.View(func(tx Tx) (err error) {
		for _, place := range places {
			prefix := recordKey(realm, place, resource.ID{})
			prefix = prefix[:len(prefix)-16]
			var found [][]byte
			tx.Ascend(BucketRecords, prefix, func(key, value []byte) bool {
				if !bytes.HasPrefix(key, prefix) {
					return false
				}
				var frame []byte
				if _, frame, err = readStoredHead(key, value); err != nil {
					return false
				}
				found = append(found, bytes.Clone(frame))
				return true
			})
			if err != nil {
				return err
			}
			for _, f := range found {
				size += len(f)
			}
			if size > maxBytes && len(frames) > 0 {
				return nil
			}
			frames = append(frames, found...)
			done++
		}
		return nil
	})
	return frames, done, err
}

// Record returns a record as it is replicated, tombstones and parked ones
// included; it owns its memory.
func (s *Store) Record(id string) (resource.Record, error) {
	parsed, err := resource.ParseID(id)
	if err != nil {
		return resource.Record{}, err
	}
	var frame []byte
	err = s.engine.View(func(tx Tx) error {
		st, err := lookup(s, tx, parsed)
		if err != nil {
			return err
		}
		if st == nil {
			return fmt.Errorf("%w: id %s", resource.ErrNotFound, id)
		}
		frame = st.rec.AppendTo(nil)
		return nil
	})
	if err != nil {
		return resource.Record{}, err
	}
	return resource.DecodeRecord(frame)
}
