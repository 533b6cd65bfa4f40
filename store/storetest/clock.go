package storetest

import (
	"errors"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
)

var clockTests = []test{
	{"Clock/P6/RisesWhileTheWallStandsOrGoesBack", testClockRises},
	{"Clock/P6/RestartNeverReissues", testClockRestart},
	{"Clock/P7/WriteAfterAMergeIsLater", testClockObserves},
	{"Clock/GuardRefusesBeforeAnythingHappens", testGuard},
	{"Identity/IsMintedOnceAndKept", testIdentityKept},
}

func testClockRises(e *env) {
	n := e.open()
	last := n.Head().HLC
	for i, step := range []time.Duration{0, time.Second, -time.Hour, -24 * 365 * time.Hour, time.Minute, 48 * 365 * time.Hour} {
		n.wall.advance(step)
		for range 3 {
			w := n.write(store.Write{Resource: skill(last.String(), ""), CreateOnly: true})
			if w.HLC <= last || w.HLC < hlc.At(n.wall.now().UnixMilli(), 0) {
				e.Errorf("step %d: stamp %s after %s", i, w.HLC, last)
			}
			last = w.HLC
		}
	}
}

// P7: after a restart with the wall an hour back, a write still wins against
// what was read.
func testClockRestart(e *env) {
	n := e.open()
	first := n.put(skill("a", `{"size":1}`))
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour} {
		n.wall.advance(-back)
		n.reopen()
		second := n.put(skill("a", `{"size":2}`))
		if string(n.get("a").Spec) != `{"size":2}` || second.UpdatedHLC <= first.UpdatedHLC {
			e.Errorf("stamped %s after %s", second.UpdatedHLC, first.UpdatedHLC)
		}
		first = n.put(skill("a", `{"size":1}`))
	}
}

func testClockObserves(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	b.wall.advance(time.Hour)
	late := b.put(skill("a", `{"size":2}`))
	a.pullEvents(b)
	a.reopenIfPossible() // what was observed is kept, too
	mine := a.put(skill("a", `{"size":3}`))
	if mine.UpdatedHLC <= late.UpdatedHLC {
		e.Errorf("stamped %s after reading %s", mine.UpdatedHLC, late.UpdatedHLC)
	}
	b.pullEvents(a)
	if got := b.get("a"); string(got.Spec) != `{"size":3}` {
		e.Errorf("the later write lost to %s", got.Spec)
	}
	agree(e, a, b)
}

func testGuard(e *env) {
	ahead := errors.New("clock is ahead")
	var limit hlc.Timestamp
	n := e.open(func(c *store.Config) {
		c.Guard = func(t hlc.Timestamp) error {
			if limit != 0 && t > limit {
				return ahead
			}
			return nil
		}
	})
	limit = hlc.At(n.wall.now().Add(time.Minute).UnixMilli(), 0)
	n.wall.advance(time.Hour)
	n.refuse(ahead, store.Write{Resource: skill("a", "")})
	n.absent("a")
	limit = 0
	n.put(skill("a", ""))
}

func testIdentityKept(e *env) {
	n := e.open()
	id := n.Identity()
	if id.Instance.IsZero() || id.Incarnation.IsZero() || id.LogID.IsZero() || id.Instance == id.Incarnation || id.Incarnation == id.LogID {
		e.Errorf("identity %+v", id)
	}
	n.reopen()
	if n.Identity() != id {
		e.Errorf("identity %+v, was %+v", n.Identity(), id)
	}
	given := resource.NameID(resource.GroupKind{}, resource.Scope{}, "me")
	if m := e.open(func(c *store.Config) { c.Instance = given }); m.Identity().Instance != given {
		e.Errorf("instance %s, want %s", m.Identity().Instance, given)
	}
}
