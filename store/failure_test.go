package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

var noteKind = resource.Kind{APIVersion: "note.example.dev/v1", Name: "Note"}

// open opens a store over e, closed when the test ends.
func open(t *testing.T, e store.Engine, tune ...func(*store.Config)) *store.Store {
	t.Helper()
	cfg := store.Config{Wall: time.Now}
	for _, f := range tune {
		f(&cfg)
	}
	s, err := store.Open(e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// notes opens a store that has the kind Note.
func notes(t *testing.T, e store.Engine, tune ...func(*store.Config)) *store.Store {
	t.Helper()
	s := open(t, e, tune...)
	r, err := resource.KindResource(noteKind, resource.Scope{})
	if err == nil {
		_, err = s.Put(t.Context(), r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func named(name string) resource.Resource {
	return with(note(`{}`), func(r *resource.Resource) { r.Name = name })
}

func with(r resource.Resource, change func(*resource.Resource)) resource.Resource {
	change(&r)
	return r
}

func sound(t *testing.T, s *store.Store) {
	t.Helper()
	if problems, err := s.Check(); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %q", err, problems)
	}
}

// What is on disk after a failed commit is unknown: the store takes no more
// writes, says so to everyone who waits, and goes on with what a reopen finds.
func TestCommit_FailureIsFailStop(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	before, lost := s.State(), errors.New("fdatasync: I/O error")
	running := make(chan error, 1)
	go func() { running <- s.Run(t.Context()) }()
	changed, _ := s.Changed()
	e.FailCommit(func() error { return lost })
	for range 2 {
		_, err := s.Put(t.Context(), named("a"))
		if !errors.Is(err, store.ErrFailed) || !errors.Is(err, lost) {
			t.Fatalf("put: %v", err)
		}
		e.FailCommit(nil) // the second is refused although the disk works again
	}
	<-changed
	if err := <-running; !errors.Is(err, store.ErrFailed) || !errors.Is(s.Err(), store.ErrFailed) {
		t.Errorf("run ended with %v, the store says %v", err, s.Err())
	}
	if _, err := s.Get(t.Context(), "Note", resource.Scope{}, "a"); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("reads do not go on: %v", err)
	}
	if after := s.State(); after.Head != before.Head || after.Super != before.Super {
		t.Error("the failed write shows")
	}
	again := open(t, e.Reopen())
	if _, err := again.Put(t.Context(), named("a")); err != nil {
		t.Error(err)
	}
	sound(t, again)
}

// A full disk refuses the write and nothing else.
func TestCommit_NoSpaceIsNotFailure(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	before := s.Head()
	e.FailCommit(func() error { return fmt.Errorf("write page: %w", store.ErrNoSpace) })
	for range 3 {
		_, err := s.Put(t.Context(), named("a"))
		if !errors.Is(err, store.ErrNoSpace) || errors.Is(err, store.ErrFailed) {
			t.Errorf("put: %v", err)
		}
	}
	if s.Head() != before || s.Err() != nil {
		t.Errorf("head %+v, was %+v, %v", s.Head(), before, s.Err())
	}
	e.FailCommit(nil)
	w, err := s.Write(t.Context(), store.Write{Resource: named("a")})
	if err != nil || w.OriginSeq != before.Own.Seq+1 || w.HLC <= before.HLC {
		t.Errorf("with space again: %+v, %v", w, err)
	}
	sound(t, s)
}

// gated is a store whose first write, once begin is called, waits inside its
// transaction; what is started meanwhile shares the next one.
type gated struct {
	*store.Store
	t       *testing.T
	gate    chan struct{}
	commits int
	wg      sync.WaitGroup
}

func newGated(t *testing.T) *gated {
	g := &gated{t: t}
	e := memory.NewEngine()
	g.Store = notes(t, e, func(c *store.Config) {
		c.Guard = func(hlc.Timestamp) error {
			if g.gate != nil {
				<-g.gate
			}
			return nil
		}
	})
	e.FailCommit(func() error { g.commits++; return nil })
	return g
}

func (g *gated) start(w store.Write, want error) {
	g.wg.Go(func() {
		if _, err := g.Write(g.t.Context(), w); !errors.Is(err, want) {
			g.t.Errorf("%v %s: error %v, want %v", w.Op, w.Name+w.Resource.Name, err, want)
		}
	})
	synctest.Wait()
}

func (g *gated) finish(commits int) {
	g.t.Helper()
	close(g.gate)
	g.wg.Wait()
	if g.commits != commits {
		g.t.Errorf("%d transactions, want %d", g.commits, commits)
	}
	sound(g.t, g.Store)
}

// Writes that share a transaction see each other and fail alone.
func TestCommit_OneTransactionJudgesEachOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.gate = make(chan struct{})
		g.start(store.Write{Resource: named("first")}, nil)
		g.start(store.Write{Resource: named("a"), CreateOnly: true}, nil)
		g.start(store.Write{Resource: named("a"), CreateOnly: true}, resource.ErrExists)
		g.start(store.Write{Op: store.OpDelete, Kind: "Note", Name: "b"}, resource.ErrNotFound)
		g.start(store.Write{Resource: with(named("a"), func(r *resource.Resource) { r.SyncVersion = 7 })}, resource.ErrConflict)
		g.start(store.Write{Op: store.OpDelete, Kind: "Note", Name: "a"}, nil)
		g.start(store.Write{Resource: named("a"), CreateOnly: true}, nil)
		g.finish(2)
		if r, err := g.Get(t.Context(), "Note", resource.Scope{}, "a"); err != nil || r.SyncVersion != 3 {
			t.Errorf("came to %+v, %v", r, err)
		}
	})
}

// The registry follows a commit, so a kind that goes and a record of it that
// comes in one transaction must be told apart by the transaction.
func TestCommit_KindAndRecordInOneTransaction(t *testing.T) {
	kind := store.Write{Op: store.OpDelete, Kind: "Kind", Name: noteKind.RecordName()}
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.gate = make(chan struct{})
		g.start(store.Write{Op: store.OpDelete, Kind: "Note", Name: "nobody"}, resource.ErrNotFound)
		g.start(kind, nil)
		g.start(store.Write{Resource: named("a")}, resource.ErrInvalid)
		g.finish(1)
	})
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.gate = make(chan struct{})
		g.start(store.Write{Op: store.OpDelete, Kind: "Note", Name: "nobody"}, resource.ErrNotFound)
		g.start(store.Write{Resource: named("a")}, nil)
		g.start(kind, resource.ErrInUse)
		g.finish(1)
	})
}
