package storetest

import (
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var casTests = []test{
	{"CAS/ZeroSyncVersionIsUnconditional", testUnconditional},
	{"CAS/OtherSyncVersionConflicts", testConflict},
	{"CAS/SyncVersionOnCreateConflicts", testConflictOnCreate},
	{"CAS/P7/MergeThatKeepsTheCounterConflicts", testABA},
	{"CAS/P7/MergeOfWhatWasUnsetConflicts", testABAUnset},
	{"CAS/DigestMustMatch", testIfDigest},
	{"CAS/CreateOnlyRefusesATakenName", testCreateOnly},
}

func testUnconditional(e *env) {
	n := e.open()
	for i := range 3 {
		if r := n.put(skill("a", string(`{"size":`)+string(rune('0'+i))+`}`)); r.SyncVersion != int64(i+1) {
			e.Errorf("put %d: syncVersion %d", i, r.SyncVersion)
		}
	}
}

func testConflict(e *env) {
	n := e.open()
	first := n.put(skill("a", `{"size":1}`))
	second := n.put(with(first, func(r *resource.Resource) { r.Spec = []byte(`{"size":2}`) }))
	first.Spec = []byte(`{"size":3}`)
	err := n.refuse(resource.ErrConflict, store.Write{Resource: first})
	if !strings.Contains(err.Error(), "re-read") {
		e.Errorf("%v does not say what to do", err)
	}
	// Also for content that is there already: the caller read something else.
	first.Spec = second.Spec
	n.refuse(resource.ErrConflict, store.Write{Resource: first})
	second.SyncVersion = 3
	n.refuse(resource.ErrConflict, store.Write{Resource: second})
	w := statusWrite("a", `{}`)
	w.Resource.SyncVersion = 1
	n.refuse(resource.ErrConflict, w)
	w.Resource.SyncVersion = 2
	n.write(w)
}

func testConflictOnCreate(e *env) {
	n := e.open()
	n.refuse(resource.ErrConflict, store.Write{Resource: with(skill("a", ""), func(r *resource.Resource) { r.SyncVersion = 1 })})
	last := n.put(skill("b", ""))
	n.remove("b")
	n.refuse(resource.ErrConflict, store.Write{Resource: last})
	n.put(skill("b", ""))
}

// Two nodes write one more version each; after the merge the counter is what a
// reader saw before it, and the record is another.
func testABA(e *env) {
	a, b := e.pair()
	a.put(skill("x", `{"size":1}`))
	b.pullEvents(a)
	b.wall.advance(1e9)
	read := a.put(skill("x", `{"size":2}`))
	b.put(skill("x", `{"size":3}`))
	a.pullEvents(b)
	if now := a.get("x"); now.SyncVersion != read.SyncVersion || string(now.Spec) == string(read.Spec) {
		e.Fatalf("the case did not arise: %+v", now)
	}
	a.refuse(resource.ErrConflict, store.Write{Resource: with(read, func(r *resource.Resource) { r.Spec = []byte(`{"size":4}`) })})
	converge(e, a, b)
}

// The same where the merge brought what the reader saw none of: a status, a
// finalizer. A whole-record put would clear them unseen.
func testABAUnset(e *env) {
	for _, c := range []struct {
		what  string
		write func(n *node)
	}{
		{"status", func(n *node) { n.write(statusWrite("status", `{"s":1}`)) }},
		{"finalizer", func(n *node) { n.put(finalizers(skill("finalizer", ""), "f")) }},
	} {
		a, b := e.pair()
		a.put(skill(c.what, ""))
		b.pullEvents(a)
		read := a.put(skill(c.what, `{"size":2}`))
		c.write(b)
		a.pullEvents(b)
		if now := a.get(c.what); now.SyncVersion != read.SyncVersion {
			e.Fatalf("%s: the case did not arise: %+v", c.what, now)
		}
		a.refuse(resource.ErrConflict, store.Write{Resource: with(read, func(r *resource.Resource) { r.Spec = []byte(`{"size":4}`) })})
	}
}

func testIfDigest(e *env) {
	n := e.open()
	first := n.put(skill("a", ""))
	n.refuse(resource.ErrConflict, store.Write{Resource: skill("b", ""), IfDigest: first.Digest})
	second := n.write(store.Write{Resource: skill("a", `{"size":1}`), IfDigest: first.Digest}).Resource
	for _, op := range []store.Op{store.OpDelete, store.OpTeardown, store.OpDestroy, store.OpStatus, store.OpClaim, store.OpRelease} {
		w := by(resource.Human, at(op, "a"))
		w.IfDigest = first.Digest
		n.refuse(resource.ErrConflict, w)
	}
	w := at(store.OpDelete, "a")
	w.IfDigest = second.Digest
	n.write(w)
	n.refuse(resource.ErrConflict, store.Write{Resource: skill("a", ""), IfDigest: second.Digest})
}

func testCreateOnly(e *env) {
	n := e.open()
	create := store.Write{Resource: skill("a", ""), CreateOnly: true}
	if !n.write(create).Created {
		e.Error("a create did not create")
	}
	n.refuse(resource.ErrExists, create)
	n.remove("a")
	if !n.write(create).Created { // the name is free again
		e.Error("a create over a tombstone did not create")
	}
}
