package replicate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

func TestReplicator_EndsWithItsContext(t *testing.T) {
	inShell(t, quiet, func(t *testing.T, s *shell) {
		s.write()
		start := time.Now()
		s.stop()
		if err := <-s.result; err != nil {
			t.Errorf("run: %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %s to end", took)
		}
	})
}

// TestReplicator_EndsWhileARequestHangs until its context ends.
func TestReplicator_EndsWhileARequestHangs(t *testing.T) {
	bus := &fakeBus{request: func(ctx context.Context, _ resource.ID, _ string) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	inShell(t, func() *fakeBus { return bus }, func(t *testing.T, s *shell) {
		s.peer("b")
		synctest.Wait()
		start := time.Now()
		s.stop()
		if err := <-s.result; err != nil || time.Since(start) > time.Second {
			t.Errorf("run: %v after %s", err, time.Since(start))
		}
	})
}

func TestReplicator_EndsWithTheBus(t *testing.T) {
	incurable := errors.New("no such permission")
	var over chan struct{}
	inShell(t, func() *fakeBus {
		over = make(chan struct{})
		return &fakeBus{run: func(context.Context) error { <-over; return incurable }}
	}, func(t *testing.T, s *shell) {
		close(over)
		if err := <-s.result; !errors.Is(err, incurable) {
			t.Errorf("run: %v", err)
		}
	})
}

func TestReplicator_EndsWithTheStore(t *testing.T) {
	for name, fail := range map[string]func(*testing.T, *shell){
		"local write": func(t *testing.T, s *shell) {
			r, _ := resource.KindResource(resource.Kind{APIVersion: "probe.example.dev/v1", Name: "Probe"}, resource.Scope{})
			if _, err := s.store.Write(t.Context(), store.Write{Op: store.OpPut, Resource: r}); !errors.Is(err, store.ErrFailed) {
				t.Errorf("write: %v", err)
			}
		},
		"apply": func(t *testing.T, s *shell) {
			_, m := s.peer("b")
			if err := s.deliver(t.Context(), m); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inShell(t, quiet, func(t *testing.T, s *shell) {
				s.engine.FailCommit(func() error { return errors.New("sync: input/output error") })
				fail(t, s)
				if err := <-s.result; !errors.Is(err, store.ErrFailed) {
					t.Errorf("run: %v, want ErrFailed", err)
				}
			})
		})
	}
}

// TestReplicator_FullDiskIsWaitedOut: unlike a failed store.
func TestReplicator_FullDiskIsWaitedOut(t *testing.T) {
	inShell(t, quiet, func(t *testing.T, s *shell) {
		s.engine.FailCommit(func() error { return store.ErrNoSpace })
		b, m := s.peer("b")
		if err := s.deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		s.engine.FailCommit(nil)
		time.Sleep(2 * time.Second)
		if got := s.store.Summary().Vector[b.store.Identity().Incarnation].Seq; got != 1 {
			t.Errorf("applied %d, want 1", got)
		}
	})
}
