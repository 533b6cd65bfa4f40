package storetest

import (
	"fmt"

	"driftless.dev/store"
)

var vectorTests = []test{
	{"Vector/MovesByEventsInOrder", testVectorMoves},
	{"Vector/GapHoldsItUntilFilled", testVectorGap},
	{"Vector/GapWithinABatchIsNone", testVectorBatch},
	{"Vector/RecordAloneDoesNotMoveIt", testVectorRecord},
	{"Vector/AdoptionClosesAGap", testVectorAdopts},
	{"Vector/ForeignChainDoesNotMoveIt", testVectorFork},
	{"Vector/OwnEntryIsTheHead", testVectorOwn},
}

// written is a pair where a has written events after those that b holds.
func (e *env) written(events int) (a, b *node, news []store.Incoming) {
	a, b = e.pair()
	held := len(a.outbox(e))
	for i := range events {
		a.put(skill(fmt.Sprint("n", i), ""))
	}
	return a, b, a.outbox(e)[held:]
}

// behind is how many of a peer's events are not covered.
func (n *node) behind(peer *node) int {
	return int(peer.Head().Own.Seq - n.State().Vector[peer.Identity().Incarnation].Seq)
}

func (n *node) wantBehind(peer *node, want int) {
	n.e.Helper()
	if got := n.behind(peer); got != want {
		n.e.Errorf("behind by %d events, want %d", got, want)
	}
}

func testVectorMoves(e *env) {
	a, b, news := e.written(4)
	for i := range news {
		out := b.apply(e, store.Batch{Records: news[i : i+1]})
		b.wantBehind(a, 3-i)
		if p := out.Covered[a.Identity().Incarnation]; p.Seq != news[i].Event.Seq || p.HLC != news[i].Event.HLC || p.Hash != news[i].Event.Hash() {
			e.Errorf("event %d: covered %+v", i, p)
		}
	}
	b.reopenIfPossible()
	b.wantBehind(a, 0)
	if p := b.State().Vector[a.Identity().Incarnation]; p != a.Head().Own {
		e.Errorf("position %+v, the peer's own %+v", p, a.Head().Own)
	}
}

func testVectorGap(e *env) {
	a, b, news := e.written(5)
	for _, i := range []int{2, 4, 1} {
		b.apply(e, store.Batch{Records: news[i : i+1]})
		b.wantBehind(a, 5)
	}
	b.get("n4") // in the state, not covered
	b.apply(e, store.Batch{Records: news[:1]})
	b.wantBehind(a, 2)
	b.apply(e, store.Batch{Records: news[3:4]})
	b.wantBehind(a, 0)
	agree(e, a, b)
}

func testVectorBatch(e *env) {
	a, b, news := e.written(3)
	b.apply(e, store.Batch{Records: []store.Incoming{news[2], news[1], news[0]}})
	b.wantBehind(a, 0)
}

func testVectorRecord(e *env) {
	a, b, news := e.written(1)
	b.apply(e, store.Batch{Records: []store.Incoming{{Record: news[0].Record, From: news[0].From}}})
	b.get("n0")
	b.wantBehind(a, 1)
}

func testVectorAdopts(e *env) {
	a, b, news := e.written(4)
	b.apply(e, store.Batch{Records: news[3:]}) // comes early
	at := store.Vector{a.Identity().Incarnation: {Seq: news[2].Event.Seq, HLC: news[2].Event.HLC, Hash: news[2].Event.Hash()}}
	var records []store.Incoming
	for _, in := range news[:3] {
		records = append(records, store.Incoming{Record: in.Record, From: in.From})
	}
	b.apply(e, store.Batch{Records: records, Adopt: at})
	b.wantBehind(a, 0) // with the one that came early
	// An older vector takes nothing back, one's own entry is not a peer's say.
	at[a.Identity().Incarnation] = store.Position{Seq: 1}
	at[b.Identity().Incarnation] = store.Position{Seq: 99}
	b.apply(e, store.Batch{Adopt: at})
	b.wantBehind(a, 0)
	if own := b.State().Vector[b.Identity().Incarnation]; own != b.Head().Own {
		e.Errorf("own position %+v", own)
	}
}

// An event that does not chain to the one before it is of a fork: it does not
// move the vector.
func testVectorFork(e *env) {
	a, b, news := e.written(2)
	forked := *news[0].Event
	forked.PrevHash[0] ^= 1
	b.apply(e, store.Batch{Records: []store.Incoming{{Record: news[0].Record, Event: &forked, From: news[0].From}}})
	b.wantBehind(a, 2)
	b.apply(e, store.Batch{Records: news})
	b.wantBehind(a, 0)
}

func testVectorOwn(e *env) {
	n := e.bare()
	if v := n.State().Vector; len(v) != 0 {
		e.Errorf("an empty store's vector is %v", v)
	}
	n.applyKinds()
	if v := n.State().Vector; v[n.Identity().Incarnation] != n.Head().Own || n.Head().Own.Seq != 3 {
		e.Errorf("vector %v, head %+v", v, n.Head())
	}
}
