package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"driftless.dev/store"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Options tunes an engine. The zero value is right for a node.
type Options struct {
	// LockTimeout is how long to wait for another process to let go of the
	// file. Default 1 s.
	LockTimeout time.Duration
	// InitialMmapSize is how many bytes of address space to map, however small
	// the file. While the file is smaller no writer waits for readers. Default
	// 1 GiB, or what the file needs where addresses have 32 bits.
	InitialMmapSize int
	// MaxSize is the size in bytes beyond which the file does not grow: an
	// update that needs more fails with store.ErrNoSpace. Default no limit.
	MaxSize int
	// NoSync commits without syncing: the file may be lost or destroyed when
	// the machine stops. Only for tests and benchmarks.
	NoSync bool
}

const (
	defaultLockTimeout = time.Second
	defaultMmapSize    = 1 << 30
)

// OpenEngine opens the file at path, creating it (mode 0600) and its directory
// (mode 0700) when they are not there. Call Verify before, unless the file is
// known to be sound. The error wraps store.ErrLocked when another engine has
// the file, store.ErrDamaged when it cannot be read as one of ours, and
// store.ErrNoSpace when there is no room to create it.
func OpenEngine(path string, o Options) (*Engine, error) {
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	e := &Engine{path: path}
	if err := e.open(o); err != nil {
		if e.file != nil {
			_ = abandon(e.file) // open and locked after a panic, else closed already
		}
		return nil, fmt.Errorf("open store: %w", openError(path, err))
	}
	if err := e.createBuckets(); err != nil {
		_ = e.Close() // the error to report is the one before
		return nil, fmt.Errorf("create buckets: %w", err)
	}
	// A synced file is still lost with a directory that is not.
	if err := syncDir(filepath.Dir(path)); err != nil {
		_ = e.Close()
		return nil, fmt.Errorf("sync data directory: %w", err)
	}
	return e, nil
}

func (e *Engine) open(o Options) (err error) {
	defer catchDamage(&err, e.path)()
	defer asDamage()
	e.db, err = bbolt.Open(e.path, 0o600, &bbolt.Options{
		Timeout:         lockTimeout(o),
		InitialMmapSize: mmapSize(o),
		MaxSize:         o.MaxSize,
		NoSync:          o.NoSync,
		FreelistType:    bbolt.FreelistMapType,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			e.file = f
			return f, err
		},
	})
	if err == nil {
		e.page = int64(e.db.Info().PageSize)
	}
	return err
}

// createBuckets creates what is missing. It writes nothing when nothing is, so
// a full disk does not keep a node from starting.
func (e *Engine) createBuckets() error {
	var missing []store.Bucket
	err := e.view(func(t *bbolt.Tx) error {
		defer asDamage()
		for b := range store.NumBuckets {
			if t.Bucket([]byte(b.String())) == nil {
				missing = append(missing, b)
			}
		}
		return nil
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return e.update(func(t *bbolt.Tx) error {
		defer asDamage()
		for _, b := range missing {
			if _, err := t.CreateBucket([]byte(b.String())); err != nil {
				return fmt.Errorf("create %s: %w", b, err)
			}
		}
		return nil
	})
}

// openError gives an error of bbolt's open its sentinel and its next step.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return lockedError(path)
	case ofSystem(err):
		return fmt.Errorf("%s: %w", path, spaceError(err))
	}
	return damageError(path, err)
}

// ofSystem reports whether the operating system refused something. Else it gave
// the file and bbolt would not have it, for which bbolt has no one sentinel.
func ofSystem(err error) bool {
	var (
		file  *fs.PathError
		errno syscall.Errno
	)
	return errors.As(err, &file) || errors.As(err, &errno)
}

// lockedError names the directory and what to do.
func lockedError(path string) error {
	return fmt.Errorf("%w: %s: stop that node, or start this one with a directory of its own",
		store.ErrLocked, filepath.Dir(path))
}

func lockTimeout(o Options) time.Duration {
	if o.LockTimeout == 0 {
		return defaultLockTimeout
	}
	return o.LockTimeout
}

func mmapSize(o Options) int {
	if o.InitialMmapSize == 0 && strconv.IntSize == 64 {
		return defaultMmapSize
	}
	return o.InitialMmapSize
}

// makeDir makes dir and its parents, and makes sure that they outlive a power
// cut.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
