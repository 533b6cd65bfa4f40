package storetest

import (
	"encoding/json"
	"errors"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var parkedTests = []test{
	{"Parked/IsHiddenAndInTheDigest", testParked},
	{"Parked/PutOverItIsRefused", testParkedPut},
	{"Parked/ShowsWhenItsKindArrives", testParkedShows},
	{"Parked/WhileNoVersionOfItsKindIsLive", testParkedAgain},
	{"Parked/MergedRecordThatFailsItsSchemaIsLive", testMergedViolation},
}

// parked is a node that has a Skill and not its kind.
func parked(e *env) (a, b *node, r resource.Resource) {
	a, b = e.open(), e.bare()
	r = a.put(skill("x", `{"size":1}`))
	b.apply(e, store.Batch{Records: []store.Incoming{{Record: a.record(e, r.ID), From: a.Identity().Instance}}})
	return a, b, r
}

func testParked(e *env) {
	a, b, r := parked(e)
	if _, err := b.GetByID(e.Context(), r.ID); !errors.Is(err, resource.ErrNotFound) {
		e.Errorf("by id: %v", err)
	}
	list := must(b.Parked(10))(e)
	if len(list) != 1 || list[0].ID != r.ID || list[0].Digest != r.Digest {
		e.Errorf("parked %+v", list)
	}
	if st := b.State(); len(st.Realms) != 1 || st.Realms[0].Records != 1 {
		e.Errorf("realms %+v", st.Realms)
	}
	b.refuse(resource.ErrNotFound, store.Write{Op: store.OpDelete, ID: must(resource.ParseID(r.ID))(e)})
	b.reopenIfPossible()
	if list = must(b.Parked(10))(e); len(list) != 1 {
		e.Errorf("after a reopen: parked %+v", list)
	}
	if list = must(a.Parked(10))(e); len(list) != 0 {
		e.Errorf("parked where the kind is: %+v", list)
	}
}

func testParkedPut(e *env) {
	_, b, r := parked(e)
	b.refuse(resource.ErrParked, store.Write{Resource: skill("x", "")})
	b.refuse(resource.ErrParked, store.Write{Resource: with(skill("x", ""), func(p *resource.Resource) { p.ID = r.ID })})
	b.refuse(resource.ErrInvalid, store.Write{Resource: skill("y", "")}) // nobody's name
}

func testParkedShows(e *env) {
	a, b, r := parked(e)
	b.pullEvents(a)
	if got := b.get("x"); got.Digest != r.Digest {
		e.Errorf("shows as %+v", got)
	}
	if list := must(b.Parked(10))(e); len(list) != 0 {
		e.Errorf("parked %+v", list)
	}
	agree(e, a, b)
}

// A kind deleted where its last record was, and a record written where the
// kind still was: the record waits for the kind.
func testParkedAgain(e *env) {
	a, b := e.pair()
	must(0, a.removeKind(skillKind))(e)
	b.put(skill("x", ""))
	converge(e, a, b)
	for _, n := range []*node{a, b} {
		if list := must(n.Parked(10))(e); len(list) != 1 {
			e.Errorf("parked %+v", list)
		}
	}
	a.reopenIfPossible()
	a.applyKind(skillKind)
	converge(e, a, b)
	a.get("x")
	b.get("x")
}

// Admission is for local writes: what a peer admitted is taken, live, and
// flagged.
func testMergedViolation(e *env) {
	a, b := e.pair()
	strict := skillKind
	strict.Schema = json.RawMessage(`{"type":"object","required":["text"]}`)
	b.wall.advance(time.Second)
	b.applyKind(strict)
	a.put(skill("x", `{"size":1}`))
	converge(e, a, b)
	for _, n := range []*node{a, b} {
		n.get("x")
		v := must(n.SchemaViolations(10))(e)
		if len(v) != 1 || v[0].Resource.Name != "x" {
			e.Errorf("violations %+v", v)
		}
	}
	if v := must(a.SchemaViolations(0))(e); len(v) != 0 {
		e.Errorf("beyond the limit: %+v", v)
	}
}
