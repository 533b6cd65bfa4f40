package bolt_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"go.etcd.io/bbolt"
)

func TestOpenEngine_IsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "store.db")
	open(t, path, small())
	for name, want := range map[string]os.FileMode{filepath.Dir(dir): 0o700, dir: 0o700, path: 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s is %o, want %o", name, got, want)
		}
	}
}

func TestOpenEngine_OneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	child, acked := startWriter(t, path)
	if !acked.Scan() {
		t.Fatal("the child did not write")
	}
	refused(t, path)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	open(t, path, small())
	refused(t, path) // by this process, too
}

func refused(t *testing.T, path string) {
	t.Helper()
	begun := time.Now()
	_, err := bolt.OpenEngine(path, small())
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("refused after %v", took)
	}
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(fmt.Sprint(err), filepath.Dir(path)) {
		t.Errorf("open: %v, want ErrLocked with the directory", err)
	}
	if err := bolt.Verify(t.Context(), path); !errors.Is(err, store.ErrLocked) {
		t.Errorf("verify: %v, want ErrLocked", err)
	}
}

func TestOpenEngine_SystemErrorIsNotDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "store.db"), t.TempDir()} {
		if _, err := bolt.OpenEngine(path, small()); err == nil || errors.Is(err, store.ErrDamaged) {
			t.Errorf("open %s: %v", path, err)
		}
		if err := bolt.Verify(t.Context(), path); err == nil || errors.Is(err, store.ErrDamaged) {
			t.Errorf("verify %s: %v", path, err)
		}
	}
}

func TestEngine_MaxSizeIsNoSpace(t *testing.T) {
	o := fast()
	o.InitialMmapSize, o.MaxSize = 1<<20, 1<<20
	path := filepath.Join(t.TempDir(), "store.db")
	e := open(t, path, o)
	n := fill(t, e)
	if err := e.Update(func(tx store.WriteTx) error { return tx.Put(store.BucketMeta, []byte("small"), []byte("v")) }); err != nil {
		t.Errorf("a small write after a large one was refused: %v", err)
	}
	if got := count(t, e, store.BucketRecords); got != n {
		t.Errorf("%d records, want %d", got, n)
	}
	closed(t, e)
	sound(t, path)
}

func TestEngine_Stats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	e := open(t, path, fast())
	before := e.Stats()
	if info, err := os.Stat(path); err != nil || before.Size != info.Size() {
		t.Errorf("size %d, want that of the file, %v", before.Size, err)
	}
	const large = 1 << 20
	for _, write := range []func(store.WriteTx) error{
		func(tx store.WriteTx) error { return tx.Put(store.BucketMeta, []byte("k"), make([]byte, large)) },
		func(tx store.WriteTx) error { return tx.Delete(store.BucketMeta, []byte("k")) },
	} {
		if err := e.Update(write); err != nil {
			t.Fatal(err)
		}
	}
	after := e.Stats()
	if after.Size < large || after.Free < before.Free+large {
		t.Errorf("after a delete: %+v, before %+v", after, before)
	}
	closed(t, e)
	if got := e.Stats(); got != (bolt.Stats{}) {
		t.Errorf("after Close: %+v", got)
	}
	if got := open(t, path, fast()).Stats(); got.Free < large {
		t.Errorf("after a reopen: %+v", got)
	}
}

// The log is appended to and its pages are left full; the others have room.
func TestEngine_FillsTheLogsPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	e := open(t, path, fast())
	for n := range uint64(20) {
		if err := e.Update(func(tx store.WriteTx) error {
			var err error
			for i := range uint64(100) {
				key := binary.BigEndian.AppendUint64(nil, n*100+i)
				err = errors.Join(err, tx.Put(store.BucketLog, key, make([]byte, 200)), tx.Put(store.BucketRecords, key, make([]byte, 200)))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, e)
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bbolt.Tx) error {
		used := func(b store.Bucket) float64 {
			s := tx.Bucket([]byte(b.String())).Stats()
			return float64(s.LeafInuse) / float64(s.LeafAlloc)
		}
		if log, records := used(store.BucketLog), used(store.BucketRecords); log < 0.85 || records > 0.7 {
			t.Errorf("pages of the log are used to %.2f, of records to %.2f", log, records)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// fill adds records of 64 KiB until there is no space, and returns how many
// there are.
func fill(t *testing.T, e *bolt.Engine) int {
	t.Helper()
	for n := count(t, e, store.BucketRecords); n < 1000; n++ {
		err := e.Update(func(tx store.WriteTx) error {
			return tx.Put(store.BucketRecords, fmt.Appendf(nil, "%04d", n), make([]byte, 64<<10))
		})
		if errors.Is(err, store.ErrNoSpace) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("space never ended")
	return 0
}

func count(t *testing.T, e *bolt.Engine, b store.Bucket) (n int) {
	t.Helper()
	if err := e.View(func(tx store.Tx) error {
		tx.Ascend(b, nil, func(_, _ []byte) bool { n++; return true })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func sound(t *testing.T, path string) {
	t.Helper()
	if err := bolt.Verify(t.Context(), path); err != nil {
		t.Error(err)
	}
}
