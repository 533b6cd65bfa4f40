package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"pgregory.net/rapid"
)

var modelTests = []test{
	{"Model/P2P5P7/AnyHistoryConvergesAndLosesNothing", testModel},
}

// model is a fleet under random writes and exchanges, and what it was told.
type model struct {
	nodes  []*node
	ids    []resource.ID
	epochs []resource.Epoch
	// accepted are the post-images of the writes that were acknowledged.
	accepted []accepted
}

type accepted struct {
	record resource.Record
	at     resource.Point
}

func testModel(e *env) {
	rapid.Check(e.T, func(t *rapid.T) {
		m := &model{epochs: []resource.Epoch{{}}}
		seeded := &env{T: e.T, backend: e.backend} // the same ids in every run, or nothing shrinks
		for range rapid.IntRange(2, 3).Draw(t, "nodes") {
			n := seeded.unchecked()
			t.Cleanup(func() { _ = n.Close() })
			if m.nodes = append(m.nodes, n); len(m.nodes) == 1 {
				n.applyKinds()
			}
			n.wall.advance(time.Duration(rapid.IntRange(-2, 2).Draw(t, "skew")) * time.Second)
			n.pullEvents(m.nodes[0])
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": m.write, "write more": m.write, "write most": m.write,
			"stream": m.stream, "reconcile": m.reconcile, "tick": m.tick, "restart": m.restart,
		})
		converge(t, m.nodes...)
		for _, n := range m.nodes {
			n.verifyFor(t)
			m.checkDominance(t, n)
		}
		m.checkWinners(t)
		m.checkNothingLost(t)
	})
}

func (m *model) node(t *rapid.T, what string) *node { return pick(t, what, m.nodes...) }

// pick draws one of several, by its index: what a failure prints stays short.
func pick[V any](t *rapid.T, what string, from ...V) V {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

func (m *model) tick(t *rapid.T) {
	m.node(t, "node").wall.advance(time.Duration(rapid.IntRange(-3, 5).Draw(t, "seconds")) * time.Second)
}

func (m *model) restart(t *rapid.T) {
	n := m.node(t, "node")
	if n.e.backend.Reopen != nil && rapid.IntRange(0, 3).Draw(t, "really") == 0 {
		n.reopen()
	}
}

// stream brings some of a peer's events, in any order.
func (m *model) stream(t *rapid.T) {
	to, from := m.node(t, "to"), m.node(t, "from")
	if to == from {
		return
	}
	events := from.outbox(t)
	start := rapid.IntRange(0, len(events)).Draw(t, "start")
	events = events[start:min(len(events), start+rapid.IntRange(0, 8).Draw(t, "length"))]
	if rapid.Bool().Draw(t, "reversed") {
		slices.Reverse(events)
	}
	to.apply(t, store.Batch{Records: events})
}

func (m *model) reconcile(t *rapid.T) {
	if to, from := m.node(t, "to"), m.node(t, "from"); to != from {
		to.pullRecords(t, from)
	}
}

// allowed are the ways in which a write may be refused.
var allowed = []error{
	resource.ErrNotFound, resource.ErrConflict, resource.ErrExists, resource.ErrOutranked,
	resource.ErrFenced, resource.ErrOwnerConflict, resource.ErrInvalid,
}

func (m *model) write(t *rapid.T) {
	n := m.node(t, "node")
	w := m.draw(t, n)
	out, err := n.Write(context.Background(), w)
	switch {
	case err != nil:
		if !slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }) {
			t.Fatalf("write %+v: %v", w, err)
		}
	case out.Changed:
		var entry store.Entry
		_, err := n.Entries(out.Seq-1, 1, func(e store.Entry) error { entry = e; return nil })
		if err != nil || entry.Seq != out.Seq || entry.Event == nil || entry.Event.Seq != out.OriginSeq {
			t.Fatalf("write %+v is not in the log: %+v, %v", out, entry, err)
		}
		at := resource.Point{HLC: out.HLC, Writer: out.Incarnation}
		m.accepted = append(m.accepted, accepted{entry.Record, at})
		m.ids = append(m.ids, entry.Record.ID)
		m.epochs = append(m.epochs, entry.Record.Fence)
	}
}

// draw makes up a write: by name, or by the id of a record that some node has.
func (m *model) draw(t *rapid.T, n *node) store.Write {
	r := pick(t, "record", skill("a", ""), skill("b", ""), slot("c", ""))
	w := store.Write{
		Op:   pick[store.Op](t, "op", 0, 0, 0, 1, 2, 2, 3, 4, 5, 6),
		Kind: r.Kind, Name: r.Name,
		Actor: pick(t, "actor", resource.Agent, resource.Agent, resource.System, resource.Human),
		Owner: pick(t, "owner", "", "", "", "ctl"),
	}
	if rapid.IntRange(0, 3).Draw(t, "with epoch") == 0 {
		w.Epoch = pick(t, "epoch", m.epochs...)
	}
	if len(m.ids) > 0 && rapid.IntRange(0, 3).Draw(t, "by id") == 0 {
		w.ID = pick(t, "id", m.ids...)
		if known, err := n.GetByID(context.Background(), w.ID.String()); err == nil {
			r = known // with its tokens
		}
	}
	r.Spec = pick(t, "spec", nil, []byte(`{"size":1}`), []byte(`{"size":2}`))
	r.Status = pick(t, "status", nil, []byte("1"), []byte("2"))
	if !r.Terminating() || rapid.Bool().Draw(t, "finalizers change") {
		r.Finalizers = pick(t, "finalizers", nil, nil, []string{"f"}, []string{"g"}, []string{"f", "g"})
	}
	w.Resource = r
	if rapid.Bool().Draw(t, "in part") {
		w.Given = &resource.Given{}
	}
	return w
}

func describe(r *resource.Record) string {
	return fmt.Sprintf("%s %q desired %+v deletion %+v finalizers %+v", r.ID, r.Name, r.Desired.Stamp, r.Deletion, r.Finalizers)
}
