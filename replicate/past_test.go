package replicate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// enroll makes all rigs members of the roster, on every rig.
func (w *world) enroll(rigs ...*rig) {
	roster := replicate.Roster{Names: map[resource.ID]string{}}
	for _, r := range rigs {
		roster.Names[r.store.Identity().Instance] = r.name
	}
	for _, r := range w.rigs {
		r.core.SetRoster(roster)
	}
}

// restart begins a rig's next life over an engine.
func (w *world) restart(r *rig, e *memory.Engine, tune ...func(*replicate.Config)) {
	w.t.Helper()
	var err error
	r.engine = e
	r.store, err = store.Open(e, store.Config{Wall: r.wall, Secret: r.fleet.Key, Random: rand.NewChaCha8([32]byte{r.name[0], 1, byte(len(w.queue))})})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := replicate.Config{
		Fleet: r.fleet, Name: r.name, Boot: uint64(r.name[0]) + uint64(w.mono), Seed: 1, SyncInterval: 24 * time.Hour, Members: len(w.rigs) - 1,
		CollectEvery: time.Second, CollectAge: time.Millisecond,
	}
	for _, f := range tune {
		f(&cfg)
	}
	if r.core, err = replicate.LoadCore(r.store, cfg); err != nil {
		w.t.Fatal(err)
	}
	r.resp = replicate.NewResponder(r.fleet, r.store, func(fn func(*replicate.Core)) { fn(r.core) }, r.now, r.step)
	r.todo = nil
	r.connect()
	w.grown(r)
}

// collecting is a world whose rigs are members, look for garbage every second
// and collect what is a millisecond old.
func collecting(t *testing.T, names ...string) *world {
	w := newWorld(t, names...)
	for _, r := range w.rigs {
		w.restart(r, r.engine)
	}
	w.enroll(w.rigs...)
	w.run(5 * time.Second)
	return w
}

func (w *world) remove(r *rig, name string) {
	w.t.Helper()
	if err := r.store.Delete(context.Background(), "Note", resource.Scope{}, name); err != nil {
		w.t.Fatal(err)
	}
	w.grown(r)
}

func (r *rig) tombstones() int { return r.store.Garbage().Tombstones }

// P4: a delete that every member has seen is collected on all of them, by one
// floor, and they still agree.
func TestFloor_CollectsOnEveryMember(t *testing.T) {
	w := collecting(t, "a", "b", "c")
	w.write(w.rigs[0], "n")
	w.run(time.Second)
	w.remove(w.rigs[1], "n")
	w.run(500 * time.Millisecond)
	for _, r := range w.rigs {
		if r.tombstones() != 1 {
			t.Errorf("%s has %d tombstones, want 1", r.name, r.tombstones())
		}
	}
	w.run(20 * time.Second)
	for _, r := range w.rigs {
		if st := r.status(); r.tombstones() != 0 || st.Collection.Blocked != "" {
			t.Errorf("%s has %d tombstones, blocked: %q", r.name, r.tombstones(), st.Collection.Blocked)
		}
	}
	w.agreed()
	if a, b := w.rigs[0].store.Floor(), w.rigs[1].store.Floor(); a.Digest() != b.Digest() {
		t.Errorf("floors %v and %v", a, b)
	}
}

// A member that is silent, heard of or not, holds the floor, and status says
// so; once it is off the roster collection goes on.
func TestFloor_SilentMemberHoldsIt(t *testing.T) {
	w := collecting(t, "a", "b", "c")
	a, b, c := w.rigs[0], w.rigs[1], w.rigs[2]
	w.write(a, "n")
	w.run(time.Second)
	w.cut = func(from, to *rig) bool { return from == c || to == c }
	w.remove(a, "n")
	w.run(30 * time.Second)
	for _, r := range []*rig{a, b} {
		if st := r.status(); r.tombstones() != 1 || !strings.Contains(st.Collection.Blocked, "member c") {
			t.Errorf("%s has %d tombstones, blocked: %q", r.name, r.tombstones(), st.Collection.Blocked)
		}
	}
	w.enroll(a, b)
	w.run(30 * time.Second)
	if a.tombstones()+b.tombstones() != 0 {
		t.Errorf("tombstones %d and %d without the silent member", a.tombstones(), b.tombstones())
	}
}

// A member that was away while the others collected brings nothing back: it is
// refused until an operator says so, then takes their state, and its own unsent
// writes are in it or in its ledger.
func TestStale_RejoinsByBootstrap(t *testing.T) {
	w := collecting(t, "a", "b", "c")
	a, b, c := w.rigs[0], w.rigs[1], w.rigs[2]
	w.write(a, "gone")
	w.write(a, "kept")
	w.run(time.Second)
	w.cut = func(from, to *rig) bool { return from == c || to == c }
	w.remove(a, "gone")
	c.put("", "own", 1)
	c.put("", "gone", 2)
	w.grown(c)
	w.enroll(a, b)
	w.run(30 * time.Second)
	if a.tombstones() != 0 {
		t.Fatal("the case did not arise: nothing was collected")
	}
	w.cut = nil
	w.run(20 * time.Second)
	if st := c.status(); st.Ready || !strings.Contains(st.Stale, "rejoin") || st.Waiting == "" {
		t.Errorf("stale: %q, ready %v, waiting %q", st.Stale, st.Ready, st.Waiting)
	}
	if _, err := a.store.Get(context.Background(), "Note", resource.Scope{}, "gone"); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("a stale member brought a delete back: %v", err)
	}
	if _, err := a.store.Get(context.Background(), "Note", resource.Scope{}, "own"); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("a stale member pushed: %v", err)
	}
	if err := c.store.AllowRejoin(); err != nil {
		t.Fatal(err)
	}
	w.run(20 * time.Second)
	w.agreed()
	if _, err := a.store.Get(context.Background(), "Note", resource.Scope{}, "own"); err != nil {
		t.Errorf("the unsent write is lost: %v", err)
	}
	lost, err := c.store.Ledger(10)
	if err != nil || len(lost) != 1 || lost[0].Record.Name != "gone" {
		t.Errorf("ledger %+v, %v", lost, err)
	}
	if st := c.status(); st.Stale != "" || !st.Ready || st.Counters.Bootstraps != 1 {
		t.Errorf("after the bootstrap: %+v", st)
	}
}

// A leave to rejoin that an operator gives to a node that needs none ends with
// the next comparison: it does not stand for years.
func TestStale_LeaveThatIsNotNeededEnds(t *testing.T) {
	w := collecting(t, "a", "b")
	a := w.rigs[0]
	for range 2 {
		if err := a.store.AllowRejoin(); err != nil {
			t.Fatal(err)
		}
		w.run(5 * time.Second)
		if a.store.RejoinAllowed() {
			t.Fatal("the leave stands")
		}
	}
}

// A directory that was rolled back finds out before it writes: the fleet's
// copies come back, and what it writes goes under a new incarnation.
func TestPast_RolledBack(t *testing.T) {
	w := collecting(t, "a", "b", "c")
	a, b := w.rigs[0], w.rigs[1]
	w.write(a, "first")
	w.run(time.Second)
	old, was := a.engine.Reopen(), a.store.Identity()
	w.write(a, "second")
	w.run(time.Second)
	w.restart(a, old)
	w.enroll(w.rigs...)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.store.Delete(ended, "Note", resource.Scope{}, "first"); err == nil {
		t.Error("a write was taken before anybody could say whether this copy is the newest")
	}
	w.run(3 * time.Second)
	if id := a.store.Identity(); id.Incarnation == was.Incarnation || id.Instance != was.Instance {
		t.Errorf("identity %+v, was %+v", id, was)
	}
	if st := a.status(); st.Counters.Rollbacks != 1 || st.Counters.Forks != 0 {
		t.Errorf("rollbacks %d, forks %d", st.Counters.Rollbacks, st.Counters.Forks)
	}
	w.write(a, "third")
	w.run(5 * time.Second)
	w.agreed()
	for _, name := range []string{"first", "second", "third"} {
		if _, err := b.store.Get(context.Background(), "Note", resource.Scope{}, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nobody answers: writes go on after two seconds, under a new incarnation.
func TestPast_NobodyAnswers(t *testing.T) {
	w := collecting(t, "a", "b")
	a := w.rigs[0]
	w.write(a, "first")
	w.run(time.Second)
	was := a.store.Identity()
	w.cut = func(from, to *rig) bool { return true }
	w.restart(a, a.engine)
	w.enroll(w.rigs...)
	w.run(1900 * time.Millisecond)
	if !a.status().Unconfirmed {
		t.Error("confirmed by nobody")
	}
	w.run(200 * time.Millisecond)
	w.write(a, "second")
	if a.store.Identity().Incarnation == was.Incarnation {
		t.Error("an unsure store wrote on under its incarnation")
	}
	w.cut = nil
	w.run(15 * time.Second)
	w.agreed()
}

// A node that is confirmed keeps its incarnation over a restart.
func TestPast_ConfirmedKeepsItsIncarnation(t *testing.T) {
	w := collecting(t, "a", "b")
	a := w.rigs[0]
	w.write(a, "first")
	w.run(time.Second)
	was := a.store.Identity()
	w.restart(a, a.engine)
	w.enroll(w.rigs...)
	w.run(3 * time.Second)
	w.write(a, "second")
	if a.store.Identity() != was || a.status().Unconfirmed {
		t.Error("a confirmed node changed its incarnation")
	}
}

// The hash alone tells whose event a member holds: its position may carry a
// later time, of another branch or of what an author vouched for.
func TestPast_AnotherTimeIsNoFork(t *testing.T) {
	w := collecting(t, "a", "b")
	a, b := w.rigs[0], w.rigs[1]
	w.write(a, "first")
	w.run(time.Second)
	was, held := a.store.Identity(), a.store.Head().Own
	held.HLC += 1 << 16
	if _, err := b.store.Apply(context.Background(), store.Batch{Adopt: store.Vector{was.Incarnation: held}}); err != nil {
		t.Fatal(err)
	}
	w.grown(b)
	w.run(10 * time.Second)
	if b.store.State().Vector[was.Incarnation].HLC != held.HLC {
		t.Fatal("the case did not arise: b holds the same time")
	}
	if st := a.status(); a.store.Identity() != was || st.Counters.Forks != 0 {
		t.Errorf("identity %+v, was %+v; %d forks", a.store.Identity(), was, st.Counters.Forks)
	}
}

// P5: one copy of a directory wrote while nobody could tell, and under its old
// incarnation; the fleet has other events there. Its part is written anew.
func TestPast_Forked(t *testing.T) {
	w := collecting(t, "a", "b", "c")
	a, b := w.rigs[0], w.rigs[1]
	w.write(a, "shared")
	w.run(2 * time.Second)
	old := a.engine.Reopen()
	w.write(a, "first life")
	w.run(time.Second)
	w.cut = func(from, to *rig) bool { return true }
	w.restart(a, old, func(c *replicate.Config) { c.Members = 0 }) // which asks nobody
	w.write(a, "second life")
	w.run(time.Second)
	w.cut = nil
	w.run(15 * time.Second)
	w.agreed()
	if st := a.status(); st.Counters.Forks+st.Counters.Rollbacks != 1 {
		t.Errorf("forks %d, rollbacks %d", st.Counters.Forks, st.Counters.Rollbacks)
	}
	for _, name := range []string{"shared", "first life", "second life"} {
		if _, err := b.store.Get(context.Background(), "Note", resource.Scope{}, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range w.rigs {
		if problems, err := r.store.Check(); err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", r.name, problems, err)
		}
	}
}

// A clock that was an hour ahead, on a node that was cut off: the others take
// nothing that is stamped so; once the clock is right the node writes it anew,
// by itself, and all agree.
func TestClock_RepairsItselfOnceItIsRight(t *testing.T) {
	w := collecting(t, "a", "b", "c")
	a, b := w.rigs[0], w.rigs[1]
	w.write(a, "before")
	w.run(time.Second)
	w.cut = func(from, to *rig) bool { return from == a || to == a }
	w.run(15 * time.Second)
	a.skew = time.Hour
	w.write(a, "before")
	a.put("", "ahead", 3)
	w.grown(a)
	w.run(time.Second)
	a.skew = 0
	w.cut = nil
	w.run(30 * time.Second)
	w.agreed()
	if a.status().Counters.ClockRepairs == 0 {
		t.Error("nothing was repaired")
	}
	if _, err := b.store.Get(context.Background(), "Note", resource.Scope{}, "ahead"); err != nil {
		t.Errorf("the write of the wrong clock is lost: %v", err)
	}
	for _, r := range w.rigs {
		if ahead := r.store.Clock().Last().Time().Sub(r.wall()); ahead > time.Second {
			t.Errorf("%s: the clock stands %s ahead", r.name, ahead)
		}
		if problems, err := r.store.Check(); err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", r.name, problems, err)
		}
	}
}
