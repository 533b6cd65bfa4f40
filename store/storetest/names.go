package storetest

import (
	"slices"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var nameTests = []test{
	{"Names/CreatedApartAreTwoRecordsWithOneHolder", testHolder},
	{"Names/HolderIsTheSameOnEveryNode", testHolderOrder},
	{"Names/CallsByNameActOnTheHolder", testByNameActsOnHolder},
	{"Names/DeathOfTheHolderPassesTheNameOn", testHolderDies},
	{"Names/LiveRecordHoldsBeforeATombstone", testLiveBeforeDead},
}

// contest writes one name on two nodes apart; a's is the earlier one.
func contest(e *env) (a, b *node, first, second resource.Resource) {
	a, b = e.pair()
	first = a.put(skill("x", `{"size":1}`))
	b.wall.advance(time.Hour)
	second = b.put(skill("x", `{"size":2}`))
	converge(e, a, b)
	return a, b, first, second
}

func testHolder(e *env) {
	a, b, first, second := contest(e)
	for _, n := range []*node{a, b} {
		if got := n.get("x"); got.ID != first.ID {
			e.Errorf("the holder is %s", got.ID)
		}
		if got := n.byID(second.ID); string(got.Spec) != `{"size":2}` {
			e.Errorf("the other is %+v", got)
		}
		if listed := must(n.List(e.Context(), "Skill", resource.Scope{}, nil))(e); len(listed) != 2 {
			e.Errorf("%d are listed", len(listed))
		}
		if keys := must(n.ListKeys(e.Context(), "Skill"))(e); len(keys) != 1 {
			e.Errorf("keys %v", keys)
		}
		if r, found, err := n.GetAnyScope(e.Context(), "Skill", "x"); !found || err != nil || r.ID != first.ID {
			e.Errorf("in any scope: %s, %v, %v", r.ID, found, err)
		}
		c := must(n.Conflicts())(e)
		if len(c) != 1 || c[0].Holder.ID != first.ID || len(c[0].Others) != 1 || c[0].Others[0].ID != second.ID || c[0].Name != "x" {
			e.Errorf("conflicts %+v", c)
		}
		if lost := must(n.Ledger(9))(e); len(lost) != 0 {
			e.Errorf("lost: %+v", lost)
		}
	}
}

// Created by a person first, then the earliest creation, then the lowest id.
func testHolderOrder(e *env) {
	nodes := e.fleet(4)
	var made []resource.Resource
	for i, n := range nodes {
		n.wall.advance(time.Duration(i) * time.Minute)
		made = append(made, n.put(skill("x", ""), store.As([]resource.Actor{resource.Agent, resource.System, resource.Human, resource.Human}[i])))
	}
	converge(e, nodes...)
	for _, n := range nodes {
		if got := n.get("x"); got.ID != made[2].ID {
			e.Errorf("the holder is record %d", slices.IndexFunc(made, func(r resource.Resource) bool { return r.ID == got.ID }))
		}
	}
}

func testByNameActsOnHolder(e *env) {
	a, b, first, second := contest(e)
	b.put(skill("x", `{"size":3}`))
	if string(b.byID(first.ID).Spec) != `{"size":3}` || string(b.byID(second.ID).Spec) != `{"size":2}` {
		e.Error("a put by name went elsewhere")
	}
	other := b.byID(second.ID)
	other.Spec = []byte(`{"size":4}`)
	b.put(other) // by id, with its CAS token
	b.refuse(resource.ErrExists, store.Write{Resource: skill("x", ""), CreateOnly: true})
	converge(e, a, b)
	if string(a.byID(second.ID).Spec) != `{"size":4}` {
		e.Error("a put by id went elsewhere")
	}
}

func testHolderDies(e *env) {
	a, b, first, second := contest(e)
	a.remove("x")
	if got := a.get("x"); got.ID != second.ID {
		e.Errorf("the name went to %s", got.ID)
	}
	converge(e, a, b)
	if c := must(b.Conflicts())(e); len(c) != 0 {
		e.Errorf("conflicts %+v", c)
	}
	a.write(store.Write{Op: store.OpDelete, ID: must(resource.ParseID(second.ID))(e)})
	a.absent("x")
	if r := a.put(skill("x", "")); r.ID != first.ID { // the tombstone that would hold
		e.Errorf("came back as %s", r.ID)
	}
}

func testLiveBeforeDead(e *env) {
	a, b := e.pair()
	first := a.put(skill("x", ""))
	a.remove("x")
	second := b.put(skill("x", "")) // has not seen the first
	converge(e, a, b)
	for _, n := range []*node{a, b} {
		if got := n.get("x"); got.ID != second.ID || got.ID == first.ID {
			e.Errorf("the holder is %s", got.ID)
		}
	}
	if c := must(a.Conflicts())(e); len(c) != 0 {
		e.Errorf("a tombstone is in conflict: %+v", c)
	}
}
