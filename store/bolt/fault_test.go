package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"driftless.dev/store"
	"driftless.dev/store/bolt"
)

// filled opens an engine over a file of many pages.
func filled(t *testing.T) (e *bolt.Engine, path string) {
	t.Helper()
	path = damagedFile(t, sample(t))
	return open(t, path, small()), path
}

// D3: a page that is gone from under the map is an error of the transaction
// that touches it, whoever does.
func TestEngine_TruncatedWhileOpen(t *testing.T) {
	e, path := filled(t)
	if err := os.Truncate(path, int64(2*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if err := readAll(e); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("view: %v, want ErrDamaged", err)
	}
	write := func(tx store.WriteTx) error { return tx.Put(store.BucketRecords, []byte("0001"), []byte("v")) }
	for range 2 {
		if err := e.Update(write); !errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrFailed) {
			t.Errorf("update: %v, want ErrDamaged from before the commit", err)
		}
	}
	// The metas still are there: an empty transaction is sound.
	if err := e.View(func(store.Tx) error { return nil }); err != nil {
		t.Errorf("empty view: %v", err)
	}
}

func TestEngine_FaultInTheCallersHands(t *testing.T) {
	e, path := filled(t)
	err := e.View(func(tx store.Tx) error {
		value := tx.Get(store.BucketLog, []byte{3})
		if err := os.Truncate(path, int64(2*os.Getpagesize())); err != nil {
			t.Error(err)
		}
		if value[10_000] != 7 {
			t.Error("not what was written")
		}
		return nil
	})
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("error is %v, want ErrDamaged", err)
	}
}

// A panic with bbolt's locks held or inside a commit must not make anybody wait
// for those locks, and Close must free the file for the next engine.
func TestEngine_BrokenIsRefusedAndCloses(t *testing.T) {
	for name, brk := range map[string]func(*bolt.Engine, string) error{
		"beginning without the metas": func(e *bolt.Engine, path string) error {
			return errors.Join(os.Truncate(path, 0), readAll(e))
		},
		"committing without the pages": func(e *bolt.Engine, path string) error {
			return e.Update(func(tx store.WriteTx) error {
				err := tx.Put(store.BucketRecords, []byte("0001"), []byte("v"))
				return errors.Join(err, os.Truncate(path, int64(2*os.Getpagesize())))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, path := filled(t)
			errs := []error{
				brk(e, path), readAll(e), readAll(e),
				e.Update(func(store.WriteTx) error { return nil }), e.Update(func(store.WriteTx) error { return nil }),
			}
			for i, err := range errs {
				if !errors.Is(err, store.ErrFailed) || !errors.Is(err, store.ErrDamaged) {
					t.Errorf("call %d: %v, want ErrFailed and ErrDamaged", i, err)
				}
			}
			closed(t, e)
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			open(t, path, small())
		})
	}
}

func TestEngine_CallersPanicIsTheCallers(t *testing.T) {
	e := open(t, filepath.Join(t.TempDir(), "store.db"), small())
	defer func() {
		if recover() == nil {
			t.Error("a nil dereference in fn was taken for damage")
		}
		if err := e.Update(func(store.WriteTx) error { return nil }); err != nil {
			t.Errorf("after it: %v", err)
		}
	}()
	_ = e.View(func(store.Tx) error {
		var nothing *int
		*nothing = 1
		return nil
	})
}
