package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// env opens the stores of one test.
type env struct {
	*testing.T
	backend Backend
	opened  int
}

// Context is not the test's own, which has ended when cleanups run.
func (e *env) Context() context.Context { return context.Background() }

// wall is a physical clock that stands still until the test moves it.
type wall struct{ ms atomic.Int64 }

// epoch is when every test begins.
const epoch = 1_767_225_600_000

func (w *wall) now() time.Time          { return time.UnixMilli(w.ms.Load()).UTC() }
func (w *wall) advance(d time.Duration) { w.ms.Add(d.Milliseconds()) }

// node is a store with its clock, and calls that fail the test.
type node struct {
	*store.Store
	e    *env
	cfg  store.Config
	wall *wall
	// done is set by a test that has checked and closed the store itself.
	done bool
}

// open opens a store that has the test kinds.
func (e *env) open(tune ...func(*store.Config)) *node {
	e.Helper()
	n := e.bare(tune...)
	n.applyKinds()
	return n
}

// bare opens a store that knows the core kinds only. When the test ends it is
// checked, reopened, checked again and closed.
func (e *env) bare(tune ...func(*store.Config)) *node {
	e.Helper()
	n := e.unchecked(tune...)
	e.Cleanup(n.finish)
	return n
}

// unchecked opens a store that the caller checks and closes.
func (e *env) unchecked(tune ...func(*store.Config)) *node {
	e.Helper()
	n := &node{e: e, wall: &wall{}}
	n.wall.ms.Store(epoch)
	n.cfg = store.Config{Wall: n.wall.now, Random: e.random(), Secret: [32]byte{1, 2, 3}}
	for _, f := range tune {
		f(&n.cfg)
	}
	n.Store = e.backend.Open(e.T, n.cfg)
	return n
}

// random is a source of ids: seeded, and another one for every open.
func (e *env) random() *rand.ChaCha8 {
	e.opened++
	return rand.NewChaCha8([32]byte{byte(e.opened), byte(e.opened >> 8)})
}

// finish is what every test ends with.
func (n *node) finish() {
	if !n.e.Failed() && !n.done {
		n.verify()
		if n.e.backend.Reopen != nil {
			n.reopen()
			n.continues()
			n.verify()
		}
	}
	if err := n.Close(); err != nil {
		n.e.Errorf("close: %v", err)
	}
}

// reopen restarts the store, if the backend can, and checks that nothing
// changed by it.
func (n *node) reopen() {
	n.e.Helper()
	if n.e.backend.Reopen == nil {
		n.e.Skip("this backend has no persistence")
	}
	before := n.state(n.e)
	n.cfg.Registry, n.cfg.Random = nil, n.e.random()
	n.Store = n.e.backend.Reopen(n.e.T, n.Store, n.cfg)
	n.state(n.e).sameAs(n.e, before)
}

// continues writes on: the next dot follows the last and the stamp is higher,
// whatever the wall clock says.
func (n *node) continues() {
	n.e.Helper()
	n.wall.advance(-time.Hour)
	before := n.Head()
	probe := must(resource.KindResource(resource.Kind{APIVersion: "probe.example.dev/v1", Name: "Probe"}, resource.Scope{}))(n.e)
	w := n.write(store.Write{Resource: probe, Actor: resource.Human})
	if w.OriginSeq != before.Own.Seq+1 || w.Seq != before.Seq+1 || w.HLC <= before.HLC {
		n.e.Errorf("after a reopen: write %d at %d (%s) does not follow %+v", w.OriginSeq, w.Seq, w.HLC, before)
	}
}

// must turns a result with an error into one that fails the test.
func must[V any](v V, err error) func(failer) V {
	return func(t failer) V {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return v
	}
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// write makes a write that must be allowed.
func (n *node) write(w store.Write) store.Written {
	n.e.Helper()
	return must(n.Write(n.e.Context(), w))(n.e)
}

// put is a Put that must be allowed.
func (n *node) put(r resource.Resource, opts ...store.Option) resource.Resource {
	n.e.Helper()
	return must(n.Put(n.e.Context(), r, opts...))(n.e)
}

// refuse makes a write that must be refused with an error, and leave nothing.
func (n *node) refuse(want error, w store.Write) error {
	n.e.Helper()
	before := n.Head()
	out, err := n.Write(n.e.Context(), w)
	if !errors.Is(err, want) {
		n.e.Fatalf("error %v, want %v; the write came to %+v", err, want, out)
	}
	if after := n.Head(); after != before {
		n.e.Errorf("a refused write moved the head from %+v to %+v", before, after)
	}
	return err
}

// get is a Get of a Skill that must be there.
func (n *node) get(name string) resource.Resource {
	n.e.Helper()
	return must(n.Get(n.e.Context(), "Skill", resource.Scope{}, name))(n.e)
}

// absent fails unless a Skill is not found by its name.
func (n *node) absent(name string) {
	n.e.Helper()
	if r, err := n.Get(n.e.Context(), "Skill", resource.Scope{}, name); !errors.Is(err, resource.ErrNotFound) {
		n.e.Fatalf("get %s: %+v, %v, want ErrNotFound", name, r, err)
	}
}

// byID is a GetByID that must find.
func (n *node) byID(id string) resource.Resource {
	n.e.Helper()
	return must(n.GetByID(n.e.Context(), id))(n.e)
}

// remove is a Delete of a Skill that must be allowed.
func (n *node) remove(name string, opts ...store.Option) {
	n.e.Helper()
	must(0, n.Delete(n.e.Context(), "Skill", resource.Scope{}, name, opts...))(n.e)
}

// at addresses a write to a Skill in the global scope.
func at(op store.Op, name string) store.Write { return store.Write{Op: op, Kind: "Skill", Name: name} }

// by sets a write's author.
func by(a resource.Actor, w store.Write) store.Write {
	w.Actor = a
	return w
}

var human = store.As(resource.Human)
