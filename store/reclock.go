package store

import (
	"errors"
	"fmt"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// ErrNotAhead is returned when no own write is stamped after the present.
var ErrNotAhead = errors.New("no write of this node's own is stamped after the present")

// reclock gives own writes that are stamped after the present new times, under
// a new incarnation that begins at the present. They keep their order and their
// distances as far as can be: the last of them was made now at the latest, so
// all are moved by as much as it lies ahead, and none to before what came
// earlier. The old stamps are void: no member with a sound clock has taken
// them, and their events are not handed out any more.
func (t *txn) reclock(now hlc.Timestamp) error {
	ahead, ids, err := t.aheadOf(now)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return fmt.Errorf("%w", ErrNotAhead)
	}
	keep, err := t.ownUpTo(now)
	if err != nil {
		return err
	}
	next, err := t.mint(false)
	if err != nil {
		return err
	}
	own := t.incarnations()
	times := newTimes(ahead, now, keep.HLC)
	// Nothing of the old incarnation is missing here up to its last stamp: a
	// floor may speak of that, and this state is not behind it.
	stands := keep
	stands.HLC = t.head.Own.HLC
	t.become(next, stands)
	t.setBack(max(now, keep.HLC, times[ahead[len(ahead)-1]]), own)
	for _, inc := range own {
		m := resource.Reissue{From: inc, To: next.Incarnation, After: now, Time: func(h hlc.Timestamp) hlc.Timestamp {
			if moved, ok := times[h]; ok {
				return moved
			}
			return now
		}}
		for _, id := range ids {
			if err := t.rewrite(id, m); err != nil {
				return err
			}
		}
	}
	return t.broken
}

// incarnations lists this store's, the present one first.
func (t *txn) incarnations() []resource.ID {
	out := []resource.ID{t.identity.Incarnation}
	for _, p := range t.s.past {
		out = append(out, p.Incarnation)
	}
	return out
}

// aheadOf lists the times of own stamps after the present, in order, and the
// records that carry them.
func (t *txn) aheadOf(now hlc.Timestamp) (times []hlc.Timestamp, ids []resource.ID, err error) {
	own := t.incarnations()
	t.tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		var st *stored
		if st, err = readStored(key, value); err != nil {
			return false
		}
		n := len(times)
		note := func(p resource.Point) {
			if p.HLC > now && slices.Contains(own, p.Writer) {
				times = append(times, p.HLC)
			}
		}
		for p := range st.rec.Points() {
			note(p)
		}
		for _, c := range contexts(&st.rec) {
			for _, p := range c {
				note(p)
			}
		}
		if len(times) > n {
			ids = append(ids, st.rec.ID)
		}
		return true
	})
	slices.Sort(times)
	return slices.Compact(times), ids, err
}

func contexts(r *resource.Record) []resource.Context {
	out := []resource.Context{r.Desired.Context}
	if r.Deletion != nil {
		out = append(out, r.Deletion.Context)
	}
	if r.Observed != nil {
		out = append(out, r.Observed.Context)
	}
	return out
}

// newTimes maps times after the present to times up to it.
func newTimes(ahead []hlc.Timestamp, now, least hlc.Timestamp) map[hlc.Timestamp]hlc.Timestamp {
	out := make(map[hlc.Timestamp]hlc.Timestamp, len(ahead))
	step := ahead[len(ahead)-1].Time().Sub(now.Time())
	for _, t := range ahead {
		least = max(hlc.At(t.Time().Add(-step).UnixMilli(), 0), least.Next())
		out[t] = least
	}
	return out
}

// ownUpTo is the last event of this incarnation that is not stamped after a
// moment.
func (t *txn) ownUpTo(now hlc.Timestamp) (Position, error) {
	low, high := uint64(0), t.head.Own.Seq // low is one, high+1 is none
	for low < high {
		mid := low + (high-low+1)/2
		p, err := ownAt(t.s, t.tx, t.head, t.identity.Incarnation, mid)
		if err != nil {
			return Position{}, err
		}
		if p.HLC <= now {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return ownAt(t.s, t.tx, t.head, t.identity.Incarnation, low)
}

// setBack sets the clock to the highest stamp that stays: others' included.
func (t *txn) setBack(to hlc.Timestamp, own []resource.ID) {
	t.tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		st, err := readStored(key, value)
		if err != nil {
			t.broken = err
			return false
		}
		for p := range st.rec.Points() {
			if !slices.Contains(own, p.Writer) && p.HLC > to {
				to = p.HLC
			}
		}
		return true
	})
	t.clockWas = t.s.clock.Last()
	t.s.clock.Reset(to)
	t.head.HLC = to
}
