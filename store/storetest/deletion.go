package storetest

import (
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var deletionTests = []test{
	{"Delete/WithoutFinalizersTombstones", testTombstone},
	{"Delete/WithFinalizersTerminates", testTerminates},
	{"Delete/AbsentIsNotFound", testDeleteAbsent},
	{"Delete/RaisedRankRestamps", testDeleteRank},
	{"Finalizers/LastRemovalTombstones", testLastFinalizer},
	{"Finalizers/CannotBeAddedWhileTerminating", testNoLateFinalizer},
	{"Put/NeitherSetsNorClearsADeletion", testDeletionIsNotWritten},
	{"Put/OnATerminatingRecordRestampsBoth", testRestampsBoth},
	{"Put/OverATombstoneResurrects", testResurrects},
	{"Put/ResurrectionHidesTheOldStatus", testOldStatus},
}

func testTombstone(e *env) {
	n := e.open()
	r := n.put(skill("a", `{"size":1}`))
	before := n.Head().Seq
	w := n.write(at(store.OpDelete, "a"))
	if !w.Resource.Deleted || w.Resource.SyncVersion != 2 || w.Resource.ID != r.ID || w.Created || !w.Changed {
		e.Errorf("a delete came to %+v", w)
	}
	n.absent("a")
	n.wantEvents(before, resource.EvDeleted)
	n.refuse(resource.ErrNotFound, at(store.OpDelete, "a"))
	n.refuse(resource.ErrNotFound, store.Write{Op: store.OpDelete, ID: must(resource.ParseID(r.ID))(e)})
}

func testTerminates(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", ""), "f"))
	before := n.Head().Seq
	n.wall.advance(time.Minute)
	r := n.write(at(store.OpDelete, "a")).Resource
	if r.Deleted || !r.Terminating() || !r.DeletionTimestamp.Equal(n.wall.now()) || r.DeletionStrength != resource.Delete {
		e.Errorf("a delete came to %+v", r)
	}
	n.wantEvents(before, resource.EvPut)
	n.wall.advance(time.Minute)
	w := n.write(at(store.OpDelete, "a"))
	if w.Changed || !w.Resource.DeletionTimestamp.Equal(*r.DeletionTimestamp) {
		e.Errorf("the second delete came to %+v", w)
	}
	n.wantEvents(before, resource.EvPut)
}

func testDeleteAbsent(e *env) {
	n := e.open()
	for _, op := range []store.Op{store.OpDelete, store.OpTeardown, store.OpDestroy, store.OpClaim, store.OpStatus} {
		n.refuse(resource.ErrNotFound, at(op, "a"))
	}
	n.refuse(resource.ErrNotFound, by(resource.Human, at(store.OpRelease, "a")))
	n.refuse(resource.ErrNotFound, store.Write{Op: store.OpDelete, Kind: "Nobody", Name: "a"})
}

func testDeleteRank(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", ""), "f"))
	first := n.write(at(store.OpDelete, "a")).Resource
	w := n.write(by(resource.Human, at(store.OpDelete, "a")))
	if !w.Changed || w.Resource.WriterActor != resource.Human || !w.Resource.DeletionTimestamp.Equal(*first.DeletionTimestamp) {
		e.Errorf("a person's delete of a terminating record came to %+v", w)
	}
	if n.write(by(resource.Human, at(store.OpDelete, "a"))).Changed {
		e.Error("the second one wrote an event")
	}
}

func testLastFinalizer(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", `{"size":1}`), "f", "g"))
	n.remove("a")
	before := n.Head().Seq
	r := n.put(finalizers(skill("a", `{"size":1}`), "g"))
	if r.Deleted || len(r.Finalizers) != 1 {
		e.Errorf("with one finalizer left: %+v", r)
	}
	if r = n.put(skill("a", `{"size":1}`)); !r.Deleted {
		e.Errorf("without finalizers: %+v", r)
	}
	n.absent("a")
	n.wantEvents(before, resource.EvPut, resource.EvDeleted)
	n.put(skill("a", "")) // and it can be made anew, without them
	if r := n.get("a"); r.Finalizers != nil || r.DeletionTimestamp != nil {
		e.Errorf("made anew: %+v", r)
	}
}

func testNoLateFinalizer(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", ""), "f", "g"))
	n.remove("a")
	n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("a", ""), "f", "g", "h")})
	n.put(finalizers(skill("a", ""), "f"))
	n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("a", ""), "f", "g")}) // nor brought back
}

func testDeletionIsNotWritten(e *env) {
	n := e.open()
	now := n.wall.now()
	r := n.put(with(finalizers(skill("a", ""), "f"), func(r *resource.Resource) {
		r.DeletionTimestamp, r.DeletionStrength, r.Deleted = &now, resource.Delete, true
	}))
	if r.DeletionTimestamp != nil || r.Deleted {
		e.Errorf("a put set a deletion: %+v", r)
	}
	n.remove("a")
	for _, actor := range []resource.Actor{resource.Agent, resource.Human} {
		r = n.put(finalizers(skill("a", `{"size":`+string('1'+rune(actor))+`}`), "f"), store.As(actor))
		if r.DeletionTimestamp == nil || !r.Terminating() {
			e.Errorf("a put by %s cleared a deletion: %+v", actor, r)
		}
	}
}

func testRestampsBoth(e *env) {
	n := e.open()
	n.put(finalizers(skill("a", ""), "f"))
	del := n.write(at(store.OpDelete, "a")).Resource
	r := n.put(finalizers(skill("a", `{"size":1}`), "f"))
	if r.DesiredStamp != r.DeletionStamp || r.DeletionStamp == del.DeletionStamp || !r.DeletionTimestamp.Equal(*del.DeletionTimestamp) || r.Incarnation != del.Incarnation {
		e.Errorf("stamps %+v and %+v", r.DesiredStamp, r.DeletionStamp)
	}
	// Both at once: a change, and the last finalizer.
	if r = n.put(skill("a", `{"size":2}`)); !r.Deleted || string(r.Spec) != `{"size":2}` {
		e.Errorf("came to %+v", r)
	}
}

func testResurrects(e *env) {
	n := e.open()
	first := n.put(status(skill("a", `{"size":1}`), `{}`), human)
	dead := n.write(by(resource.Human, at(store.OpDelete, "a"))).Resource
	n.wall.advance(time.Hour)
	w := n.write(by(resource.Human, store.Write{Resource: skill("a", `{"size":1}`)}))
	r := w.Resource
	if r.ID != first.ID || r.CreatedAt != first.CreatedAt || r.OriginInstanceID != first.OriginInstanceID {
		e.Errorf("came back as %+v, was %+v", r, first)
	}
	if !w.Created || r.Deleted || r.DeletionTimestamp != nil || r.SyncVersion != 3 || r.Version != 2 {
		e.Errorf("came back as %+v", w)
	}
	if r.Incarnation == first.Incarnation || r.Incarnation != dead.DeletionStamp.Point() {
		e.Errorf("incarnation %s, was %s, the deletion %s", r.Incarnation, first.Incarnation, dead.DeletionStamp.Point())
	}
}

// A status is of one incarnation; one of an earlier is kept and not shown.
func testOldStatus(e *env) {
	n := e.open()
	n.put(status(skill("a", ""), `{"old":true}`))
	n.remove("a")
	r := n.put(skill("a", ""))
	if r.Status != nil {
		e.Errorf("status %s of the last incarnation is shown", r.Status)
	}
	if rec := n.record(e, r.ID); rec.Observed == nil || string(rec.Observed.Value.Status) != `{"old":true}` {
		e.Error("the old status was not kept")
	}
	if r = n.write(statusWrite("a", `{"old":true}`)).Resource; string(r.Status) != `{"old":true}` {
		e.Errorf("the same status written anew shows as %s", r.Status)
	}
}
