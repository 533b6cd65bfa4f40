package store

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// blocking is a committer whose commits wait to be let through.
type blocking struct {
	committer
	gate    chan struct{}
	batches [][]*commitOp
}

func newBlocking() *blocking {
	b := &blocking{gate: make(chan struct{})}
	b.run = func(batch []*commitOp) {
		<-b.gate
		b.batches = append(b.batches, batch)
		for _, op := range batch {
			op.err = op.fn(nil)
		}
	}
	return b
}

// start calls do in a goroutine of its own and waits until it is under way.
func (b *blocking) start(wg *sync.WaitGroup, fn func(*txn) error, want error, t *testing.T) {
	wg.Go(func() {
		if err := b.do(fn); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	})
	synctest.Wait()
}

func fine(*txn) error { return nil }

// The first caller commits alone; those that come meanwhile share the next
// transaction, and each has its own error.
func TestCommitter_BatchesWhatComesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking()
		refused := errors.New("refused")
		var wg sync.WaitGroup
		b.start(&wg, fine, nil, t)
		for i := range 6 {
			if i%2 == 0 {
				b.start(&wg, fine, nil, t)
			} else {
				b.start(&wg, func(*txn) error { return refused }, refused, t)
			}
		}
		close(b.gate)
		wg.Wait()
		if len(b.batches) != 2 || len(b.batches[0]) != 1 || len(b.batches[1]) != 6 {
			t.Errorf("%d batches", len(b.batches))
		}
		if b.busy || b.queue != nil {
			t.Error("the committer is not idle")
		}
	})
}

func TestCommitter_BatchesAreBoundedAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking()
		var order []int
		var wg sync.WaitGroup
		for i := range maxBatch + 10 {
			b.start(&wg, func(*txn) error { order = append(order, i); return nil }, nil, t)
		}
		close(b.gate)
		wg.Wait()
		if len(b.batches) != 3 || len(b.batches[1]) != maxBatch || len(b.batches[2]) != 9 {
			t.Errorf("%d batches", len(b.batches))
		}
		for i, n := range order {
			if i != n {
				t.Fatalf("call %d ran as number %d", n, i)
			}
		}
	})
}

// Close lets what was accepted finish and refuses the rest.
func TestCommitter_CloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlocking()
		var wg sync.WaitGroup
		b.start(&wg, fine, nil, t)
		b.start(&wg, fine, nil, t)
		closed := make(chan struct{})
		go func() { b.close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed while calls were under way")
		default:
		}
		if err := b.do(fine); !errors.Is(err, ErrClosed) {
			t.Errorf("after close: %v", err)
		}
		close(b.gate)
		<-closed
		wg.Wait()
	})
}
