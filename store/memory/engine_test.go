package memory_test

import (
	"errors"
	"sync"
	"testing"

	"driftless.dev/store"
	"driftless.dev/store/enginetest"
	"driftless.dev/store/memory"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEngine_Contract(t *testing.T) {
	enginetest.Run(t, func(*testing.T) (store.Engine, func() store.Engine) {
		engine := memory.NewEngine()
		return engine, func() store.Engine {
			engine = engine.Reopen()
			return engine
		}
	})
}

func put(e *memory.Engine, value string) error {
	return e.Update(func(tx store.WriteTx) error { return tx.Put(store.BucketMeta, []byte("k"), []byte(value)) })
}

func get(t *testing.T, e *memory.Engine) (value string) {
	t.Helper()
	if err := e.View(func(tx store.Tx) error {
		value = string(tx.Get(store.BucketMeta, []byte("k")))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestEngine_FailCommit(t *testing.T) {
	e := memory.NewEngine()
	if err := put(e, "before"); err != nil {
		t.Fatal(err)
	}
	fail := errors.New("no")
	e.FailCommit(func() error { return fail })
	if err := put(e, "lost"); !errors.Is(err, fail) {
		t.Errorf("error is %v, want the injected one", err)
	}
	if got := get(t, e); got != "before" {
		t.Errorf("after a failed commit: %q", got)
	}
	asked := 0
	e.FailCommit(func() error { asked++; return nil })
	if err := put(e, "after"); err != nil || asked != 1 || get(t, e) != "after" {
		t.Errorf("a nil failure: %v, asked %d times, %q", err, asked, get(t, e))
	}
	e.FailCommit(nil)
	if err := put(e, "last"); err != nil || asked != 1 {
		t.Errorf("without a failure: %v, asked %d times", err, asked)
	}
}

func TestEngine_ReopenSharesNothingThatChanges(t *testing.T) {
	a := memory.NewEngine()
	if err := put(a, "both"); err != nil {
		t.Fatal(err)
	}
	b := a.Reopen()
	var wg sync.WaitGroup // at once, for the race detector
	for e, value := range map[*memory.Engine]string{a: "a", b: "b"} {
		wg.Go(func() {
			if err := put(e, value); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if get(t, a) != "a" || get(t, b) != "b" {
		t.Errorf("a has %q, b has %q", get(t, a), get(t, b))
	}
}
