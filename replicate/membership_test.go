package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/replicate"
	"driftless.dev/store"
	"driftless.dev/wire"
)

func TestMembership_SilenceIsSuspectThenLost(t *testing.T) {
	r := lone(t)
	r.stranger(1)
	for _, c := range []struct {
		pass time.Duration
		want replicate.PeerState
	}{
		{3 * time.Second, replicate.Alive},
		{1, replicate.Suspect},
		{7*time.Second - 1, replicate.Suspect},
		{1, replicate.Lost},
	} {
		r.pass(c.pass)
		if got := r.status().Peers[0].State; got != c.want {
			t.Errorf("%s after the last heartbeat: %s, want %s", *r.mono, got, c.want)
		}
	}
	r.stranger(1)
	if got := r.status().Peers[0].State; got != replicate.Alive {
		t.Errorf("heard again: %s", got)
	}
}

func TestMembership_ReferenceIsAMedianOfThreeClocks(t *testing.T) {
	r := lone(t)
	check := func(when string, sure bool, want time.Duration) {
		t.Helper()
		if s := r.status(); s.ClockSure != sure || s.ClockOffset != want {
			t.Errorf("%s: sure %v, offset %s; want %v, %s", when, s.ClockSure, s.ClockOffset, sure, want)
		}
	}
	check("alone", false, 0)
	r.stranger(1, ahead(time.Hour))
	check("two clocks", false, 0)
	r.stranger(2, ahead(10*time.Second))
	check("three clocks", true, -10*time.Second)
	r.stranger(3, ahead(20*time.Second))
	check("four clocks, mean of the middle", true, -15*time.Second)
	r.pass(11 * time.Second)
	check("all lost", false, 0)
}

// TestMembership_OwnWallStepShowsAtOnce: peers' clocks go on by the monotonic
// clock, so a step of this one is seen before anybody is heard again.
func TestMembership_OwnWallStepShowsAtOnce(t *testing.T) {
	r := lone(t)
	r.stranger(1)
	r.stranger(2)
	stamp := func() hlc.Timestamp { return hlc.At(r.wall().UnixMilli(), 0) }
	if err := r.core.Guard(r.now(), stamp()); err != nil {
		t.Fatal(err)
	}
	*r.mono += 2 * time.Second // nobody is wrong by that
	if s := r.status(); s.ClockOffset != 0 {
		t.Errorf("offset %s after two silent seconds, want 0", s.ClockOffset)
	}
	r.skew = time.Hour
	if s := r.status(); s.ClockOffset != time.Hour {
		t.Errorf("offset %s after a step of an hour", s.ClockOffset)
	}
	if err := r.core.Guard(r.now(), stamp()); !errors.Is(err, replicate.ErrClock) {
		t.Errorf("guard says %v, want ErrClock", err)
	}
}

func TestMembership_PeriodGrowsWithMembers(t *testing.T) {
	r := lone(t)
	for n := range 300 {
		r.stranger(n)
	}
	take[replicate.Broadcast](r)
	r.pass(time.Second)
	one[replicate.Broadcast](r)
	r.pass(3*time.Second - 1)
	none[replicate.Broadcast](r)
	r.pass(1)
	one[replicate.Broadcast](r)
}

// told lists the incarnations that the next heartbeat carries.
func told(r *rig) (out []int) {
	r.t.Helper()
	take[replicate.Broadcast](r)
	r.pass(time.Second)
	hb, err := r.fleet.ReadHeartbeat(one[replicate.Broadcast](r).Data)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range hb.Changed {
		out = append(out, int(p.Incarnation[14])<<8|int(p.Incarnation[15]))
	}
	return out
}

// move sets the vector's entries of made-up incarnations to seq.
func move(r *rig, from, to int, seq uint64) {
	r.t.Helper()
	v := store.Vector{}
	for n := from; n < to; n++ {
		v[id(2, n)] = store.Position{Seq: seq, HLC: 1}
	}
	if _, err := r.store.Apply(context.Background(), store.Batch{Adopt: v}); err != nil {
		r.t.Fatal(err)
	}
}

func TestMembership_HeartbeatsTellEveryChangeInParts(t *testing.T) {
	r := lone(t)
	move(r, 0, 150, 1)
	heard := map[int]bool{}
	for _, want := range []int{64, 64, 22, 0} {
		entries := told(r)
		if len(entries) != want {
			t.Errorf("heartbeat with %d entries, want %d", len(entries), want)
		}
		for _, n := range entries {
			heard[n] = true
		}
	}
	if len(heard) != 150 {
		t.Errorf("%d entries told, want all 150", len(heard))
	}
	move(r, 7, 8, 2)
	if got := fmt.Sprint(told(r)); got != "[7]" {
		t.Errorf("then changed %s, want [7]", got)
	}
}

// ackTo decodes an acknowledgement.
func ackTo(r *rig, e replicate.Request) wire.Ack {
	r.t.Helper()
	ack, err := r.fleet.ReadAck(e.Data)
	if err != nil || e.Verb != replicate.VerbApplied {
		r.t.Fatalf("not an acknowledgement: %s, %v", e.Verb, err)
	}
	return ack
}

// TestMembership_AcksAreGathered: one origin's events within 20 ms are one
// acknowledgement, of the last; a lost origin is told nothing.
func TestMembership_AcksAreGathered(t *testing.T) {
	a, b := pair(t)
	a.hear(b)
	for i := range 3 {
		w := b.put("", fmt.Sprint("m", i), 1)
		a.step(b.message(uint64(i), b.events(w.Seq-1)...))
		a.act(one[replicate.Apply](a), nil)
		a.pass(9 * time.Millisecond)
		if i < 2 {
			none[replicate.Request](a)
		}
	}
	e := one[replicate.Request](a)
	if ack := ackTo(a, e); e.To != b.store.Identity().Instance || ack.Position.Seq != 4 || ack.From != a.store.Identity().Instance {
		t.Errorf("acknowledged %d to %s", ack.Position.Seq, e.To)
	}
	a.pass(11 * time.Second)
	w := b.put("", "late", 1)
	a.step(b.message(9, b.events(w.Seq-1)...))
	a.act(one[replicate.Apply](a), nil)
	a.pass(20 * time.Millisecond)
	none[replicate.Request](a)
}

func TestMembership_AcksCountUntilTheMemberRollsBack(t *testing.T) {
	r := lone(t)
	r.registerKind()
	for i := range 9 {
		r.put("", fmt.Sprint("m", i), 1)
	}
	own := func(seq uint64) func(*wire.Heartbeat) {
		return func(hb *wire.Heartbeat) { hb.Own.Seq = seq; hb.VectorDigest[0] ^= 1 }
	}
	ack := func(seq uint64) {
		m := wire.Ack{From: id(1, 1), Position: wire.Position{Incarnation: r.store.Identity().Incarnation, Seq: seq}}
		r.step(replicate.Acked{Data: r.fleet.AppendAck(nil, &m)})
	}
	applied := func(want uint64) {
		t.Helper()
		if got := r.status().Peers[0].Applied; got != want {
			t.Errorf("applied %d, want %d", got, want)
		}
	}
	r.stranger(1, own(5))
	ack(7)
	ack(3)
	applied(7)
	r.stranger(1, own(4)) // its log is shorter than it was
	applied(0)
	r.step(replicate.Acked{Data: []byte{0xc1}})
	if got := r.status().Counters.Rejected; got != 1 {
		t.Errorf("rejected %d, want 1", got)
	}
	r.stranger(1, own(4), func(hb *wire.Heartbeat) {
		hb.Changed = []wire.Position{{Incarnation: r.store.Identity().Incarnation, Seq: 2, HLC: 1}}
	})
	applied(2)
}

func TestMembership_ForeignHeartbeatsAndOwnClones(t *testing.T) {
	r := lone(t)
	other, err := wire.NewFleet("other", nil)
	if err != nil {
		t.Fatal(err)
	}
	hb := r.core.Standing(r.now())
	r.step(replicate.Heard{Data: other.AppendHeartbeat(nil, &hb)})
	r.step(replicate.Heard{Data: nil})
	r.step(replicate.Heard{Data: r.heartbeat()}) // its own, echoed
	hb.Boot++
	hb.WallMillis += 1000
	r.step(replicate.Heard{Data: r.fleet.AppendHeartbeat(nil, &hb)})
	s := r.status()
	if s.Counters.ForeignHeartbeats != 2 || s.Foreign == "" || s.Counters.OwnClones != 1 || len(s.Peers) != 0 {
		t.Errorf("foreign %d (%q), clones %d, peers %d; want 2, a reason, 1, 0",
			s.Counters.ForeignHeartbeats, s.Foreign, s.Counters.OwnClones, len(s.Peers))
	}
}
