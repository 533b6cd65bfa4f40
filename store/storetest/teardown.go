package storetest

import (
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var teardownTests = []test{
	{"Teardown/StaysUntilDestroyed", testTeardown},
	{"Teardown/StaysWithoutFinalizersToo", testTeardownFinalizers},
	{"Teardown/DeleteRaisesIt", testTeardownRaised},
	{"Destroy/ConflictsWhileAFinalizerStands", testDestroyConflict},
	{"Destroy/CompletesWithoutATeardown", testDestroyAlone},
}

func testTeardown(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	before := n.Head().Seq
	r := n.write(at(store.OpTeardown, "a")).Resource
	if r.Deleted || !r.Terminating() || r.DeletionStrength != resource.Teardown {
		e.Errorf("a teardown came to %+v", r)
	}
	if n.write(at(store.OpTeardown, "a")).Changed {
		e.Error("the second teardown wrote an event")
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("a", ""), "late")})
	if r = n.put(skill("a", `{"size":1}`)); r.DeletionStrength != resource.Teardown {
		e.Errorf("a put came to %+v", r)
	}
	if r = n.write(at(store.OpDestroy, "a")).Resource; !r.Deleted {
		e.Errorf("a destroy came to %+v", r)
	}
	n.wantEvents(before, resource.EvPut, resource.EvPut, resource.EvDeleted)
	n.refuse(resource.ErrNotFound, at(store.OpDestroy, "a"))
}

func testTeardownFinalizers(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", ""), "f"))
	n.write(at(store.OpTeardown, "a"))
	if r := n.put(skill("a", "")); r.Deleted || r.Finalizers != nil {
		e.Errorf("without finalizers: %+v", r)
	}
	n.get("a")
	n.write(at(store.OpDestroy, "a"))
	n.absent("a")
}

func testTeardownRaised(e *env) {
	n := e.open()
	for _, name := range []string{"a", "b"} {
		n.put(finalizers(skill(name, ""), "f"))
	}
	first := n.write(at(store.OpTeardown, "a")).Resource
	r := n.write(at(store.OpDelete, "a")).Resource
	if r.DeletionStrength != resource.Delete || !r.DeletionTimestamp.Equal(*first.DeletionTimestamp) || r.Deleted {
		e.Errorf("a delete after a teardown came to %+v", r)
	}
	n.remove("b")
	if w := n.write(at(store.OpTeardown, "b")); w.Changed || w.Resource.DeletionStrength != resource.Delete {
		e.Errorf("a teardown after a delete came to %+v", w)
	}
}

func testDestroyConflict(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", ""), "f"))
	n.refuse(resource.ErrConflict, at(store.OpDestroy, "a"))
	n.write(at(store.OpTeardown, "a"))
	err := n.refuse(resource.ErrConflict, at(store.OpDestroy, "a"))
	if !strings.Contains(err.Error(), "f") {
		e.Errorf("%v does not name the finalizer", err)
	}
}

func testDestroyAlone(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	n.write(at(store.OpDestroy, "a"))
	n.absent("a")
}
