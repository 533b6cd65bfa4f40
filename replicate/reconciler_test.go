package replicate_test

import (
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// ended fails unless exactly one session has ended, with a result.
func ended(r *rig, result string) {
	r.t.Helper()
	s := r.status()
	for name, n := range s.Counters.Sessions {
		if want := map[bool]uint64{true: 1}[name == result]; n != want {
			r.t.Errorf("%d sessions ended in %q, want %d (last error %q)", n, name, want, s.LastError)
		}
	}
}

// agree fails unless two stores hold the same.
func agree(a, b *rig) {
	a.t.Helper()
	if x, y := a.store.Summary(), b.store.Summary(); x.Super != y.Super || x.VectorDigest != y.VectorDigest {
		a.t.Errorf("roots equal: %v, vectors equal: %v", x.Super == y.Super, x.VectorDigest == y.VectorDigest)
	}
}

func TestSession_EqualRootsAndVectorsMatch(t *testing.T) {
	a, b := pair(t)
	a.hear(b)
	none[replicate.Request](a) // the heartbeat says as much
	a.stranger(1, func(hb *wire.Heartbeat) {
		*hb = b.core.Standing(b.now())
		hb.Super[0] ^= 1 // of a moment ago
		hb.Boot++
	})
	e := one[replicate.Request](a)
	data, err := b.answer(e)
	a.step(replicate.Replied{ID: e.ID, Data: data, Err: err})
	none[replicate.Apply](a)
	ended(a, "match")
}

// TestSession_EqualRootsAdoptWhenVectorsDiffer: the same records, known without
// their events.
func TestSession_EqualRootsAdoptWhenVectorsDiffer(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	b.give(a, false)
	a.hear(b)
	e := one[replicate.Request](a)
	data, err := b.answer(e)
	a.step(replicate.Replied{ID: e.ID, Data: data, Err: err})
	adopt := one[replicate.Apply](a)
	if len(adopt.Batch.Records) != 0 || len(adopt.Batch.Adopt) == 0 {
		t.Fatalf("applies %d records, adopts %d entries", len(adopt.Batch.Records), len(adopt.Batch.Adopt))
	}
	a.act(adopt, b.answer)
	ended(a, "match")
	agree(a, b)
}

func TestSession_RepairsBothSides(t *testing.T) {
	a, b := pair(t)
	for _, n := range []string{"1", "2", "3"} {
		a.put("", "a"+n, 1)
		b.put("p", "b"+n, 1)
	}
	a.put("only-here", "x", 1)
	a.hear(b)
	a.do(b.answer)
	ended(a, "repaired")
	agree(a, b)
	if c := a.status().Counters; c.Pulled != 3 || c.Pushed != 4 {
		t.Errorf("pulled %d, pushed %d; want 3 and 4", c.Pulled, c.Pushed)
	}
}

// TestReconciler_BehindWaitsDivergedDoesNot: the stream usually closes a gap;
// equal vectors over different roots it cannot.
func TestReconciler_BehindWaitsDivergedDoesNot(t *testing.T) {
	a, b := pair(t)
	a.hear(b)
	b.put("", "x", 1)
	for range 2 {
		a.hear(b)
		none[replicate.Request](a)
		a.pass(time.Second)
	}
	a.hear(b)
	one[replicate.Request](a)

	r := lone(t)
	r.stranger(1)
	r.stranger(1, func(hb *wire.Heartbeat) { hb.Super[0] ^= 1 })
	one[replicate.Request](r)
}

// TestReconciler_OneSessionWhileAnApplyIsUnderWay: a session that timed out may
// still have a batch on its way to the disk, and a vector to adopt in it.
func TestReconciler_OneSessionWhileAnApplyIsUnderWay(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	b.give(a, false)
	a.hear(b)
	e := one[replicate.Request](a)
	data, err := b.answer(e)
	a.step(replicate.Replied{ID: e.ID, Data: data, Err: err})
	slow := one[replicate.Apply](a)
	a.pass(30 * time.Second)
	ended(a, "error")
	a.stranger(1, func(hb *wire.Heartbeat) { hb.Super[0] ^= 1 })
	a.pass(48 * time.Hour)
	a.stranger(1, func(hb *wire.Heartbeat) { hb.Super[0] ^= 1 })
	none[replicate.Request](a)
	a.act(slow, nil)
	one[replicate.Request](a)
	ended(a, "error")
}

// TestReconciler_BudgetEndsASession that makes progress, but slowly.
func TestReconciler_BudgetEndsASession(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	a.put("", "y", 1)
	a.hear(b)
	slow := func(e replicate.Request) ([]byte, error) {
		a.pass(25 * time.Second)
		return b.answer(e)
	}
	for len(a.todo) > 0 && *a.mono < time.Hour {
		e := a.todo[0]
		a.todo = a.todo[1:]
		if _, ok := e.(replicate.Apply); ok {
			a.pass(25 * time.Second)
		}
		a.act(e, slow)
		for range take[replicate.Broadcast](a) {
			continue
		}
	}
	if a.pass(25 * time.Second); a.sessions("partial")+a.sessions("repaired") != 1 {
		t.Fatalf("sessions %v", a.status().Counters.Sessions)
	}
	ended(a, "partial")
}

// TestReconciler_ReadyAlone: nobody heard for 2 s after the transport is up.
func TestReconciler_ReadyAlone(t *testing.T) {
	r := newRig(t, "a", new(time.Duration))
	ready := func(want bool) {
		t.Helper()
		if s := r.status(); s.Ready != want || (s.Waiting == "") != want {
			t.Errorf("at %s ready %v, waiting for %q; want ready %v", *r.mono, s.Ready, s.Waiting, want)
		}
	}
	r.pass(time.Hour)
	ready(false)
	r.connect()
	r.pass(2*time.Second - 1)
	ready(false)
	r.pass(1)
	ready(true)
	r.step(replicate.TransportChanged{})
	ready(false)
	r.connect()
	ready(true) // what it has seen it has seen
}

// TestReconciler_ReadyAfterTheFirstSession: whoever is heard must be asked
// first, and an error is no answer.
func TestReconciler_ReadyAfterTheFirstSession(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	a.hear(b)
	e := one[replicate.Request](a)
	a.step(replicate.Replied{ID: e.ID, Err: replicate.ErrUnreachable})
	a.pass(5 * time.Second)
	if ended(a, "error"); a.status().Ready {
		t.Fatal("ready after an error")
	}
	a.hear(b)
	a.do(b.answer)
	if !a.status().Ready {
		t.Errorf("not ready after a repair: %v", a.status().Counters.Sessions)
	}
}

func TestReconciler_LostMembersAreNotAsked(t *testing.T) {
	a, b := pair(t)
	a.hear(b)
	a.pass(48 * time.Hour)
	none[replicate.Request](a)
	if !a.status().Ready {
		t.Errorf("a node whose members are all lost is alone")
	}
	if a.status().Peers[0].State != replicate.Lost {
		t.Errorf("state %s", a.status().Peers[0].State)
	}
}

// TestSession_ApplyThatFailsIsAnError, and the next session does it again.
func TestSession_ApplyThatFailsIsAnError(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	a.engine.FailCommit(func() error { return store.ErrNoSpace })
	a.hear(b)
	a.do(b.answer)
	ended(a, "error")
	a.engine.FailCommit(nil)
	a.pass(48 * time.Hour)
	b.core.Step(b.now(), replicate.Tick{})
	a.hear(b)
	a.do(b.answer)
	agree(a, b)
}
