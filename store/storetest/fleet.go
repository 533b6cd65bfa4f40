package storetest

import (
	"context"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// fleet opens several stores of one fleet that hold the test kinds, written by
// the first.
func (e *env) fleet(size int) []*node {
	e.Helper()
	nodes := []*node{e.open()}
	for len(nodes) < size {
		n := e.bare()
		n.pullEvents(nodes[0])
		nodes = append(nodes, n)
	}
	return nodes
}

func (e *env) pair() (a, b *node) {
	e.Helper()
	nodes := e.fleet(2)
	return nodes[0], nodes[1]
}

// apply is an Apply that must work.
func (n *node) apply(t failer, b store.Batch) store.Applied {
	t.Helper()
	return must(n.Apply(context.Background(), b))(t)
}

// pullEvents applies all of a peer's own events: the stream's path.
func (n *node) pullEvents(from *node) store.Applied {
	n.e.Helper()
	return n.apply(n.e, store.Batch{Records: from.outbox(n.e)})
}

// exchange brings each node the other's own events, so that both meet the same
// two versions.
func exchange(a, b *node) {
	a.e.Helper()
	a.pullEvents(b)
	b.pullEvents(a)
	agree(a.e, a, b)
}

// outbox is a peer's own events, as the stream would bring them.
func (n *node) outbox(t failer) (out []store.Incoming) {
	t.Helper()
	events, _, err := n.Outbox(0, 1<<30)
	for i := range must(events, err)(t) {
		out = append(out, store.Incoming{Record: events[i].Record, Event: &events[i], From: n.Identity().Instance})
	}
	return out
}

// pullRecords applies all of a peer's records and adopts its vector: the
// reconciliation's path.
func (n *node) pullRecords(t failer, from *node) store.Applied {
	t.Helper()
	st := from.state(t)
	b := store.Batch{Adopt: st.vector}
	for _, frame := range st.records {
		rec := must(resource.DecodeRecord(frame))(t)
		must(0, rec.Validate())(t)
		b.Records = append(b.Records, store.Incoming{Record: rec, From: from.Identity().Instance})
	}
	return n.apply(t, b)
}

// record reads a record in its replicated form.
func (n *node) record(t failer, id string) resource.Record {
	t.Helper()
	key := must(resource.ParseID(id))(t)
	frame, ok := n.state(t).records[key]
	if !ok {
		t.Fatalf("record %s is not here", id)
	}
	return must(resource.DecodeRecord(frame))(t)
}

// converge exchanges everything until every store has seen all, and fails
// unless they agree byte for byte.
func converge(t failer, nodes ...*node) {
	t.Helper()
	for range 2 { // the first node has all after one round, the rest after two
		for _, n := range nodes {
			for _, peer := range nodes {
				if peer != n {
					n.pullRecords(t, peer)
				}
			}
		}
	}
	agree(t, nodes...)
}

func agree(t failer, nodes ...*node) {
	t.Helper()
	first := nodes[0].state(t)
	for _, n := range nodes[1:] {
		st := n.state(t)
		if st.super != first.super {
			t.Errorf("the roots differ: %v and %v", st.super, first.super)
		}
		st.sameRecords(t, first)
	}
}
