package resolve_test

import (
	"fmt"
	"math/rand/v2"

	"driftless.dev/hlc"
	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// A history is what a few nodes did to one record: writes by the real stamper,
// and partial syncs. It is a function of its seed.
type history struct {
	// posts are the post-images of all writes, in the order they were made.
	posts []resource.Record
	nodes []*node
	// losses are the results of every sync.
	losses []resolve.Result
	// unabsorbed are writes that, joined with what they replaced, do not win.
	unabsorbed []string
	// died are the incarnations under which some node held a tombstone.
	died map[resource.Point]bool
	oracle
}

type node struct {
	store.Stamper
	clock hlc.Timestamp
	rec   *resource.Record
}

type shape struct {
	nodes, ops int
	// clone gives the first two nodes one incarnation id; named lets nodes
	// create the record apart, as kinds of identity "name" do.
	clone, named bool
}

var values = []string{`{"size":0}`, `{"size":1}`}

func simulate(seed uint64, s shape) *history {
	rng := rand.New(rand.NewPCG(seed, 0))
	h := &history{died: map[resource.Point]bool{}, oracle: newOracle()}
	for i := range s.nodes {
		writer := byte(i + 1)
		if s.clone && i == 1 {
			writer = 1
		}
		h.nodes = append(h.nodes, &node{
			Stamper: store.Stamper{Instance: resource.ID{1, 15: byte(i + 1)}, Incarnation: resource.ID{15: writer}},
			clock:   hlc.At(rng.Int64N(4), 0),
		})
	}
	h.put(h.nodes[0], rng)
	for _, n := range h.nodes[1:] {
		if s.named && rng.IntN(2) == 0 {
			h.put(n, rng)
		} else {
			h.sync(n, h.nodes[0])
		}
	}
	for range s.ops {
		n := h.nodes[rng.IntN(s.nodes)]
		if rng.IntN(4) == 0 {
			h.sync(n, h.nodes[rng.IntN(s.nodes)])
			continue
		}
		h.op(n, rng)
	}
	return h
}

func (h *history) put(n *node, rng *rand.Rand) {
	w := store.Write{Actor: resource.Actor(rng.IntN(3)), Resource: resource.Resource{
		APIVersion: "v1", Kind: "Note", Name: "n", Spec: []byte(values[rng.IntN(2)]),
	}, Given: &resource.Given{}}
	if rng.IntN(2) == 0 {
		w.Given.Finalizers = true
		w.Resource.Finalizers = [][]string{nil, {"f"}, {"g"}, {"f", "g"}}[rng.IntN(4)]
	}
	h.write(n, rng, "put", w)
}

func (h *history) op(n *node, rng *rand.Rand) {
	w := store.Write{Actor: resource.Actor(rng.IntN(3))}
	switch k := rng.IntN(9); k {
	case 0, 1, 2:
		h.put(n, rng)
	case 3:
		w.Op = store.OpDelete
		h.write(n, rng, "delete", w)
	case 4:
		w.Op = []store.Op{store.OpTeardown, store.OpDestroy}[rng.IntN(2)]
		h.write(n, rng, "teardown", w)
	case 5, 6:
		w.Resource.Status = []byte(values[rng.IntN(2)])
		h.write(n, rng, "status", w)
	case 7:
		w.Actor = resource.Human
		h.write(n, rng, "release", w)
	case 8:
		h.write(n, rng, "claim", w)
	}
}

// write lets the stamper judge a write; a refused one leaves no trace.
func (h *history) write(n *node, rng *rand.Rand, op string, w store.Write) {
	now := n.clock.Add(1e6)
	if n.rec != nil && rng.IntN(2) == 0 {
		w.Epoch = n.rec.Fence
	}
	post, err := stamp(n, op, &w, now)
	if err != nil || !post.Changed {
		return
	}
	h.learn(n.rec, &post.Record)
	if n.rec != nil {
		if got := resolve.Merge(n.rec, &post.Record); string(got.Record.AppendTo(nil)) != string(post.Record.AppendTo(nil)) {
			h.unabsorbed = append(h.unabsorbed, fmt.Sprintf("%s at %s", op, now))
		}
	}
	n.clock, n.rec = now, &post.Record
	h.posts = append(h.posts, post.Record)
	h.note(n.rec)
}

func stamp(n *node, op string, w *store.Write, now hlc.Timestamp) (store.Post, error) {
	switch op {
	case "put":
		return n.Put(n.rec, w, resource.ID{15: 7}, now)
	case "status":
		return n.Status(n.rec, w, now)
	case "release":
		return n.Release(n.rec, w, now)
	case "claim":
		return n.Claim(n.rec, w, now)
	default:
		return n.Delete(n.rec, w, now)
	}
}

func (h *history) sync(n, from *node) {
	if from.rec == nil || n == from {
		return
	}
	res := resolve.Merge(n.rec, from.rec)
	h.losses = append(h.losses, res)
	h.met(n.rec, from.rec, &res.Record)
	n.rec = &res.Record
	for p := range n.rec.Points() {
		n.clock = max(n.clock, p.HLC)
	}
	h.note(n.rec)
}

func (h *history) note(r *resource.Record) {
	if r.Deleted() {
		h.died[r.Incarnation()] = true
	}
}

// mergeAll joins records in the order given.
func mergeAll(records ...resource.Record) resource.Record {
	out := records[0]
	for i := range records[1:] {
		out = resolve.Merge(&out, &records[i+1]).Record
	}
	return out
}

func encoded(r resource.Record) string { return string(r.AppendTo(nil)) }
