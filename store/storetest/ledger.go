package storetest

import (
	"fmt"
	"maps"
	"time"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

var ledgerTests = []test{
	{"Ledger/P5/ConcurrentLoserIsKept", testLoserKept},
	{"Ledger/NamesRegisterAndReason", testLossReasons},
	{"Ledger/KnowinglyReplacedIsNoLoss", testKnowingly},
	{"Ledger/KnowledgeReachesThroughTheChain", testChain},
	{"Ledger/DeletionAndPutThatUndoEachOther", testUndone},
	{"Ledger/SameValueTwiceIsNoLoss", testSameValue},
	{"Ledger/LossIsEnteredOnce", testLossOnce},
	{"Ledger/P5/FinalizersOverTheBound", testFinalizersOverTheBound},
}

func (n *node) losses() []store.Loss {
	n.e.Helper()
	return must(n.Ledger(100))(n.e)
}

func testLoserKept(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	mine := a.put(skill("a", `{"size":2}`))
	b.wall.advance(time.Hour)
	theirs := b.put(skill("a", `{"size":3}`))
	exchange(a, b)
	a.reopenIfPossible()
	for n, from := range map[*node]*node{a: b, b: a} {
		lost := n.losses()
		if len(lost) != 1 || lost[0].Register != "desired" || lost[0].Stamp != mine.DesiredStamp || lost[0].Winner != theirs.DesiredStamp.Point() ||
			lost[0].From != from.Identity().Instance || string(lost[0].Record.Desired.Value.Spec) != `{"size":2}` || lost[0].At == 0 {
			e.Errorf("ledger %+v", lost)
		}
	}
}

// spec writes a Skill's spec and leaves the other parts.
func spec(text string) store.Write {
	return store.Write{Resource: skill("a", text), Given: &resource.Given{}}
}

func testLossReasons(e *env) {
	for _, c := range []struct {
		loser, winner store.Write
		register      string
		reason        resolve.Reason
	}{
		{spec(`{"size":1}`), spec(`{"size":2}`), "desired", resolve.Later},
		{spec(`{"size":1}`), by(resource.Human, spec(`{"size":2}`)), "desired", resolve.Outranked},
		{by(resource.Human, spec(`{"size":1}`)), by(resource.Human, at(store.OpRelease, "a")), "desired", resolve.Released},
		{spec(`{"size":1}`), at(store.OpClaim, "a"), "desired", resolve.Fenced},
		{at(store.OpDelete, "a"), at(store.OpTeardown, "a"), "deletion", resolve.Later},
		{statusWrite("a", "1"), statusWrite("a", "2"), "observed", resolve.Later},
	} {
		a, b := e.pair()
		a.put(finalizers(status(skill("a", ""), "0"), "f"))
		b.pullEvents(a)
		a.write(c.loser)
		b.wall.advance(time.Hour)
		b.write(c.winner)
		exchange(a, b)
		for _, n := range []*node{a, b} {
			if lost := n.losses(); len(lost) != 1 || lost[0].Register != c.register || lost[0].Reason != c.reason {
				e.Errorf("want %s %s, ledger %+v", c.register, c.reason, lost)
			}
		}
	}
}

func testKnowingly(e *env) {
	a, b := e.pair()
	for i, n := range []*node{a, b, a, b} {
		a.pullEvents(b)
		b.pullEvents(a)
		n.put(status(skill("a", `{"size":`+string(rune('0'+i))+`}`), string(rune('0'+i))))
	}
	a.pullEvents(b)
	a.remove("a")
	converge(e, a, b)
	if len(a.losses())+len(b.losses()) != 0 {
		e.Errorf("ledgers %+v, %+v", a.losses(), b.losses())
	}
}

// A version that a peer missed several successors of was replaced knowingly.
func testChain(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":0}`))
	b.pullEvents(a)
	for i := range 40 {
		b.put(skill("a", `{"size":`+string(rune('1'+i%9))+`}`))
	}
	b.put(skill("a", `{"size":100}`), human)
	converge(e, a, b)
	if len(a.losses())+len(b.losses()) != 0 {
		e.Errorf("ledgers %+v, %+v", a.losses(), b.losses())
	}
}

// A put that a concurrent delete buried, and a delete that a concurrent put took
// back, stand in the record still; neither knew of the other.
func testUndone(e *env) {
	for register, later := range map[string]string{"desired": "delete", "deletion": "put"} {
		a, b := e.pair()
		a.put(skill("a", ""))
		b.pullEvents(a)
		for n, what := range map[*node]string{a: "delete", b: "put"} {
			if what == later {
				n.wall.advance(time.Hour)
			}
		}
		a.remove("a")
		b.put(skill("a", `{"size":1}`))
		exchange(a, b)
		for _, n := range []*node{a, b} {
			if lost := n.losses(); len(lost) != 1 || lost[0].Register != register || lost[0].Reason != resolve.Later ||
				string(lost[0].Record.Desired.Value.Spec) != `{"size":1}` {
				e.Errorf("with the later %s: ledger %+v", later, lost)
			}
		}
	}
}

// Two who wrote the same have lost nothing.
func testSameValue(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	for _, n := range []*node{a, b} {
		n.wall.advance(time.Second)
		n.put(status(skill("a", `{"size":1}`), "1"))
	}
	converge(e, a, b)
	if len(a.losses())+len(b.losses()) != 0 {
		e.Errorf("ledgers %+v, %+v", a.losses(), b.losses())
	}
}

func testLossOnce(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	a.put(skill("a", `{"size":1}`))
	loser := a.outbox(e)
	b.wall.advance(time.Hour)
	b.put(skill("a", `{"size":2}`))
	if out := b.apply(e, store.Batch{Records: loser}); out.Conflicts != 1 {
		e.Errorf("the first time: %+v", out)
	}
	seq := b.Head().Seq
	for range 3 {
		if out := b.apply(e, store.Batch{Records: loser}); out.Conflicts != 0 || b.Head().Seq != seq {
			e.Errorf("again: %+v", out)
		}
	}
	if len(b.losses()) != 1 {
		e.Errorf("ledger %+v", b.losses())
	}
}

// Two nodes that each fill a record up to the bound drop the lower half between
// them: each of those is in both ledgers, once.
func testFinalizersOverTheBound(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	dropped := map[string]resource.Point{}
	for n, prefix := range map[*node]string{a: "low", b: "high"} {
		keys := make([]string, resource.MaxFinalizers)
		for i := range keys {
			keys[i] = fmt.Sprintf("%s.example.dev/%02d", prefix, i)
		}
		if n == b {
			n.wall.advance(time.Hour)
		}
		n.put(finalizers(skill("a", ""), keys...))
	}
	for _, f := range a.record(e, a.get("a").ID).Finalizers {
		dropped[resolve.FinalizerRegister(f.Key)] = f.At
	}
	converge(e, a, b)
	exchange(a, b)
	for _, n := range []*node{a, b} {
		lost, seen := n.losses(), map[string]resource.Point{}
		for _, l := range lost {
			if l.Reason == resolve.Overfull {
				seen[l.Register] = l.Stamp.Point()
			}
		}
		if !maps.Equal(seen, dropped) || len(lost) != len(dropped) {
			e.Errorf("%d losses name %v, want %v", len(lost), seen, dropped)
		}
	}
}
