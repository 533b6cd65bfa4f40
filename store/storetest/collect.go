package storetest

import (
	"time"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

var collectTests = []test{
	{"Collect/P4/TombstoneBelowTheFloorGoes", testCollected},
	{"Collect/P4/WhatWasCollectedIsRefused", testCollectedRefused},
	{"Collect/P4/EarlierLifeIsHeld", testEarlierLifeHeld},
	{"Collect/P4/NewLifeIsNotJoinedWithTheOld", testNewLife},
	{"Collect/AboveTheFloorStays", testAboveTheFloor},
	{"Collect/RemovedFinalizersGo", testRemovedFinalizers},
	{"Collect/P2/NodesWithOneFloorAgree", testOneFloorOneRoot},
	{"Collect/FloorNeverFalls", testFloorNeverFalls},
	{"Collect/OwnerIsGone", testCollectedOwner},
	{"Bootstrap/P5/UnsentWritesAreKept", testBootstrapKeeps},
	{"Bootstrap/MembersVersionStands", testBootstrapReplaces},
}

// floor raises the floor to everything that the node covers.
func (n *node) floor() store.Floor {
	n.e.Helper()
	f := store.FloorOf(n.State().Vector)
	n.apply(n.e, store.Batch{Floor: f})
	return f
}

// forgotten fails unless nothing at all is known of an id.
func (n *node) forgotten(id string) {
	n.e.Helper()
	if rec, err := n.Record(id); err == nil {
		n.e.Errorf("record %s is still here: %+v", id, rec)
	}
}

func testCollected(e *env) {
	n := e.open()
	bare := n.State().Super
	r := n.put(skill("a", "{}"))
	n.remove("a")
	n.floor()
	n.absent("a")
	n.forgotten(r.ID)
	if got := n.State().Super; got != bare {
		e.Errorf("root %s with a collected record, %s without", got, bare)
	}
	if g := n.Garbage(); g.Tombstones != 0 || g.Collected != 1 {
		e.Errorf("garbage %+v", g)
	}
	n.reopenIfPossible()
	n.forgotten(r.ID)
	if again := n.put(skill("a", "{}")); again.ID == r.ID || !again.CreatedAt.Equal(n.wall.now()) {
		e.Errorf("put after collection gave %+v", again)
	}
}

func testCollectedRefused(e *env) {
	a, b := e.pair()
	r := a.put(skill("a", `{"size":1}`))
	a.put(skill("a", `{"size":2}`))
	a.remove("a")
	late := a.outbox(e)
	b.pullEvents(a)
	b.floor()
	for i := range late {
		out := b.apply(e, store.Batch{Records: late[i : i+1]})
		if late[i].Record.ID.String() == r.ID && out.Gone != 1 {
			e.Errorf("event %d: %+v", late[i].Event.Seq, out)
		}
		late[i].Event = nil
		b.apply(e, store.Batch{Records: late[i : i+1]})
	}
	b.forgotten(r.ID)
}

// A write by a node that has not heard of the end, to a record that was
// collected here: its event alone does not bring the record back.
func testEarlierLifeHeld(e *env) {
	a, b := e.pair()
	r := a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	a.remove("a")
	b.put(skill("a", `{"size":2}`)) // unsent
	unsent := b.outbox(e)
	a.floor()
	for i := range unsent {
		if unsent[i].Record.ID.String() != r.ID {
			continue
		}
		out := a.apply(e, store.Batch{Records: unsent[i : i+1]})
		if out.Held != 1 || len(out.HeldFrom) != 1 || out.HeldFrom[0] != b.Identity().Instance {
			e.Errorf("held %+v", out)
		}
		a.forgotten(r.ID)
		a.wantBehind(b, 1)
		// A comparison vouches for it.
		unsent[i].Event = nil
		a.apply(e, store.Batch{Records: unsent[i : i+1]})
	}
	a.get("a")
}

// A record of identity "name" has one id through all its lives: what is left of
// an earlier one must not outrank the new.
func testNewLife(e *env) {
	a, b := e.pair()
	a.put(slot("s", `{"size":1}`), human)
	old := a.outbox(e)
	a.write(by(resource.Human, store.Write{Op: store.OpDelete, Kind: "Slot", Name: "s"}))
	b.pullEvents(a)
	b.floor()
	b.wall.advance(1000)
	b.put(slot("s", `{"size":2}`))
	for i := range old {
		b.apply(e, store.Batch{Records: old[i : i+1]})
		old[i].Event = nil
		b.apply(e, store.Batch{Records: old[i : i+1]})
	}
	if r := must(b.Get(e.Context(), "Slot", resource.Scope{}, "s"))(e); string(r.Spec) != `{"size":2}` {
		e.Errorf("an earlier life came back: %s", r.Spec)
	}
}

func testAboveTheFloor(e *env) {
	n := e.open()
	r := n.put(skill("a", "{}"))
	f := store.FloorOf(n.State().Vector)
	n.remove("a")
	n.apply(e, store.Batch{Floor: f})
	if rec := n.record(e, r.ID); !rec.Deleted() {
		e.Errorf("record %+v", rec)
	}
	n.put(skill("b", "{}"))
	n.floor()
	n.get("b")
}

func testRemovedFinalizers(e *env) {
	a, b := e.pair()
	r := a.put(finalizers(skill("a", "{}"), "example.dev/f", "example.dev/g"))
	early := a.outbox(e)
	a.put(finalizers(skill("a", "{}"), "example.dev/g"))
	b.pullEvents(a)
	b.floor()
	if fs := b.record(e, r.ID).Finalizers; len(fs) != 1 || fs[0].Key != "example.dev/g" {
		e.Errorf("finalizers %+v", fs)
	}
	for i := range early {
		early[i].Event = nil
		b.apply(e, store.Batch{Records: early[i : i+1]})
	}
	if fs := b.record(e, r.ID).Finalizers; len(fs) != 1 || !fs[0].Present {
		e.Errorf("after the early version: %+v", fs)
	}
}

func testOneFloorOneRoot(e *env) {
	a, b := e.pair()
	a.put(finalizers(skill("a", "{}"), "example.dev/f"))
	a.put(skill("a", "{}"))
	a.put(skill("b", "{}"))
	a.remove("b")
	exchange(a, b)
	f := store.FloorOf(a.State().Vector).Join(store.FloorOf(b.State().Vector))
	a.apply(e, store.Batch{Floor: f})
	b.apply(e, store.Batch{Floor: f})
	if a.State().Super != b.State().Super || a.Floor().Digest() != b.Floor().Digest() {
		e.Errorf("roots %s and %s", a.State().Super, b.State().Super)
	}
}

func testFloorNeverFalls(e *env) {
	n := e.open()
	n.put(skill("a", "{}"))
	f := n.floor()
	n.apply(e, store.Batch{Floor: f.Cut(1)})
	n.reopenIfPossible()
	if !n.Floor().Reaches(f) {
		e.Errorf("floor %v, was %v", n.Floor(), f)
	}
}

// An owner that was collected is gone; one that was never seen is not, and
// neither is a new life under the same id the old one.
func testCollectedOwner(e *env) {
	n := e.open()
	first := child("c1", n.put(slot("owner", "{}")))
	never := child("c2", n.put(skill("other", "{}")))
	never.OwnerReferences[0].ID = "01JDZ5T8Q9W3X7Y2K4M6N8P0RS"
	held := n.put(first)
	strange := n.put(never)
	if n.gone(held) {
		e.Error("gone while it is live")
	}
	n.write(store.Write{Op: store.OpDelete, Kind: "Slot", Name: "owner"})
	n.floor()
	if !n.gone(held) {
		e.Error("collected, and not gone")
	}
	if n.gone(strange) {
		e.Error("never seen is not gone")
	}
	n.wall.advance(time.Second)
	n.put(slot("owner", "{}"))
	if !n.gone(held) {
		e.Error("a new life under the id passes for the old owner")
	}
}

// stale is a pair where a has collected what b, with writes of its own, still
// holds.
func (e *env) stale() (a, b *node, r resource.Resource) {
	a, b = e.pair()
	r = a.put(skill("gone", `{"size":1}`))
	b.pullEvents(a)
	a.remove("gone")
	a.put(skill("kept", `{"size":7}`))
	a.floor()
	return a, b, r
}

// bootstrap makes b what a says.
func (b *node) bootstrap(a *node, absent ...string) store.Applied {
	b.e.Helper()
	boot := &store.Bootstrap{Vector: a.State().Vector, Floor: a.Floor()}
	for _, id := range absent {
		boot.Absent = append(boot.Absent, must(resource.ParseID(id))(b.e))
	}
	var records []store.Incoming
	for _, frame := range a.state(b.e).records {
		rec := must(resource.DecodeRecord(frame))(b.e)
		records = append(records, store.Incoming{Record: rec, From: a.Identity().Instance})
	}
	return b.apply(b.e, store.Batch{Records: records, Bootstrap: boot, Adopt: boot.Vector, Floor: boot.Floor, Member: true})
}

func testBootstrapKeeps(e *env) {
	a, b, r := e.stale()
	own := b.put(skill("own", "{}"))
	b.put(skill("gone", `{"size":2}`)) // unsent, to a record that has ended
	b.bootstrap(a, r.ID, own.ID)
	b.forgotten(r.ID)
	b.get("own")
	b.get("kept")
	lost := b.losses()
	if len(lost) != 1 || lost[0].Reason != resolve.Collected || string(lost[0].Record.Desired.Value.Spec) != `{"size":2}` {
		e.Errorf("ledger %+v", lost)
	}
	if !b.Floor().Under(b.State().Vector) || b.RejoinAllowed() {
		e.Errorf("still stale after a bootstrap")
	}
}

func testBootstrapReplaces(e *env) {
	a, b, r := e.stale()
	b.bootstrap(a, r.ID)
	b.forgotten(r.ID)
	if lost := b.losses(); len(lost) != 0 {
		e.Errorf("nothing was unsent, the ledger has %+v", lost)
	}
	if b.State().Super != a.State().Super {
		e.Errorf("roots differ after a bootstrap")
	}
}
