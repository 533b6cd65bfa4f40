package enginetest

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"driftless.dev/store"
	"github.com/google/go-cmp/cmp"
)

var errUndo = errors.New("undo")

func testOwnWrites(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "2", "c", "3")
	want := []pair{{"b", "new"}, {"c", "3"}, {"d", "4"}}
	h.update(t, func(tx store.WriteTx) error {
		err := errors.Join(
			tx.Put(bucket, []byte("d"), []byte("4")),
			tx.Put(bucket, []byte("b"), []byte("old")), tx.Put(bucket, []byte("b"), []byte("new")),
			tx.Delete(bucket, []byte("a")))
		if got := tx.Get(bucket, []byte("b")); string(got) != "new" {
			t.Errorf("get b: %q", got)
		}
		if got := tx.Get(bucket, []byte("a")); got != nil {
			t.Errorf("get deleted a: %q", got)
		}
		if diff := cmp.Diff(want, ascend(tx, bucket, "", -1)); diff != "" {
			t.Errorf("inside: %s", diff)
		}
		if k, _ := tx.Last(bucket); string(k) != "d" {
			t.Errorf("last: %q", k)
		}
		return err
	})
	if diff := cmp.Diff(want, h.all(t, bucket)); diff != "" {
		t.Errorf("after: %s", diff)
	}
}

// undone writes in every way and returns.
func undone(tx store.WriteTx) error {
	return errors.Join(
		tx.Put(bucket, []byte("a"), []byte("new")), tx.Put(bucket, []byte("c"), []byte("new")),
		tx.Delete(bucket, []byte("b")), tx.Put(store.BucketLog, []byte("k"), []byte("new")))
}

func testRollback(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "2")
	err := h.Update(func(tx store.WriteTx) error { return errors.Join(undone(tx), errUndo) })
	if !errors.Is(err, errUndo) {
		t.Fatalf("error is %v, want fn's", err)
	}
	checkUndone(t, h)
}

func testPanic(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "2")
	func() {
		defer func() {
			if r := recover(); r != errUndo {
				t.Errorf("panic is %v, want fn's own", r)
			}
		}()
		_ = h.Update(func(tx store.WriteTx) error { _ = undone(tx); panic(errUndo) })
	}()
	checkUndone(t, h)
}

func checkUndone(t *testing.T, h *harness) {
	t.Helper()
	if diff := cmp.Diff([]pair{{"a", "1"}, {"b", "2"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
	if got := h.all(t, store.BucketLog); got != nil {
		t.Errorf("log: %v", got)
	}
	h.put(t, bucket, "c", "3") // goes on
	h.reopen(t)
	if diff := cmp.Diff([]pair{{"a", "1"}, {"b", "2"}, {"c", "3"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
}

// Lost increments would show that two updates ran at a time.
func testSerialised(t *testing.T, h *harness) {
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := h.Update(increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h.view(t, func(tx store.Tx) {
		if n := counter(tx, bucket); n != writers*each {
			t.Errorf("%d, want %d", n, writers*each)
		}
	})
}

// increment counts in two buckets.
func increment(tx store.WriteTx) error {
	next := binary.BigEndian.AppendUint64(nil, counter(tx, bucket)+1)
	return errors.Join(tx.Put(bucket, []byte("n"), next), tx.Put(store.BucketMeta, []byte("n"), next))
}

func counter(tx store.Tx, b store.Bucket) uint64 {
	if v := tx.Get(b, []byte("n")); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func testIsolation(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1")
	h.update(t, func(tx store.WriteTx) error {
		err := tx.Put(bucket, []byte("a"), []byte("2"))
		seen := make(chan []pair)
		go func() {
			var met []pair
			_ = h.View(func(tx store.Tx) error { met = ascend(tx, bucket, "", -1); return nil })
			seen <- met
		}()
		if diff := cmp.Diff([]pair{{"a", "1"}}, <-seen); diff != "" {
			t.Error(diff)
		}
		return err
	})
	if diff := cmp.Diff([]pair{{"a", "2"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
}

// A view that began before an update goes on seeing what was, and the slices
// it was given stay as they are.
func testStableView(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "2")
	h.view(t, func(tx store.Tx) {
		a := tx.Get(bucket, []byte("a"))
		for range 3 {
			done := make(chan error)
			go func() { done <- h.Update(undone) }()
			if err := <-done; err != nil {
				t.Errorf("update beside a view: %v", err)
			}
		}
		if string(a) != "1" {
			t.Errorf("a slice changed to %q", a)
		}
		if diff := cmp.Diff([]pair{{"a", "1"}, {"b", "2"}}, ascend(tx, bucket, "", -1)); diff != "" {
			t.Error(diff)
		}
	})
	if diff := cmp.Diff([]pair{{"a", "new"}, {"c", "new"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
}

func testConcurrentViews(t *testing.T, h *harness) {
	const updates = 60
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for last := uint64(0); last < updates && !t.Failed(); {
				err := h.View(func(tx store.Tx) error {
					n, m := counter(tx, bucket), counter(tx, store.BucketMeta)
					if n != m || n < last {
						t.Errorf("saw %d and %d after %d", n, m, last)
					}
					last = n
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range updates {
		if err := h.Update(increment); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

func testReopen(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "")
	h.put(t, store.BucketLog, "k", "v")
	_ = h.Update(func(tx store.WriteTx) error { return errors.Join(undone(tx), errUndo) })
	h.reopen(t)
	h.reopen(t)
	if diff := cmp.Diff([]pair{{"a", "1"}, {"b", ""}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
	h.put(t, store.BucketLog, "l", "w")
	if diff := cmp.Diff([]pair{{"k", "v"}, {"l", "w"}}, h.all(t, store.BucketLog)); diff != "" {
		t.Error(diff)
	}
}

func testClosed(t *testing.T, h *harness) {
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Fatal(err)
	}
	never := func() error { t.Error("fn ran after Close"); return nil }
	if err := h.View(func(store.Tx) error { return never() }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("view: %v", err)
	}
	if err := h.Update(func(store.WriteTx) error { return never() }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("update: %v", err)
	}
}
