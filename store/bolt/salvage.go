package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"driftless.dev/store"
	"go.etcd.io/bbolt"
)

const (
	// salvageEnv names the file that the child copies rows to.
	salvageEnv = "DRIFTLESS_SALVAGE_FILE"
	// salvageTimeout is far above what the rows of a large file take.
	salvageTimeout = 30 * time.Minute
	// salvageBatch is how many rows one transaction of the copy writes.
	salvageBatch = 4096
)

// Salvage copies every row of a damaged file that can still be walked to, from
// either end of its bucket, to a new file at to, in a child process. What it
// copies may be damaged too, and some rows may be missing: the store's own fsck
// tells. The damaged file is only read. Like Verify it needs RunVerifier.
func Salvage(ctx context.Context, path, to string) error {
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("salvage store: %s is there already", to)
	}
	if err := runChild(ctx, path, salvageTimeout, salvageEnv+"="+to); err != nil {
		return errors.Join(fmt.Errorf("salvage store: %w", err), remove(to))
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// salvage is what the child does.
func salvage(path, to string) error {
	from, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: defaultLockTimeout})
	if err != nil {
		return err
	}
	out, err := OpenEngine(to, Options{NoSync: true})
	if err != nil {
		return err
	}
	rows := 0
	err = from.View(func(t *bbolt.Tx) error {
		for b := range store.NumBuckets {
			n, err := copyBucket(t, out, b)
			if rows += n; err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && rows == 0 {
		err = errors.New("no row can be walked to")
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return syncFile(to)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copyBucket walks a bucket from its beginning until it breaks off, and then
// from its end.
func copyBucket(t *bbolt.Tx, out *Engine, b store.Bucket) (rows int, err error) {
	w := &salvager{out: out, bucket: b}
	whole := w.walk(t, (*bbolt.Cursor).First, (*bbolt.Cursor).Next)
	if !whole && w.err == nil {
		w.walk(t, (*bbolt.Cursor).Last, (*bbolt.Cursor).Prev)
	}
	w.flush()
	return w.rows, w.err
}

type salvager struct {
	out    *Engine
	bucket store.Bucket
	rows   int
	batch  [][2][]byte
	err    error // of the copy
}

// maxSalvage ends a walk in circles.
const maxSalvage = 1 << 30

// walk reports whether it came to the other end.
func (w *salvager) walk(t *bbolt.Tx, first, next func(*bbolt.Cursor) (key, value []byte)) (whole bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			whole = false // the page is broken: its rows, and those behind it, from here
		}
	}()
	h := t.Bucket([]byte(w.bucket.String()))
	if h == nil {
		return true
	}
	c := h.Cursor()
	n := 0
	for key, value := first(c); key != nil; key, value = next(c) {
		if n++; n > maxSalvage || w.err != nil {
			return false
		}
		if len(key) > 0 {
			w.add(key, value)
		}
	}
	return true
}

func (w *salvager) add(key, value []byte) {
	w.batch = append(w.batch, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
	if len(w.batch) == salvageBatch {
		w.flush()
	}
}

func (w *salvager) flush() {
	batch := w.batch
	w.batch = nil
	if len(batch) == 0 || w.err != nil {
		return
	}
	w.rows += len(batch)
	w.err = w.out.Update(func(tx store.WriteTx) error {
		for _, row := range batch {
			if err := tx.Put(w.bucket, row[0], row[1]); err != nil {
				return err
			}
		}
		return nil
	})
}
