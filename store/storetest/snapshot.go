package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"driftless.dev/store"
	"driftless.dev/store/memory"
)

var snapshotTests = []test{
	{"Snapshot/P9/ReplayEqualsTheProjection", testReplay},
	{"Snapshot/ReplayOfEveryPrefix", testReplayPrefixes},
	{"Snapshot/ReadsStayTheSame", testSnapshotChangesNothing},
	{"Snapshot/IsTakenBesideWriters", testSnapshotBesideWriters},
	{"Snapshot/ThatDoesNotOpenIsSkipped", testSnapshotSkipped},
	{"Snapshot/IsSealedByTheCodec", testSnapshotSealed},
	{"Snapshot/EverySoManyEvents", testSnapshotEvery},
}

// replay rebuilds a store from the log and compares.
func (n *node) replay() *node {
	n.e.Helper()
	cfg := n.cfg
	cfg.Registry, cfg.Random = nil, n.e.random()
	replayed := &node{e: n.e, cfg: cfg, wall: n.wall}
	replayed.Store = must(store.Replay(n.e.Context(), n.Store, memory.NewEngine(), cfg))(n.e)
	n.e.Cleanup(func() { _ = replayed.Close() })
	agree(n.e, n, replayed)
	return replayed
}

// scribble writes a bit of everything.
func scribble(n *node, round int) {
	name := fmt.Sprint("s", round%7)
	n.put(finalizers(status(skill(name, fmt.Sprintf(`{"size":%d}`, round)), fmt.Sprint(round)), "f"), human)
	if round%3 == 0 {
		n.remove(name, human)
		n.put(skill(name, ""), human)
	}
	n.put(slot(fmt.Sprint("slot", round), `{}`))
}

func testReplay(e *env) {
	n := e.open()
	for i := range 20 {
		scribble(n, i)
		if i%8 == 3 {
			must(0, n.Snapshot(e.Context()))(e)
		}
	}
	n.reopenIfPossible()
	r := n.replay()
	r.verify()
	r.replay()
}

func testReplayPrefixes(e *env) {
	n := e.bare()
	must(0, n.Snapshot(e.Context()))(e) // of nothing
	n.applyKinds()
	for i := range 12 {
		scribble(n, i)
		n.replay()
		if i%4 == 0 {
			must(0, n.Snapshot(e.Context()))(e)
			n.replay()
		}
	}
}

func testSnapshotChangesNothing(e *env) {
	n := e.open()
	scribble(n, 1)
	before := n.state(e)
	for range 3 { // the same place again, too
		must(0, n.Snapshot(e.Context()))(e)
	}
	n.state(e).sameAs(e, before)
	n.replay()
}

func testSnapshotBesideWriters(e *env) {
	n := e.open()
	ctx, cancel := context.WithCancel(e.Context())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				if _, err := n.Put(e.Context(), skill(fmt.Sprintf("w%d-%d", i, j%40), fmt.Sprintf(`{"size":%d}`, j))); err != nil {
					e.Errorf("write: %v", err)
				}
			}
		})
	}
	for range 8 {
		if err := n.Snapshot(e.Context()); err != nil {
			e.Errorf("snapshot: %v", err)
		}
	}
	cancel()
	wg.Wait()
	n.replay()
}

// codec seals by a mark; one that is broken opens nothing that it sealed.
type codec struct{ mark byte }

var errSeal = errors.New("seal is broken")

func (c *codec) Seal(b []byte) ([]byte, error) { return append([]byte{c.mark}, b...), nil }

func (c *codec) Open(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != 'a' {
		return nil, errSeal
	}
	return b[1:], nil
}

// A damaged snapshot is as good as none: the one before it, or the log from
// its beginning, gives the same.
func testSnapshotSkipped(e *env) {
	c := &codec{mark: 'a'}
	n := e.open(func(cfg *store.Config) { cfg.SnapshotCodec = c })
	for i := range 4 {
		scribble(n, i)
		must(0, n.Snapshot(e.Context()))(e)
		n.replay()
		c.mark = 'b' // every one after the first
	}
}

func testSnapshotSealed(e *env) {
	sealed := 0
	n := e.open(func(cfg *store.Config) { cfg.SnapshotCodec = counting{&sealed} })
	n.put(skill("a", ""))
	must(0, n.Snapshot(e.Context()))(e)
	if sealed == 0 {
		e.Error("nothing was sealed")
	}
	n.replay()
}

type counting struct{ sealed *int }

func (c counting) Seal(b []byte) ([]byte, error) { *c.sealed++; return bytes.Clone(b), nil }
func (c counting) Open(b []byte) ([]byte, error) { return b, nil }

// Run takes them, and ends with its context.
func testSnapshotEvery(e *env) {
	taken := make(chan struct{}, 100)
	n := e.open(func(cfg *store.Config) {
		cfg.SnapshotEvery, cfg.SnapshotCodec = 10, notifying{taken}
	})
	ctx, cancel := context.WithCancel(e.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	for i := range 2 {
		for j := range 10 {
			n.put(skill(fmt.Sprintf("a%d-%d", i, j), ""))
		}
		<-taken
	}
	cancel()
	if err := <-ended; err != nil {
		e.Error(err)
	}
	n.replay()
}

type notifying struct{ taken chan struct{} }

func (c notifying) Seal(b []byte) ([]byte, error) {
	select {
	case c.taken <- struct{}{}:
	default:
	}
	return b, nil
}
func (c notifying) Open(b []byte) ([]byte, error) { return b, nil }
