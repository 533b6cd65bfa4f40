package replicate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/wire"
)

// What was found wrong once and was mended.

// TestMembership_BusyEntriesDoNotStarveTheOthers: more than 64 incarnations
// that write all the time, and one beyond them.
func TestMembership_BusyEntriesDoNotStarveTheOthers(t *testing.T) {
	r := lone(t)
	heard := map[int]bool{}
	for round := range uint64(10) {
		move(r, 0, 100, round+1)
		for _, n := range told(r) {
			heard[n] = true
		}
	}
	if len(heard) != 100 {
		t.Errorf("%d of 100 entries were told in ten heartbeats", len(heard))
	}
}

// TestWake_RememberedAfterAnAdmit: a push that is judged between two steps must
// not make a timer that was due meanwhile be forgotten.
func TestWake_RememberedAfterAnAdmit(t *testing.T) {
	a, b := pair(t)
	a.hear(b)
	w := b.put("", "x", 1)
	a.step(b.message(1, b.events(w.Seq-1)...))
	a.act(one[replicate.Apply](a), nil)
	due := a.core.Wake()
	*a.mono += 25 * time.Millisecond
	if _, _, err := a.core.Admit(a.now(), id(1, 1), nil); err != nil {
		t.Fatal(err)
	}
	if got := a.core.Wake(); got > due {
		t.Errorf("the acknowledgement was due at %s, the core wakes at %s", due, got)
	}
}

// TestSession_LargeRecordThatChangesItsSize: honest members do that.
func TestSession_LargeRecordThatChangesItsSize(t *testing.T) {
	for _, size := range []int{1, 200 << 10, 440 << 10, 460 << 10} {
		t.Run(fmt.Sprint("size=", size), func(t *testing.T) {
			a, b := pair(t)
			b.put("", "large", 450<<10)
			n := 0
			a.hear(b)
			a.do(func(e replicate.Request) ([]byte, error) {
				if e.Verb == replicate.VerbRecords {
					if n++; n == 3 {
						b.put("", "large", size)
					}
				}
				return b.answer(e)
			})
			ended(a, "moved")
		})
	}
}

// TestSession_SuperRootIsOfTheRealms: a vector is adopted only over realms that
// were compared, so what the heartbeat says of their roots must be true of them.
func TestSession_SuperRootIsOfTheRealms(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	had := a.store.Summary().VectorDigest
	meddle(a, b, replicate.VerbHello, standing(b.fleet, func(m *wire.Standing) {
		m.Realms = nil
		for _, r := range a.store.State().Realms {
			m.Realms = append(m.Realms, wire.Realm{Name: r.Realm, Root: r.Root, Records: uint64(r.Records)})
		}
	}))
	ended(a, "error")
	if a.store.Summary().VectorDigest != had {
		t.Error("adopted a vector without the records that it covers")
	}
}

// TestPublisher_FreshReportsDoNotAddUp: the safety window is what it is, however
// often the stream comes back.
func TestPublisher_FreshReportsDoNotAddUp(t *testing.T) {
	r := newRig(t, "a", new(time.Duration))
	r.connect()
	r.step(replicate.Appended{Seq: 20000})
	one[replicate.ReadOutbox](r)
	r.step(replicate.OutboxRead{Last: 20000})
	for range 3 {
		r.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true, Stream: true, Fresh: true}})
	}
	if got := r.status().Published; got != 20000-4096 {
		t.Errorf("three reports of a fresh stream go back to %d, want %d", got, 20000-4096)
	}
}

// TestReplicator_EndsWithADeadline is no error either.
func TestReplicator_EndsWithADeadline(t *testing.T) {
	inShell(t, quiet, func(t *testing.T, s *shell) {
		s.stop()
		<-s.result
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
}
