package store

import (
	"context"
	"errors"
	"fmt"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// ErrStalePeer is returned for a peer that may give back what was collected.
var ErrStalePeer = errors.New("peer is behind the collection floor")

// PutBack takes records from a peer for those that are damaged or missing here,
// and leaves all others to the ordinary merge. It goes past what the merge
// refuses, the floor's rule that a record which is absent was collected: so the
// peer's vector must cover this node's floor, else the peer may have what was
// collected here, and a tombstone below the floor stays gone. The records have
// passed Validate. It returns how many were put back.
func (s *Store) PutBack(ctx context.Context, records []Incoming, covers Vector) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var back []resource.ID
	err := s.commits.do(func(t *txn) error {
		back = nil
		if !t.floor.Under(covers) {
			return fmt.Errorf("%w: it has not seen all that was collected here: repair from another", ErrStalePeer)
		}
		for i := range records {
			rec := &records[i].Record
			prev, err := lookup(t.s, t.tx, rec.ID)
			switch {
			case err != nil && !errors.Is(err, ErrDamaged):
				t.broken = err
				return err
			case err == nil && prev != nil, Collected(rec, t.floor):
				continue
			}
			t.putBack(rec)
			back = append(back, rec.ID)
		}
		return t.broken
	})
	if err != nil {
		return 0, fmt.Errorf("put records back: %w", err)
	}
	for _, id := range back {
		s.damage.forget(id)
	}
	return len(back), nil
}

// putBack writes a record over whatever does not read of it.
func (t *txn) putBack(rec *resource.Record) {
	for p := range rec.Points() {
		t.s.clock.Observe(p.HLC)
	}
	t.project(nil, imageOf(rec), merged, nil, dot{})
	leaf := &t.leaves[len(t.leaves)-1]
	if have := t.s.leavesAt(leaf.realm, merkle.Place(&t.s.cfg.Secret, rec.ID)); len(have) == 1 {
		leaf.old = have[0]
	}
}
