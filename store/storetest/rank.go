package storetest

import (
	"strings"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var rankTests = []test{
	{"Rank/AutomationCannotOverwriteAPerson", testOutranked},
	{"Rank/AutomationMayReportOnWhatAPersonHolds", testStatusOnHeld},
	{"Rank/AutomationCannotUndoAPersonsDelete", testHumanTombstone},
	{"Release/GivesTheRecordBack", testRelease},
	{"Release/IsForPeople", testReleaseByAgent},
	{"Release/OfATombstoneStaysDeleted", testReleaseTombstone},
	{"Release/BeatsAConcurrentEdit", testReleaseBeatsEdit},
	{"Claim/RaisesTheFence", testClaim},
	{"Claim/IsRefusedWhileAPersonHolds", testClaimHeld},
	{"Claim/ConcurrentOnesAreToldApart", testClaimsApart},
	{"Fence/OtherEpochsAreRefused", testFenced},
	{"Fence/OldHolderLosesWhateverTheClock", testOldHolder},
	{"Fence/APersonNeedsNoToken", testPersonAndFence},
}

func testOutranked(e *env) {
	n := e.open()
	n.put(skill("a", `{"size":1}`), human)
	for _, actor := range []resource.Actor{resource.Agent, resource.System} {
		for _, w := range []store.Write{{Resource: skill("a", `{"size":2}`)}, at(store.OpDelete, "a"), at(store.OpTeardown, "a"), at(store.OpDestroy, "a"), at(store.OpClaim, "a")} {
			err := n.refuse(resource.ErrOutranked, by(actor, w))
			if !strings.Contains(err.Error(), "held by a person") || !strings.Contains(err.Error(), "release") {
				e.Errorf("%v does not say who holds it and what to do", err)
			}
		}
	}
	n.put(skill("a", `{"size":2}`), human)
}

func testStatusOnHeld(e *env) {
	n := e.open()
	n.put(skill("a", `{"size":1}`), human)
	n.write(statusWrite("a", `{"s":1}`))
	if r := n.put(status(skill("a", `{"size":1}`), `{"s":2}`)); string(r.Status) != `{"s":2}` || r.WriterActor != resource.Human {
		e.Errorf("a put of the same spec came to %+v", r)
	}
	n.put(finalizers(status(skill("a", `{"size":1}`), `{"s":2}`), "f")) // nor do finalizers rank
}

// C3: peers would ignore it for ever.
func testHumanTombstone(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	n.remove("a", human)
	n.refuse(resource.ErrOutranked, store.Write{Resource: skill("a", "")})
	n.put(skill("a", ""), human)
}

func release(n *node, name string) store.Written {
	n.e.Helper()
	return n.write(by(resource.Human, at(store.OpRelease, name)))
}

func testRelease(e *env) {
	n := e.open()
	first := n.put(skill("a", `{"size":1}`), human)
	w := release(n, "a")
	r := w.Resource
	if !w.Changed || r.DesiredStamp.Release != 1 || r.DesiredStamp.Actor == resource.Human || string(r.Spec) != `{"size":1}` || r.Version != first.Version {
		e.Errorf("a release came to %+v", r)
	}
	n.put(skill("a", `{"size":2}`))
	n.put(skill("a", `{"size":3}`), human) // a person may take it again
	n.refuse(resource.ErrOutranked, store.Write{Resource: skill("a", `{"size":4}`)})
}

func testReleaseByAgent(e *env) {
	n := e.open()
	n.put(skill("a", ""), human)
	n.refuse(resource.ErrOutranked, at(store.OpRelease, "a"))
	n.refuse(resource.ErrOutranked, by(resource.System, at(store.OpRelease, "a")))
}

func testReleaseTombstone(e *env) {
	n := e.open()
	r := n.put(skill("a", ""))
	n.remove("a", human)
	if w := release(n, "a"); !w.Resource.Deleted || w.Created {
		e.Errorf("a release of a tombstone came to %+v", w)
	}
	n.put(skill("a", ""))
	n.remove("a", human)
	n.write(by(resource.Human, store.Write{Op: store.OpRelease, ID: must(resource.ParseID(r.ID))(e)}))
	n.put(skill("a", ""))

	n.put(finalizers(skill("b", ""), "f"))
	n.remove("b", human)
	if w := release(n, "b"); !w.Resource.Terminating() {
		e.Errorf("a release of a terminating record came to %+v", w)
	}
}

func testReleaseBeatsEdit(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":1}`), human)
	b.pullEvents(a)
	release(a, "a")
	b.wall.advance(time.Hour)
	b.put(skill("a", `{"size":2}`), human)
	converge(e, a, b)
	if r := a.get("a"); string(r.Spec) != `{"size":1}` {
		e.Errorf("joined as %+v", r)
	}
	lost := append(must(a.Ledger(9))(e), must(b.Ledger(9))(e)...)
	if len(lost) != 2 || lost[0].Reason != "released" || string(lost[0].Record.Desired.Value.Spec) != `{"size":2}` {
		e.Errorf("ledgers %+v", lost)
	}
}

func claim(n *node, name string) resource.Epoch {
	n.e.Helper()
	return n.write(at(store.OpClaim, name)).Resource.DesiredStamp.Epoch
}

func testClaim(e *env) {
	n := e.open()
	first := n.put(skill("a", `{"size":1}`))
	w := n.write(at(store.OpClaim, "a"))
	one := w.Resource.DesiredStamp.Epoch
	if one.Number != 1 || one.Claim.HLC != w.HLC || w.Resource.Version != first.Version || string(w.Resource.Spec) != `{"size":1}` {
		e.Errorf("a claim came to %+v", w)
	}
	if two := claim(n, "a"); two.Number != 2 || two.Compare(one) <= 0 {
		e.Errorf("the next claim made epoch %s after %s", two, one)
	}
	n.put(finalizers(skill("b", ""), "f"))
	n.remove("b")
	if r := n.write(at(store.OpClaim, "b")).Resource; !r.Terminating() {
		e.Errorf("a claim of a terminating record came to %+v", r)
	}
}

func testClaimHeld(e *env) {
	n := e.open()
	n.put(skill("a", ""), human)
	n.refuse(resource.ErrOutranked, at(store.OpClaim, "a"))
	release(n, "a")
	claim(n, "a")
}

func testFenced(e *env) {
	n := e.open()
	n.refuse(resource.ErrFenced, store.Write{Resource: skill("new", ""), Epoch: resource.Epoch{Number: 1}})
	n.put(skill("a", ""))
	old := claim(n, "a")
	now := claim(n, "a")
	for _, token := range []resource.Epoch{old, {Number: now.Number, Claim: old.Claim}, {Number: now.Number + 1, Claim: now.Claim}} {
		for _, w := range []store.Write{{Resource: skill("a", `{"size":1}`)}, {Resource: skill("a", "")}, at(store.OpDelete, "a"), statusWrite("a", "1")} {
			w.Epoch = token
			err := n.refuse(resource.ErrFenced, w)
			if !strings.Contains(err.Error(), now.String()) {
				e.Errorf("%v does not name the fence", err)
			}
		}
	}
	n.refuse(resource.ErrOutranked, store.Write{Resource: skill("a", `{"size":1}`)}) // no token at all
	n.put(status(skill("a", `{"size":1}`), `{"s":1}`), store.UnderEpoch(now))
	n.refuse(resource.ErrOutranked, statusWrite("a", `{"s":2}`))
	n.remove("a", store.UnderEpoch(now))
}

func testOldHolder(e *env) {
	a, b := e.pair()
	a.put(status(skill("a", ""), `{}`))
	old := claim(a, "a")
	b.pullEvents(a)
	now := claim(a, "a")
	a.put(status(skill("a", `{"size":1}`), `{"by":"new"}`), store.UnderEpoch(now))
	b.wall.advance(time.Hour) // the old holder is cut off, and late
	b.put(status(skill("a", `{"size":2}`), `{"by":"old"}`), store.UnderEpoch(old))
	converge(e, a, b)
	if r := b.get("a"); string(r.Spec) != `{"size":1}` || string(r.Status) != `{"by":"new"}` {
		e.Errorf("joined as %s, %s", r.Spec, r.Status)
	}
	b.refuse(resource.ErrFenced, store.Write{Resource: skill("a", `{"size":3}`), Epoch: old})
	if lost := must(a.Ledger(9))(e); len(lost) != 2 || lost[0].Reason != "fenced" {
		e.Errorf("ledger %+v", lost)
	}
}

func testClaimsApart(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	b.wall.advance(time.Second)
	mine, theirs := claim(a, "a"), claim(b, "a")
	if mine.Number != theirs.Number || mine == theirs {
		e.Fatalf("epochs %s and %s", mine, theirs)
	}
	converge(e, a, b)
	a.refuse(resource.ErrFenced, store.Write{Resource: skill("a", `{"size":1}`), Epoch: mine})
	a.put(skill("a", `{"size":1}`), store.UnderEpoch(theirs))
}

func testPersonAndFence(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	epoch := claim(n, "a")
	n.put(status(skill("a", `{"size":1}`), `{"s":1}`), human)
	n.refuse(resource.ErrOutranked, store.Write{Resource: skill("a", `{"size":2}`), Epoch: epoch})
	release(n, "a")
	n.put(skill("a", `{"size":2}`), store.UnderEpoch(epoch)) // the holder is who it was
}
