package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"driftless.dev/mutant"
)

// committer turns concurrent writes into few transactions. There is no waiting
// for company and no goroutine of its own: the first caller commits at once,
// whoever comes meanwhile queues, and when the commit is done the first of the
// queue commits all of it. Batches grow with the disk's latency, and an idle
// store has the latency of one transaction.
type committer struct {
	run func([]*commitOp)

	mu     sync.Mutex
	queue  []*commitOp
	busy   bool
	last   int // size of the last batch
	closed bool
	idle   sync.WaitGroup
}

// commitOp is one caller's part of a transaction. fn either writes nothing and
// returns an error, which is that caller's alone, or writes all it has to.
type commitOp struct {
	fn func(*txn) error
	// lead is signalled once: to commit the queue, or because it is done.
	lead chan bool
	err  error
}

// maxBatch bounds the writes of one transaction, so that the first of them
// does not wait for thousands.
const maxBatch = 512

// do runs fn inside a transaction and returns when it is durable, or with fn's
// error.
func (c *committer) do(fn func(*txn) error) error {
	op := &commitOp{fn: fn, lead: make(chan bool, 1)}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.idle.Add(1)
	c.queue = append(c.queue, op)
	if c.busy {
		c.mu.Unlock()
		if !<-op.lead {
			return op.err
		}
		c.mu.Lock()
	}
	c.busy = true
	c.gather()
	batch := c.queue[:min(len(c.queue), maxBatch)]
	c.last = len(batch)
	c.queue = c.queue[len(batch):]
	c.mu.Unlock()

	c.run(batch)
	c.mu.Lock()
	if c.busy = len(c.queue) > 0; c.busy {
		c.queue[0].lead <- true
	} else {
		c.queue = nil
	}
	c.mu.Unlock()
	for _, other := range batch {
		if other != op {
			other.lead <- false
		}
		c.idle.Done()
	}
	return op.err
}

// gather lets the writers of the last batch come back before the next one is
// closed: after a large batch all of them are runnable at once, and a commit
// with the first alone would make the others wait for two. It yields the
// processor and waits for nothing, so a lone writer loses nothing. c.mu is
// held, and let go meanwhile.
func (c *committer) gather() {
	for range gatherRounds {
		if len(c.queue) >= c.last/2 {
			return
		}
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
}

// gatherRounds bounds how often a leader lets others run first.
const gatherRounds = 16

// close refuses later calls and waits for those under way.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.idle.Wait()
}

// commit runs a batch in one engine transaction and publishes what came of it.
func (s *Store) commit(batch []*commitOp) {
	if err := s.Err(); err != nil {
		fail(batch, err)
		return
	}
	defer func() {
		// A caller's HTTP server may recover a panic; the other writers of the
		// batch, and whoever comes after, must not wait for it for ever.
		if p := recover(); p != nil {
			s.fail(fmt.Errorf("%w: panic in a transaction: %v\n%s", ErrFailed, p, debug.Stack()))
			fail(batch, s.Err())
		}
	}()
	t := newTxn(s)
	err := s.engine.Update(func(tx WriteTx) error {
		t.tx = tx
		for _, op := range batch {
			if op.err = op.fn(t); t.broken != nil {
				return t.broken
			}
		}
		if !t.changes() {
			return errNothing
		}
		return t.seal()
	})
	if err != nil {
		s.clock.Observe(t.clockWas)
	}
	switch {
	case mutant.AckBeforeSync && err != nil && !errors.Is(err, errNothing):
	case err == nil:
		s.publish(t)
	case errors.Is(err, errNothing):
		s.mu.Lock()
		s.keepAhead(t)
		s.mu.Unlock()
	case !errors.Is(err, ErrFailed) && (errors.Is(err, ErrNoSpace) || errors.Is(err, ErrDamaged)):
		fail(batch, err) // nothing of it happened
	default:
		// What is on disk is unknown now, and an engine may go on committing
		// after a failed sync as if nothing had happened: this store must not.
		s.fail(fmt.Errorf("%w: commit: %w", ErrFailed, err))
		fail(batch, s.Err())
	}
}

// fail makes the store take nothing any more, and wakes who waits for changes.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// errNothing rolls back a transaction that would commit nothing: refused and
// identical writes cost no sync.
var errNothing = errors.New("nothing to commit")

func fail(batch []*commitOp, err error) {
	for _, op := range batch {
		op.err = err
	}
}
