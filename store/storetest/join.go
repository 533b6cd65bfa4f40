package storetest

import (
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var joinTests = []test{
	{"Join/StatusAndSpecBothSurvive", testBothSurvive},
	{"Join/APersonOutranksAutomationWhateverTheClock", testHumanWins},
	{"Join/LaterOfEqualsWins", testLaterWins},
	{"Join/ConcurrentFinalizerRemovalsBothCount", testFinalizerRemovals},
	{"Join/DeletionCompletesFromTheMergedSet", testMergedFinalizers},
	{"Join/FinalizerOfAnOlderIncarnationCanBeRemoved", testFinalizerIncarnation},
	{"Join/NamedKindsCreatedApartAreOneRecord", testCreatedApart},
	{"Join/CountersNeverFall", testCountersJoin},
	{"Join/ConcurrentDeleteAndPutByTheKey", testDeleteAgainstPut},
}

// C1: a person's spec on one node, a controller's status on another.
func testBothSurvive(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	a.put(skill("a", `{"size":2}`), human)
	b.wall.advance(time.Hour)
	b.write(statusWrite("a", `{"s":1}`))
	converge(e, a, b)
	if r := a.get("a"); string(r.Spec) != `{"size":2}` || string(r.Status) != `{"s":1}` || r.WriterActor != resource.Human {
		e.Errorf("joined as %+v", r)
	}
	for _, n := range []*node{a, b} {
		if lost := must(n.Ledger(10))(e); len(lost) != 0 {
			e.Errorf("something was lost: %+v", lost)
		}
	}
}

func testHumanWins(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	a.put(skill("a", `{"size":2}`), human)
	b.wall.advance(time.Hour)
	b.put(skill("a", `{"size":3}`), store.As(resource.System))
	converge(e, a, b)
	if r := b.get("a"); string(r.Spec) != `{"size":2}` {
		e.Errorf("automation won: %+v", r)
	}
}

func testLaterWins(e *env) {
	for _, actor := range []resource.Actor{resource.Agent, resource.Human} {
		a, b := e.pair()
		a.put(skill("a", `{"size":1}`))
		b.pullEvents(a)
		b.wall.advance(time.Second)
		b.put(skill("a", `{"size":2}`), store.As(actor))
		a.put(skill("a", `{"size":3}`), store.As(actor))
		converge(e, a, b)
		if r := a.get("a"); string(r.Spec) != `{"size":2}` {
			e.Errorf("by %s: %s won", actor, r.Spec)
		}
	}
}

// C12: two controllers remove different finalizers on two nodes.
func testFinalizerRemovals(e *env) {
	a, b := e.pair()
	a.put(finalizers(skill("a", ""), "f", "g"))
	a.remove("a")
	b.pullEvents(a)
	a.put(finalizers(skill("a", ""), "g"))
	b.put(finalizers(skill("a", ""), "f"))
	a.get("a")
	b.get("a")
	converge(e, a, b)
	a.absent("a")
	b.absent("a")
}

// A finalizer that a node has not seen holds the record once it has.
func testMergedFinalizers(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	b.put(finalizers(skill("a", ""), "f"))
	a.remove("a")
	converge(e, a, b)
	for _, n := range []*node{a, b} {
		if r := n.get("a"); !r.Terminating() || len(r.Finalizers) != 1 {
			e.Errorf("joined as %+v", r)
		}
	}
	b.put(skill("a", ""))
	converge(e, a, b)
	a.absent("a")
}

// A person's earlier delete, merged late, ends an incarnation before the one
// that a standing finalizer is of: its removal must still win everywhere.
func testFinalizerIncarnation(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	b.remove("a", human)
	a.wall.advance(time.Hour)
	a.remove("a")
	a.put(finalizers(skill("a", ""), "f"))
	converge(e, a, b)
	if r := b.get("a"); !r.Terminating() {
		e.Fatalf("the case did not arise: %+v", r)
	}
	b.write(by(resource.Human, store.Write{Resource: skill("a", "")}))
	b.absent("a")
	converge(e, a, b)
	b.absent("a")
}

func testCreatedApart(e *env) {
	a, b := e.pair()
	first := a.put(slot("a", `{"by":"a"}`))
	b.wall.advance(time.Hour)
	second := b.put(status(slot("a", `{"by":"b"}`), `{"s":1}`))
	if first.ID != second.ID {
		e.Fatalf("ids %s and %s", first.ID, second.ID)
	}
	converge(e, a, b)
	r := must(a.Get(e.Context(), "Slot", resource.Scope{}, "a"))(e)
	if string(r.Spec) != `{"by":"b"}` || r.CreatedAt != first.CreatedAt || r.OriginInstanceID != first.OriginInstanceID {
		e.Errorf("joined as %+v", r)
	}
	if string(r.Status) != `{"s":1}` {
		e.Errorf("the status that the later creator wrote shows as %q", r.Status)
	}
	if c := must(a.Conflicts())(e); len(c) != 0 {
		e.Errorf("conflicts %+v", c)
	}
}

func testCountersJoin(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	for i := range 5 {
		a.put(skill("a", string(`{"size":`)+string(rune('1'+i))+`}`))
	}
	b.put(skill("a", ""), human) // wins, with fewer writes behind it
	converge(e, a, b)
	if r := b.get("a"); r.SyncVersion != 6 || r.Version != 6 || r.WriterActor != resource.Human {
		e.Errorf("joined as %+v", r.Envelope)
	}
}

func testDeleteAgainstPut(e *env) {
	for _, c := range []struct {
		deleter, putter resource.Actor
		later           string // of the two
		deleted         bool
	}{
		{resource.Agent, resource.Agent, "put", false}, {resource.Agent, resource.Agent, "delete", true},
		{resource.Human, resource.Agent, "put", true}, {resource.Agent, resource.Human, "delete", false},
		{resource.Human, resource.Human, "put", false}, {resource.Human, resource.Human, "delete", true},
	} {
		a, b := e.pair()
		a.put(skill("a", ""))
		b.pullEvents(a)
		if c.later == "put" {
			b.wall.advance(time.Hour)
		} else {
			a.wall.advance(time.Hour)
		}
		a.remove("a", store.As(c.deleter))
		b.put(skill("a", `{"size":1}`), store.As(c.putter))
		converge(e, a, b)
		_, err := b.Get(e.Context(), "Skill", resource.Scope{}, "a")
		if (err != nil) != c.deleted {
			e.Errorf("%+v: %v", c, err)
		}
	}
}
