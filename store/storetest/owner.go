package storetest

import (
	"errors"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var ownerTests = []test{
	{"Owner/IsSetAtCreate", testOwnerSet},
	{"Owner/OtherAutomationIsRefused", testOwnerConflict},
	{"Owner/APersonMayWriteAndTheOwnerStays", testOwnerAndPerson},
	{"Owner/EndsWithTheRecord", testOwnerEnds},
	{"OwnerReference/IsCompletedByTheStore", testOwnerFilled},
	{"OwnerGone/Cases", testOwnerGone},
	{"OwnerGone/AnotherOfTheNameIsNotTheOwner", testOwnerByID},
	{"OwnerGone/OwnerCreatedApartIsNotGone", testOwnerCreatedApart},
}

func ownedBy(owner string, r resource.Resource) resource.Resource {
	r.Owner = owner
	return r
}

func testOwnerSet(e *env) {
	n := e.open()
	if r := n.put(ownedBy("ctl", skill("a", ""))); r.Owner != "ctl" {
		e.Errorf("owner %q", r.Owner)
	}
	if r := n.put(skill("b", ""), store.ByOwner("ctl")); r.Owner != "ctl" {
		e.Errorf("owner %q of a record created by a controller", r.Owner)
	}
	n.put(skill("c", ""))
	if r := n.put(ownedBy("ctl", skill("c", `{"size":1}`))); r.Owner != "" {
		e.Errorf("an update set the owner to %q", r.Owner)
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: ownedBy("a/b", skill("d", ""))})
}

func testOwnerConflict(e *env) {
	n := e.open()
	n.put(ownedBy("ctl", finalizers(skill("a", ""), "f")))
	writes := []store.Write{
		{Resource: skill("a", `{"size":1}`)}, {Resource: ownedBy("other", skill("a", `{"size":1}`))},
		{Resource: ownedBy("ctl", skill("a", `{"size":1}`)), Owner: "other"}, // read, then written by another
		at(store.OpDelete, "a"), at(store.OpTeardown, "a"),
	}
	other := at(store.OpDelete, "a")
	other.Owner = "other"
	for _, w := range append(writes, other) {
		err := n.refuse(resource.ErrOwnerConflict, w)
		if conflict, ok := errors.AsType[*store.OwnerConflictError](err); !ok || conflict.Owner != "ctl" || conflict.Caller == "ctl" {
			e.Errorf("error %v", err)
		}
	}
	n.put(skill("a", `{"size":1}`), store.ByOwner("ctl"))
	n.put(ownedBy("ctl", skill("a", `{"size":2}`)))
	n.remove("a", store.ByOwner("ctl"))
}

func testOwnerAndPerson(e *env) {
	n := e.open()
	n.put(ownedBy("ctl", skill("a", "")))
	if r := n.put(ownedBy("me", skill("a", `{"size":1}`)), human); r.Owner != "ctl" {
		e.Errorf("owner %q", r.Owner)
	}
	n.remove("a", human)
}

func testOwnerEnds(e *env) {
	n := e.open()
	n.put(ownedBy("ctl", skill("a", "")))
	n.remove("a", store.ByOwner("ctl"))
	if r := n.put(ownedBy("next", skill("a", ""))); r.Owner != "next" {
		e.Errorf("owner %q", r.Owner)
	}
}

// child is a Skill whose controller is owner.
func child(name string, owner resource.Resource) resource.Resource {
	return with(skill(name, ""), func(r *resource.Resource) {
		r.OwnerReferences = []resource.OwnerReference{{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, ID: owner.ID, Controller: true,
		}}
	})
}

func (n *node) gone(r resource.Resource) bool {
	n.e.Helper()
	return must(n.OwnerGone(r))(n.e)
}

func testOwnerFilled(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	r := n.put(child("a", owner))
	ref, ok := r.Controller()
	if created := n.record(e, owner.ID).Creation.Point(); !ok || ref.Creation != created {
		e.Errorf("reference %+v, the owner was created at %s", ref, created)
	}
	if n.write(store.Write{Resource: child("a", owner)}).Changed {
		e.Error("the same reference, not completed, wrote an event")
	}
}

func testOwnerGone(e *env) {
	n := e.open()
	owner := n.put(finalizers(skill("owner", ""), "f"))
	r := n.put(child("a", owner))
	if n.gone(r) || n.gone(owner) || n.gone(skill("root", "")) {
		e.Error("a live owner, or none, is gone")
	}
	unseen := child("b", owner)
	unseen.OwnerReferences[0].ID = resource.NameID(resource.GroupKind{}, resource.Scope{}, "late").String()
	if n.gone(n.put(unseen)) {
		e.Error("an owner that was never seen is gone")
	}
	n.remove("owner")
	if !n.gone(r) {
		e.Error("a terminating owner is not gone")
	}
	n.put(skill("owner", ""))
	if !n.gone(r) {
		e.Error("a tombstone is not gone")
	}
	n.put(skill("owner", ""))
	if !n.gone(r) {
		e.Error("an owner of another incarnation is not gone")
	}
	if n.gone(n.put(child("a", owner))) {
		e.Error("the child of the new incarnation is an orphan")
	}
}

func testOwnerByID(e *env) {
	a, b := e.pair()
	owner := a.put(skill("owner", ""))
	r := a.put(child("a", owner))
	b.wall.advance(1e9)
	b.put(skill("owner", "")) // the same name, apart
	converge(e, a, b)
	a.remove("owner")
	if !a.gone(r) {
		e.Error("another record of the owner's name keeps it from being gone")
	}
}

// An owner of identity "name" that two nodes create apart is one record with
// the earlier creation; a child that saw the later one is no orphan.
func testOwnerCreatedApart(e *env) {
	a, b := e.pair()
	a.put(slot("owner", "{}"))
	b.wall.advance(1e9)
	r := b.put(child("a", b.put(slot("owner", "{}"))))
	converge(e, a, b)
	if a.gone(r) || b.gone(r) {
		e.Error("an owner that was created twice is gone")
	}
}
