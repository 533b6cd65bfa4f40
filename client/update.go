package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"driftless.dev/resource"
)

// Bounds of Update: far beyond what contention makes, so that running out of
// attempts means something else is wrong.
const (
	maxAttempts = 100
	maxPause    = 25 * time.Millisecond
)

// Update reads, applies mutate to a fresh copy and puts the result, again for
// as long as another write comes between, within a bound whose exhaustion is
// resource.ErrConflict. mutate may run several times; its
// resource.ErrSkipUpdate ends without a write. The record is written whole:
// finalizers and owner references that mutate removes are gone. The client's
// own IfMatch is not looked at.
func (c *Client) Update(ctx context.Context, t Target, mutate func(*resource.Resource) error) (Written, error) {
	var last error
	for attempt := range maxAttempts {
		if err := pause(ctx, attempt); err != nil {
			return Written{}, err
		}
		r, err := c.read(ctx, t)
		if err != nil {
			return Written{}, err
		}
		digest, asRead := r.Digest, r.Clone()
		switch err := mutate(&r); {
		case errors.Is(err, resource.ErrSkipUpdate):
			return Written{Resource: asRead}, nil
		case err != nil:
			return Written{}, err
		}
		w, err := c.replace(ctx, t, r, digest)
		if !errors.Is(err, resource.ErrConflict) {
			return w, err
		}
		last = err
	}
	return Written{}, fmt.Errorf("update: %d attempts: %w", maxAttempts, last)
}

func (c *Client) read(ctx context.Context, t Target) (resource.Resource, error) {
	if t.ID != "" {
		return c.GetByID(ctx, t.ID)
	}
	return c.Get(ctx, t.Kind, t.Scope, t.Name)
}

// replace puts a record whole, if it still has the digest.
func (c *Client) replace(ctx context.Context, t Target, r resource.Resource, digest string) (Written, error) {
	call := c.call
	call.IfMatch, call.IfNoneMatch = digest, false
	if r.Finalizers == nil {
		r.Finalizers = []string{}
	}
	if r.OwnerReferences == nil {
		r.OwnerReferences = []resource.OwnerReference{}
	}
	if t.ID != "" {
		return c.With(call).PutByID(ctx, t.ID, r)
	}
	return c.With(call).Put(ctx, r)
}

// pause spreads those who retry.
func pause(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return nil
	}
	limit := min(time.Duration(attempt)*5*time.Millisecond, maxPause)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(limit)):
		return nil
	}
}
