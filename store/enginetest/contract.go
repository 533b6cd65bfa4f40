package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"driftless.dev/store"
	"github.com/google/go-cmp/cmp"
)

const bucket = store.BucketRecords

func testGet(t *testing.T, h *harness) {
	h.update(t, func(tx store.WriteTx) error {
		if err := errors.Join(tx.Put(bucket, []byte("empty"), []byte{}), tx.Put(bucket, []byte("nil"), nil)); err != nil {
			return err
		}
		checkEmpty(t, tx)
		return nil
	})
	h.view(t, func(tx store.Tx) { checkEmpty(t, tx) })
}

func checkEmpty(t *testing.T, tx store.Tx) {
	t.Helper()
	for _, key := range []string{"empty", "nil"} {
		if v := tx.Get(bucket, []byte(key)); v == nil || len(v) != 0 {
			t.Errorf("%s: %#v, want empty and not nil", key, v)
		}
	}
	for _, key := range []string{"a", "emptyy", "empt", "z"} {
		if v := tx.Get(bucket, []byte(key)); v != nil {
			t.Errorf("absent %s: %#v", key, v)
		}
	}
}

func testUnusableKeys(t *testing.T, h *harness) {
	h.update(t, func(tx store.WriteTx) error {
		if err := tx.Put(bucket, nil, []byte("v")); err == nil {
			t.Error("an empty key was taken")
		}
		if err := tx.Put(bucket, make([]byte, 32769), []byte("v")); err == nil {
			t.Error("a key of 32769 bytes was taken")
		}
		return tx.Put(bucket, make([]byte, 32768), []byte("v"))
	})
	if got := h.all(t, bucket); len(got) != 1 {
		t.Errorf("%d keys, want 1", len(got))
	}
}

func testCopies(t *testing.T, h *harness) {
	key, value := []byte("key"), []byte("value")
	h.update(t, func(tx store.WriteTx) error { return tx.Put(bucket, key, value) })
	copy(key, "xxx")
	copy(value, "xxxxx")
	if diff := cmp.Diff([]pair{{"key", "value"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
}

func testDelete(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "2")
	h.update(t, func(tx store.WriteTx) error {
		return errors.Join(
			tx.Delete(bucket, []byte("a")), tx.Delete(bucket, []byte("a")), tx.Delete(bucket, []byte("never")),
			tx.Delete(store.BucketLog, []byte("b")))
	})
	if diff := cmp.Diff([]pair{{"b", "2"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
}

func testAscend(t *testing.T, h *harness) {
	h.view(t, func(tx store.Tx) {
		if got := ascend(tx, bucket, "", -1); got != nil {
			t.Errorf("empty bucket: %v", got)
		}
	})
	// Put out of order; a zero byte and 0xff sort as bytes do.
	h.put(t, bucket, "c", "3", "a", "1", "a\x00", "2", "\xff", "4")
	want := []pair{{"a", "1"}, {"a\x00", "2"}, {"c", "3"}, {"\xff", "4"}}
	for _, c := range []struct {
		from string
		max  int
		want []pair
	}{
		{"", -1, want}, {"A", -1, want}, {"a", -1, want}, {"a\x00", -1, want[1:]}, {"a\x00\x00", -1, want[2:]},
		{"b", -1, want[2:]}, {"c", 1, want[2:3]}, {"\xff", -1, want[3:]}, {"\xff\x00", -1, nil}, {"", 2, want[:2]},
	} {
		h.view(t, func(tx store.Tx) {
			if diff := cmp.Diff(c.want, ascend(tx, bucket, c.from, c.max)); diff != "" {
				t.Errorf("from %q, %d: %s", c.from, c.max, diff)
			}
		})
	}
}

func testWriteInsideAscend(t *testing.T, h *harness) {
	h.put(t, bucket, "a", "1", "b", "2")
	h.update(t, func(tx store.WriteTx) error {
		tx.Ascend(bucket, nil, func(key, _ []byte) bool {
			if tx.Put(bucket, []byte("c"), nil) == nil || tx.Delete(bucket, key) == nil {
				t.Error("a write inside Ascend was taken")
			}
			tx.Ascend(bucket, key, func(_, _ []byte) bool { return false }) // reading is fine
			return true
		})
		return tx.Delete(bucket, []byte("a"))
	})
	if diff := cmp.Diff([]pair{{"b", "2"}}, h.all(t, bucket)); diff != "" {
		t.Error(diff)
	}
}

func testLast(t *testing.T, h *harness) {
	last := func(tx store.Tx) string { k, v := tx.Last(bucket); return fmt.Sprintf("%q=%q", k, v) }
	h.view(t, func(tx store.Tx) {
		if k, v := tx.Last(bucket); k != nil || v != nil {
			t.Errorf("empty bucket: %q=%q", k, v)
		}
	})
	h.put(t, bucket, "b", "2", "a", "1", "b\x00", "3")
	h.update(t, func(tx store.WriteTx) error {
		if got, want := last(tx), `"b\x00"="3"`; got != want {
			t.Errorf("last is %s, want %s", got, want)
		}
		return tx.Delete(bucket, []byte("b\x00"))
	})
	h.view(t, func(tx store.Tx) {
		if got, want := last(tx), `"b"="2"`; got != want {
			t.Errorf("after a delete: %s, want %s", got, want)
		}
	})
}

// An update that deletes all it finds, over many pages, finds nothing after.
func testEmptied(t *testing.T, h *harness) {
	h.update(t, func(tx store.WriteTx) error {
		var err error
		for i := range 1000 {
			err = errors.Join(err, tx.Put(bucket, fmt.Appendf(nil, "%04d", i), make([]byte, 100)))
		}
		return err
	})
	h.update(t, func(tx store.WriteTx) error {
		for _, p := range ascend(tx, bucket, "", -1)[1:] {
			if err := tx.Delete(bucket, []byte(p.Key)); err != nil {
				return err
			}
		}
		if k, _ := tx.Last(bucket); string(k) != "0000" {
			t.Errorf("last of one: %q", k)
		}
		err := tx.Delete(bucket, []byte("0000"))
		if k, v := tx.Last(bucket); k != nil || v != nil {
			t.Errorf("last of none: %q=%q", k, v)
		}
		if got := ascend(tx, bucket, "", -1); got != nil {
			t.Errorf("ascend over none: %v", got)
		}
		return err
	})
	if got := h.all(t, bucket); got != nil {
		t.Errorf("after: %v", got)
	}
}

func testBuckets(t *testing.T, h *harness) {
	for b := range store.NumBuckets {
		h.put(t, b, "key", b.String())
	}
	for b := range store.NumBuckets {
		if diff := cmp.Diff([]pair{{"key", b.String()}}, h.all(t, b)); diff != "" {
			t.Error(diff)
		}
	}
}

// Values beyond a page, and more keys than a page holds, in the bucket that is
// filled fuller than the others and in one that is not.
func testLarge(t *testing.T, h *harness) {
	for _, b := range []store.Bucket{store.BucketLog, bucket} {
		var want []pair
		h.update(t, func(tx store.WriteTx) error {
			for i := range 500 {
				p := pair{fmt.Sprintf("%04d", i), strings.Repeat("x", i*20)}
				want = append(want, p)
				if err := tx.Put(b, []byte(p.Key), []byte(p.Value)); err != nil {
					return err
				}
			}
			return tx.Put(b, []byte("large"), bytes.Repeat([]byte("y"), 1<<20))
		})
		want = append(want, pair{"large", strings.Repeat("y", 1<<20)})
		h.reopen(t)
		if !cmp.Equal(want, h.all(t, b)) {
			t.Errorf("%s: what was read is not what was written", b)
		}
	}
}
