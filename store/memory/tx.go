package memory

import (
	"bytes"
	"errors"
	"fmt"

	"driftless.dev/store"
)

// maxKey is bbolt's limit, held here too so that tests in memory find what
// would fail on disk.
const maxKey = 32768

// errAscending refuses a write that would move what is being walked: bbolt
// would skip keys without a word.
var errAscending = errors.New("write inside Ascend")

// tx reads the trees of one state. That of an update replaces a tree by its
// own copy before it first writes to it.
type tx struct {
	state     state
	copied    [store.NumBuckets]bool
	ascending int // Ascend calls in progress
}

// Get returns the value, or nil when the key is absent. The slice is the
// engine's: it stays as it is for ever and must not be changed.
func (t *tx) Get(b store.Bucket, key []byte) []byte {
	e, _ := t.state[b].Get(entry{key: key})
	return e.value
}

// Ascend calls fn with the engine's slices, as Get returns them.
func (t *tx) Ascend(b store.Bucket, from []byte, fn func(key, value []byte) bool) {
	t.ascending++
	defer func() { t.ascending-- }()
	t.state[b].Ascend(entry{key: from}, func(e entry) bool { return fn(e.key, e.value) })
}

// Last returns the highest key and its value, or nils for an empty bucket.
func (t *tx) Last(b store.Bucket) (key, value []byte) {
	e, _ := t.state[b].Max()
	return e.key, e.value
}

// Put copies key and value before it returns.
func (t *tx) Put(b store.Bucket, key, value []byte) error {
	switch {
	case t.ascending > 0:
		return fmt.Errorf("put %s/%x: %w", b, key, errAscending)
	case len(key) == 0 || len(key) > maxKey:
		return fmt.Errorf("put %s: key of %d bytes", b, len(key))
	}
	t.own(b)
	// append, not Clone: an empty value is a value, nil is none.
	t.state[b].Set(entry{key: bytes.Clone(key), value: append([]byte{}, value...)})
	return nil
}

// Delete removes the key. A key that is absent is no error.
func (t *tx) Delete(b store.Bucket, key []byte) error {
	if t.ascending > 0 {
		return fmt.Errorf("delete %s/%x: %w", b, key, errAscending)
	}
	t.own(b)
	t.state[b].Delete(entry{key: key})
	return nil
}

// own gives the update a tree of its own to write to.
func (t *tx) own(b store.Bucket) {
	if !t.copied[b] {
		t.copied[b] = true
		t.state[b] = t.state[b].Copy()
	}
}
