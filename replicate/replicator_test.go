package replicate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// TestReplicator_BackPressure: while the disk hangs, messages wait in memory up
// to a bound, then the stream is held back.
func TestReplicator_BackPressure(t *testing.T) {
	inShell(t, quiet, func(t *testing.T, s *shell) {
		free := make(chan struct{})
		s.engine.FailCommit(func() error { <-free; return nil })
		_, m := s.peer("b")
		if err := s.deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		large := replicate.Message{At: m.At, Realm: m.Realm, Origin: m.Origin, Data: make([]byte, 1<<20)}
		for range 16 {
			if err := s.deliver(t.Context(), large); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.deliver(ctx, large); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the 17th MiB: %v, want to wait", err)
		}
		held := make(chan error, 1)
		go func() { held <- s.deliver(t.Context(), large) }()
		if synctest.Wait(); len(held) != 0 {
			t.Fatal("not held back")
		}
		close(free)
		if err := <-held; err != nil {
			t.Errorf("after the disk is free: %v", err)
		}
	})
}

func TestReplicator_WaitStream(t *testing.T) {
	var acks chan func(error)
	inShell(t, func() *fakeBus {
		acks = make(chan func(error), 1)
		return &fakeBus{publish: func(done func(error)) { acks <- done }}
	}, func(t *testing.T, s *shell) {
		seq := s.write()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if s.WaitStream(ctx, seq) {
			t.Error("in the stream without an ack")
		}
		go func() { (<-acks)(nil) }()
		if !s.WaitStream(t.Context(), seq) {
			t.Error("not in the stream with an ack")
		}
	})
}

// TestReplicator_PublishMayAckBeforeItReturns, or refuse.
func TestReplicator_PublishMayAckBeforeItReturns(t *testing.T) {
	refusals := 2
	bus := &fakeBus{publish: func(done func(error)) {
		if refusals--; refusals >= 0 {
			done(replicate.ErrDisconnected)
			return
		}
		done(nil)
	}}
	inShell(t, func() *fakeBus { return bus }, func(t *testing.T, s *shell) {
		if !s.WaitStream(t.Context(), s.write()) || bus.count() != 3 {
			t.Errorf("handed over %d times, want 3", bus.count())
		}
	})
}

func TestReplicator_WaitPeers(t *testing.T) {
	inShell(t, quiet, func(t *testing.T, s *shell) {
		seq := s.write()
		b, _ := s.peer("b")
		s.peer("c")
		ident := b.store.Identity()
		roster := map[resource.ID]string{ident.Instance: "b", id(1, 1): "away"}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		w := s.WaitPeers(ctx, seq, 1, nil)
		if w.Reached != 0 || w.Wanted != 1 || time.Since(start) != time.Second {
			t.Errorf("nobody answered: %+v after %s", w, time.Since(start))
		}
		go func() {
			ack := wire.Ack{From: ident.Instance, Position: wire.Position{Incarnation: s.store.Identity().Incarnation, Seq: seq, Hash: s.store.Head().Own.Hash}}
			if _, err := s.Serve(t.Context(), replicate.VerbApplied, s.fleet.AppendAck(nil, &ack)); err != nil {
				t.Error(err)
			}
		}()
		if w := s.WaitPeers(t.Context(), seq, 1, nil); w.Reached != 1 || w.Wanted != 1 {
			t.Errorf("one answered: %+v", w)
		}
		w = s.WaitPeers(ctx, seq, -1, roster)
		if slices.Sort(w.Missing); w.Reached != 1 || w.Wanted != 3 || fmt.Sprint(w.Missing) != "[away c]" {
			t.Errorf("all of them: %+v", w)
		}
	})
}

// TestReplicator_RequestsAreBounded: a hundred origins to be told at once, by
// requests that hang.
func TestReplicator_RequestsAreBounded(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	bus := &fakeBus{request: func(ctx context.Context, _ resource.ID, _ string) ([]byte, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-ctx.Done()
		mu.Lock()
		now--
		mu.Unlock()
		return nil, replicate.ErrUnreachable
	}}
	inShell(t, func() *fakeBus { return bus }, func(t *testing.T, s *shell) {
		for n := range 100 {
			if _, m := s.peer(string(rune('\x01' + n))); s.deliver(t.Context(), m) != nil {
				t.Fatal("not delivered")
			}
		}
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		if now != 64 || most != 64 {
			t.Errorf("%d under way, %d at most, want 64", now, most)
		}
		mu.Unlock()
		time.Sleep(6 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if most != 64 || now > 1 {
			t.Errorf("%d under way after the timeout, %d at most", now, most)
		}
	})
}

// TestReplicator_TransportMayBeRepeated: nothing is published again unless the
// stream is fresh.
func TestReplicator_TransportMayBeRepeated(t *testing.T) {
	bus := &fakeBus{}
	inShell(t, func() *fakeBus { return bus }, func(t *testing.T, s *shell) {
		s.WaitStream(t.Context(), s.write())
		up := replicate.Transport{Connected: true, Stream: true}
		for range 5 {
			s.Transport(up)
		}
		if synctest.Wait(); bus.count() != 1 {
			t.Errorf("published %d times, want once", bus.count())
		}
		up.Fresh = true
		s.Transport(up)
		if synctest.Wait(); bus.count() != 2 {
			t.Errorf("published %d times to a fresh stream, want twice", bus.count())
		}
		if st, _ := s.Status(); !st.Transport.Connected || st.Waiting == "" {
			t.Errorf("transport %+v, waiting for %q", st.Transport, st.Waiting)
		}
		s.Transport(replicate.Transport{Reason: "server gone"})
		if st, _ := s.Status(); st.Ready || st.Waiting != "nats: server gone" {
			t.Errorf("ready %v, waiting for %q", st.Ready, st.Waiting)
		}
	})
}

func TestReplicator_ResumeAndSelf(t *testing.T) {
	inShell(t, quiet, func(t *testing.T, s *shell) {
		_, m := s.peer("b")
		if at := s.Resume(); at != (replicate.Cursor{}) {
			t.Errorf("begins at %+v", at)
		}
		if err := s.deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); s.Resume() != m.At {
			t.Errorf("resumes at %+v, want %+v", s.Resume(), m.At)
		}
		self, err := s.Self()
		if err != nil || self.Heartbeat.Instance != s.store.Identity().Instance || len(self.Realms) != 1 {
			t.Errorf("self %+v, %v", self, err)
		}
		if _, err := s.Ask(t.Context(), id(1, 1)); !errors.Is(err, replicate.ErrUnreachable) {
			t.Errorf("ask nobody: %v", err)
		}
		if _, err := s.Serve(t.Context(), "shout", nil); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("unknown verb: %v", err)
		}
	})
}
