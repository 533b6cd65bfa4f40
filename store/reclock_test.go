package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// A node whose clock ran an hour ahead for a while: its writes of that time get
// times up to the present, in their order, and the clock follows.
func TestReclock_MovesWhatWasWrittenAhead(t *testing.T) {
	e := memory.NewEngine()
	wall := time.UnixMilli(1_800_000_000_000)
	s := notes(t, e, func(c *store.Config) { c.Wall = func() time.Time { return wall } })
	writeNote(t, s, "before", `{}`)
	before := s.Head()
	if err := s.Reincarnate(t.Context(), store.Reincarnation{Clock: hlc.At(wall.UnixMilli(), 0) + 1<<16}); !errors.Is(err, store.ErrNotAhead) {
		t.Errorf("nothing lies ahead: %v", err)
	}
	wall = wall.Add(time.Hour)
	for i := range 3 {
		wall = wall.Add(time.Second)
		writeNote(t, s, "before", fmt.Sprintf(`{"n":%d}`, i))
		writeNote(t, s, fmt.Sprint("ahead", i), `{}`)
	}
	if err := s.Delete(t.Context(), "Note", resource.Scope{}, "ahead0"); err != nil {
		t.Fatal(err)
	}
	wall = wall.Add(-time.Hour + time.Second)
	was := s.Identity()
	now := hlc.At(wall.UnixMilli(), 0)
	if err := s.Reincarnate(t.Context(), store.Reincarnation{Clock: now}); err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if s.Identity().Incarnation == was.Incarnation || s.State().Vector[was.Incarnation].Seq != before.Own.Seq {
		t.Errorf("identity %+v, the old incarnation at %+v, want %+v", s.Identity(), s.State().Vector[was.Incarnation], before.Own)
	}
	if last := s.Clock().Last(); last.Time().Sub(wall) > time.Second {
		t.Errorf("the clock stands at %s, the present is %s", last.Time(), wall)
	}
	var newest hlc.Timestamp
	for _, in := range outbox(t, s) {
		for p := range in.Record.Points() {
			newest = max(newest, p.HLC)
			if p.HLC > now+1<<20 {
				t.Errorf("event %d still carries %s", in.Event.Seq, p)
			}
		}
	}
	if r, err := s.Get(t.Context(), "Note", resource.Scope{}, "before"); err != nil || string(r.Spec) != `{"n":2}` {
		t.Errorf("got %s, %v", r.Spec, err)
	}
	reopened := open(t, e.Reopen(), func(c *store.Config) { c.Wall = func() time.Time { return wall } })
	if reopened.Clock().Last().Time().Sub(wall) > time.Second {
		t.Errorf("after a restart the clock stands at %s", reopened.Clock().Last().Time())
	}
	// A peer that never took them converges on the new ones.
	peer := open(t, memory.NewEngine())
	pull(t, peer, s)
	if peer.State().Super != s.State().Super {
		t.Error("the peer has something else")
	}
	writeNote(t, s, "after", `{}`)
	sound(t, s)
}

// The repair that does not reach the disk leaves the clock where it was.
func TestReclock_FailureLeavesTheClock(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	writeNote(t, s, "n", `{}`)
	last := s.Clock().Last()
	e.FailCommit(func() error { return store.ErrNoSpace })
	if err := s.Reincarnate(t.Context(), store.Reincarnation{Clock: 1 << 16}); !errors.Is(err, store.ErrNoSpace) {
		t.Fatalf("repair on a full disk: %v", err)
	}
	if s.Clock().Last() < last {
		t.Errorf("the clock went back to %s without a repair", s.Clock().Last())
	}
}
