package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"driftless.dev/resource"
)

// Query asks for a page of a kind's live resources.
type Query struct {
	Kind     string
	Scope    *resource.Scope // nil for every scope
	Selector resource.Selector
	// Name, when set, keeps resources of that name alone.
	Name string
	// Limit bounds the page, 0 for all; Continue is the last page's.
	Limit    int
	Continue string
	// Sound leaves out what is damaged instead of failing on it: for what must go
	// on without.
	Sound bool
}

// Page is a part of a listing. Continue is empty on the last.
type Page struct {
	Items    []resource.Resource
	Continue string
}

// chunk is how many names one read transaction walks: reads stay short.
const chunk = 512

// Query returns a page, by scope then name then id.
func (s *Store) Query(ctx context.Context, q Query) (Page, error) {
	k, err := s.resolveKind(q.Kind)
	if err != nil {
		return Page{}, err
	}
	if err := s.hidden("an item of the list"); err != nil && !q.Sound {
		return Page{}, err
	}
	prefix := kindPrefix(k.GroupKind())
	if q.Scope != nil {
		prefix = scopePrefix(k.GroupKind(), *q.Scope)
	}
	from := prefix
	if q.Continue != "" {
		if from, err = hex.DecodeString(q.Continue); err != nil || !bytes.HasPrefix(from, prefix) {
			return Page{}, fmt.Errorf("%w: continue token is not of this listing", resource.ErrInvalid)
		}
	}
	page := Page{}
	for from != nil {
		if err := ctx.Err(); err != nil {
			return Page{}, err
		}
		if from, err = s.queryChunk(&page, q, prefix, from); err != nil {
			return Page{}, err
		}
		if from != nil && q.Limit > 0 && len(page.Items) >= q.Limit {
			page.Continue = hex.EncodeToString(from)
			break
		}
	}
	return page, nil
}

// queryChunk reads up to chunk names and returns the key to go on from, nil at
// the end.
func (s *Store) queryChunk(page *Page, q Query, prefix, from []byte) (next []byte, err error) {
	err = s.engine.View(func(tx Tx) (err error) {
		walked := 0
		tx.Ascend(BucketNames, from, func(key, value []byte) bool {
			if !bytes.HasPrefix(key, prefix) {
				return false
			}
			if walked++; walked > chunk || q.Limit > 0 && len(page.Items) >= q.Limit {
				next = bytes.Clone(key)
				return false
			}
			err = s.queryRow(tx, page, q, key, value)
			return err == nil
		})
		return err
	})
	return next, err
}

func (s *Store) queryRow(tx Tx, page *Page, q Query, key, value []byte) error {
	if q.Name != "" {
		if _, _, name, _, ok := splitNameKey(key); !ok || name != q.Name {
			return nil
		}
	}
	rec, err := liveRow(s, tx, key, value)
	if q.Sound && errors.Is(err, ErrDamaged) {
		return nil
	}
	if err != nil || rec == nil {
		return err
	}
	if s.shown(rec) && q.Selector.Matches(rec.Desired.Value.Labels) {
		page.Items = append(page.Items, rec.Resource())
	}
	return nil
}
