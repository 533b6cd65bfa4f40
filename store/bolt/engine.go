package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"driftless.dev/store"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

var _ store.Engine = (*Engine)(nil)

// Engine is a store.Engine in one bbolt file. It is safe for concurrent use.
type Engine struct {
	path string
	db   *bbolt.DB
	file *os.File // the one db reads, writes and holds the lock on
	page int64    // bytes in a page

	// writer is held by the one update. bbolt has such a lock too, but keeps
	// it for ever when a commit panics.
	writer sync.Mutex
	// broken is set when bbolt panicked with its own locks held or half-way
	// through a commit. Nothing enters bbolt after that: it might never
	// return, or commit what is not sound.
	broken atomic.Pointer[error]
	closed atomic.Bool
}

// View runs fn over the last committed state. It returns fn's error, or one
// that wraps store.ErrDamaged or store.ErrClosed.
func (e *Engine) View(fn func(store.Tx) error) error {
	return e.view(func(t *bbolt.Tx) error { return fn(&tx{bolt: t}) })
}

// Update runs fn and commits what it wrote, durably. It returns fn's error, or
// the commit's, or one that wraps store.ErrDamaged or store.ErrClosed.
//
// After an error of the commit that does not wrap store.ErrNoSpace, what is on
// disk is unknown until the engine is closed and reopened, and the caller must
// do that. store.ErrDamaged alone comes from before the commit: nothing has
// happened. Together with store.ErrFailed it comes from within.
func (e *Engine) Update(fn func(store.WriteTx) error) error {
	return e.update(func(t *bbolt.Tx) error { return fn(&tx{bolt: t}) })
}

// Stats are sizes in bytes.
type Stats struct {
	Size int64 // of the file
	Free int64 // of the pages in it that later updates will use again
}

// Stats returns the sizes as of the last update, zero after Close.
func (e *Engine) Stats() Stats {
	info, err := e.file.Stat()
	if err != nil {
		return Stats{}
	}
	s := e.db.Stats()
	return Stats{Size: info.Size(), Free: int64(s.FreePageN+s.PendingPageN) * e.page}
}

// Close waits for views and updates to end and lets go of the file. It may be
// called again.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	release := e.db.Close
	if e.broken.Load() != nil {
		// bbolt's own Close might wait for a lock that is never released.
		release = func() error { return abandon(e.file) }
	}
	if err := release(); err != nil {
		return fmt.Errorf("close %s: %w", e.path, err)
	}
	return nil
}

func (e *Engine) view(fn func(*bbolt.Tx) error) (err error) {
	defer catchDamage(&err, e.path)()
	t, err := e.begin(false)
	if err != nil {
		return fmt.Errorf("begin view: %w", err)
	}
	defer e.rollback(t)
	return fn(t)
}

func (e *Engine) update(fn func(*bbolt.Tx) error) (err error) {
	e.writer.Lock()
	defer e.writer.Unlock()
	defer catchDamage(&err, e.path)()
	t, err := e.begin(true)
	if err != nil {
		return fmt.Errorf("begin update: %w", err)
	}
	defer e.rollback(t) // does nothing once Commit has returned
	if err := fn(t); err != nil {
		return err
	}
	if err := e.commit(t); err != nil {
		return fmt.Errorf("commit update: %w", spaceError(err))
	}
	return nil
}

// In begin, commit and rollback bbolt takes or releases its locks: a panic in
// one of them breaks the engine.

func (e *Engine) begin(writable bool) (*bbolt.Tx, error) {
	if broken := e.broken.Load(); broken != nil {
		return nil, *broken
	}
	defer e.breakOnPanic()
	t, err := e.db.Begin(writable)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return nil, store.ErrClosed
	}
	return t, err
}

func (e *Engine) commit(t *bbolt.Tx) error {
	defer e.breakOnPanic()
	return t.Commit()
}

func (e *Engine) rollback(t *bbolt.Tx) {
	if e.broken.Load() != nil {
		return
	}
	defer e.breakOnPanic()
	_ = t.Rollback() // its only error says that the transaction has ended
}

// spaceError makes a commit's error wrap store.ErrNoSpace when the write of a
// page was refused for want of space. The same errno from a sync is left as it
// is: pages that were accepted may be lost then, and going on is not safe.
func spaceError(err error) error {
	var write *fs.PathError // of os.File; bbolt's syncs return a bare errno
	full := errors.As(err, &write) &&
		(errors.Is(write.Err, syscall.ENOSPC) || errors.Is(write.Err, syscall.EDQUOT))
	if full || errors.Is(err, berrors.ErrMaxSizeReached) {
		return fmt.Errorf("%w: %w", store.ErrNoSpace, err)
	}
	return err
}
