package bolt

import (
	"errors"
	"fmt"

	"driftless.dev/store"
	"go.etcd.io/bbolt"
)

// logFill fills the pages of the log, to which keys are only appended, before
// they are split. In the other buckets keys come in any order, and half-full
// pages leave room for them.
const logFill = 0.95

// errAscending refuses a write that would move what is being walked: bbolt's
// cursor would skip keys without a word.
var errAscending = errors.New("write inside Ascend")

// tx is a transaction with the buckets it has used so far. Its methods panic
// with a damage when bbolt panics.
type tx struct {
	bolt      *bbolt.Tx
	buckets   [store.NumBuckets]*bbolt.Bucket
	ascending int // Ascend calls in progress
}

// Get returns the value, or nil when the key is absent. The slice ends with
// the transaction.
func (t *tx) Get(b store.Bucket, key []byte) []byte {
	defer asDamage()
	return t.bucket(b).Get(key)
}

// Ascend calls fn with slices that end with the transaction.
func (t *tx) Ascend(b store.Bucket, from []byte, fn func(key, value []byte) bool) {
	t.ascending++
	defer func() { t.ascending-- }()
	c, key, value := t.seek(b, from)
	for key != nil && fn(key, value) {
		key, value = next(c)
	}
}

// Last returns the highest key and its value, or nils for an empty bucket. The
// slices end with the transaction.
func (t *tx) Last(b store.Bucket) (key, value []byte) {
	defer asDamage()
	c := t.bucket(b).Cursor()
	if t.bolt.Writable() {
		// Cursor.Last steps back over pages that this update has emptied. When
		// it has emptied them all it never stops; First is not so.
		if key, _ := c.First(); key == nil {
			return nil, nil
		}
	}
	return c.Last()
}

// Put copies key and keeps value until the transaction ends.
func (t *tx) Put(b store.Bucket, key, value []byte) error {
	defer asDamage()
	if value == nil {
		value = []byte{} // Get would take it for absent until the commit
	}
	if err := t.write(func() error { return t.bucket(b).Put(key, value) }); err != nil {
		return fmt.Errorf("put %s/%x: %w", b, key, err)
	}
	return nil
}

// Delete removes the key. A key that is absent is no error.
func (t *tx) Delete(b store.Bucket, key []byte) error {
	defer asDamage()
	if err := t.write(func() error { return t.bucket(b).Delete(key) }); err != nil {
		return fmt.Errorf("delete %s/%x: %w", b, key, err)
	}
	return nil
}

func (t *tx) write(op func() error) error {
	if t.ascending > 0 {
		return errAscending
	}
	return op()
}

func (t *tx) bucket(b store.Bucket) *bbolt.Bucket {
	if t.buckets[b] == nil {
		h := t.bolt.Bucket([]byte(b.String()))
		if h == nil {
			panic(fmt.Sprintf("bucket %s is missing", b))
		}
		if b == store.BucketLog {
			h.FillPercent = logFill // of the handle, not of the file
		}
		t.buckets[b] = h
	}
	return t.buckets[b]
}

// seek and next are the steps of a walk that are bbolt's, without the caller's
// function in between.

func (t *tx) seek(b store.Bucket, from []byte) (c *bbolt.Cursor, key, value []byte) {
	defer asDamage()
	c = t.bucket(b).Cursor()
	key, value = c.Seek(from)
	return c, key, value
}

func next(c *bbolt.Cursor) (key, value []byte) {
	defer asDamage()
	return c.Next()
}
