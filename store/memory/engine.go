// Package memory is the store.Engine that keeps everything in memory: the
// reference the other engines are held against, and the store of simulations
// and tests. Nothing in it survives the process.
//
// Each bucket is a copy-on-write tree. A view reads the trees that were
// committed last and needs no lock; an update writes to copies, and committing
// is the swap of one pointer.
package memory

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"

	"driftless.dev/store"
	"github.com/tidwall/btree"
)

var _ store.Engine = (*Engine)(nil)

// Engine is a store.Engine in memory. It is safe for concurrent use.
type Engine struct {
	// committed is what views read, nil once the engine is closed. It and the
	// trees in it are never changed, only replaced.
	committed atomic.Pointer[state]

	mu         sync.Mutex // held by the one update, and to change what follows
	failCommit func() error
	last       *state // what was committed last; outlives Close, for Reopen
}

// state is one committed state: a tree for each bucket.
type state [store.NumBuckets]*btree.BTreeG[entry]

// entry is one key with its value. Both are the engine's own copies.
type entry struct{ key, value []byte }

// NewEngine returns an empty engine.
func NewEngine() *Engine {
	// No locks: a committed tree is only read, and one update owns the copies.
	options := btree.Options{NoLocks: true}
	empty := new(state)
	for b := range empty {
		empty[b] = btree.NewBTreeGOptions(func(a, b entry) bool { return bytes.Compare(a.key, b.key) < 0 }, options)
	}
	return newEngine(empty)
}

// Open opens an empty store over a new engine.
func Open(cfg store.Config) (*store.Store, error) { return store.Open(NewEngine(), cfg) }

func newEngine(s *state) *Engine {
	e := &Engine{last: s}
	e.committed.Store(s)
	return e
}

// Reopen returns a new engine that begins with what e committed last, which is
// what a restart of a durable engine would find, also after Close. The two go
// their own ways from there, and failures set on e are not carried over.
func (e *Engine) Reopen() *Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	own := new(state)
	for b := range own {
		own[b] = e.last[b].Copy()
	}
	return newEngine(own)
}

// FailCommit makes every later Update ask fail before it commits: an error
// undoes the update and is returned as it is. A nil fail ends the failures.
// fail runs inside the update and must not call the engine.
func (e *Engine) FailCommit(fail func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failCommit = fail
}

// View runs fn over the last committed state, also while an update runs.
// It returns fn's error, or store.ErrClosed.
func (e *Engine) View(fn func(store.Tx) error) error {
	s := e.committed.Load()
	if s == nil {
		return fmt.Errorf("view memory: %w", store.ErrClosed)
	}
	return fn(&tx{state: *s})
}

// Update runs fn and commits what it wrote. It returns fn's error or that of
// the injected failure, having changed nothing, or store.ErrClosed.
func (e *Engine) Update(fn func(store.WriteTx) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.committed.Load()
	if s == nil {
		return fmt.Errorf("update memory: %w", store.ErrClosed)
	}
	t := &tx{state: *s}
	if err := fn(t); err != nil {
		return err
	}
	if e.failCommit != nil {
		if err := e.failCommit(); err != nil {
			return err
		}
	}
	e.last = &t.state
	e.committed.Store(e.last)
	return nil
}

// Close lets go of the data. It always returns nil and may be called again.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.committed.Store(nil)
	return nil
}
