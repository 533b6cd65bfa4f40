package resolve_test

import (
	"math/rand/v2"
	"testing"

	"driftless.dev/resolve"
	"driftless.dev/resource"
)

var shapes = map[string]shape{
	"unique ids":                 {nodes: 3, ops: 8},
	"identity by name":           {nodes: 3, ops: 8, named: true},
	"clone":                      {nodes: 3, ops: 8, clone: true},
	"clone and identity by name": {nodes: 3, ops: 8, clone: true, named: true},
}

const histories = 400

// search runs check on many histories of every shape; a failure names the seed.
func search(t *testing.T, check func(t *testing.T, s shape, h *history)) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(histories) {
				if check(t, s, simulate(seed, s)); t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// The first model, over the real code: up to five post-images of a history
// come to the same bytes in every order, and no counter ever falls.
func TestSearch_OrderDoesNotMatter(t *testing.T) {
	search(t, func(t *testing.T, _ shape, h *history) {
		posts := h.posts
		rand.New(rand.NewPCG(uint64(len(posts)), 1)).Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
		posts = posts[:min(5, len(posts))]
		want := mergeAll(posts...)
		permute(posts, func(posts []resource.Record) {
			var now *resource.Record
			for i := range posts {
				res := resolve.Merge(now, &posts[i])
				if now != nil && (res.Record.SyncVersion < now.SyncVersion || res.Record.Version < now.Version || res.Record.Fence.Compare(now.Fence) < 0) {
					t.Error("a counter fell")
				}
				now = &res.Record
			}
			if encoded(*now) != encoded(want) || now.Digest() != want.Digest() {
				t.Error("another order gives another record")
			}
		})
	})
}

// permute calls visit with every order of the records.
func permute(records []resource.Record, visit func([]resource.Record)) {
	var from func(i int)
	from = func(i int) {
		if i == len(records) {
			visit(records)
			return
		}
		for j := i; j < len(records); j++ {
			records[i], records[j] = records[j], records[i]
			from(i + 1)
			records[i], records[j] = records[j], records[i]
		}
	}
	from(0)
}

// The second model: a record that some node held as a tombstone stays under
// deletion, or has another incarnation. (It may fall back from deleted to
// terminating, when a finalizer or a teardown of higher rank comes in.) Clones
// aside: they forge stamps.
func TestSearch_ReturnsUnderAnotherIncarnation(t *testing.T) {
	search(t, func(t *testing.T, s shape, h *history) {
		if all := mergeAll(h.posts...); !s.clone && !all.Requested() && h.died[all.Incarnation()] {
			t.Errorf("live again under incarnation %s", all.Incarnation())
		}
	})
}

// A write that a node accepts wins against what it was made upon: else the
// state of its writer would not be the fold of its log.
func TestSearch_WritesAbsorbTheirPredecessor(t *testing.T) {
	search(t, func(t *testing.T, s shape, h *history) {
		if len(h.unabsorbed) > 0 {
			t.Errorf("writes that lose against their own predecessor: %v", h.unabsorbed)
		}
	})
}

// The incarnation moves by deletions alone: records created apart agree on it
// whatever their creation stamps, and a status shows unless a deletion that
// its writer did not see hides it.
func TestSearch_IncarnationsMoveByDeletionsAlone(t *testing.T) {
	search(t, func(t *testing.T, _ shape, h *history) {
		if len(h.moved) > 0 {
			t.Errorf("%v, and no deletion did it", h.moved)
		}
	})
}

// A write that was made upon another, in its own register or in the one that
// can undo it, is never reported as a loss of it.
func TestSearch_KnownValuesAreNoLosses(t *testing.T) {
	search(t, func(t *testing.T, s shape, h *history) {
		for _, res := range h.losses {
			for _, l := range res.Losers {
				lost, won := write{l.Register, l.Stamp.Point()}, l.Winner.Point()
				if !s.clone && (lost.at == won || h.knew(won, lost)) {
					t.Errorf("%s %s was replaced knowingly by %s", l.Register, lost.at, won)
				}
			}
		}
	})
}

// No silent lost update: once all nodes have met, every write of a register
// shows, or a later one was made upon it, or it is in some node's ledger, or it
// gave way to one that said the same and of which this holds. A put that stands
// in a tombstone does not show, nor does a deletion that was taken back.
func TestSearch_NothingIsLostSilently(t *testing.T) {
	search(t, func(t *testing.T, s shape, h *history) {
		if s.clone {
			return
		}
		for range h.nodes {
			for i, n := range h.nodes {
				h.sync(n, h.nodes[(i+1)%len(h.nodes)])
			}
		}
		for _, w := range h.unaccounted(h.nodes[0].rec) {
			t.Errorf("%s at %s is lost without a trace", w.register, w.at)
		}
	})
}

// Only two nodes with one incarnation id make two writes with one stamp.
func TestSearch_CloneIsRaisedByClonesAlone(t *testing.T) {
	found := 0
	search(t, func(t *testing.T, s shape, h *history) {
		for _, res := range h.losses {
			if res.Clone && !s.clone {
				t.Error("clone raised without one")
			}
		}
	})
	for seed := range uint64(histories) {
		for _, res := range simulate(seed, shapes["clone"]).losses {
			if res.Clone {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no history of clones raised it")
	}
}
