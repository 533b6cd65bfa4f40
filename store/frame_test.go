package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// P10: every bit of the value, of the key and of the bucket's number counts.
func TestFrame_EveryFlippedBitIsDamage(t *testing.T) {
	key, payload := []byte("key\x00\xff"), []byte("payload")
	value := seal(BucketRecords, key, payload)
	if got, err := unseal(BucketRecords, key, value); err != nil || !bytes.Equal(got, payload) {
		t.Fatalf("read %q, %v", got, err)
	}
	flip := func(b []byte, bit int) []byte {
		b = bytes.Clone(b)
		b[bit/8] ^= 1 << (bit % 8)
		return b
	}
	damaged := func(what string, bit int, b Bucket, key, value []byte) {
		t.Helper()
		_, err := unseal(b, key, value)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), b.String()) {
			t.Errorf("%s bit %d: %v", what, bit, err)
		}
	}
	for bit := range 8 * len(value) {
		damaged("value", bit, BucketRecords, key, flip(value, bit))
	}
	for bit := range 8 * len(key) {
		damaged("key", bit, BucketRecords, flip(key, bit), value)
	}
	for b := range NumBuckets {
		if b != BucketRecords {
			damaged("bucket", int(b), b, key, value)
		}
	}
	for n := range value {
		damaged("length", n, BucketRecords, key, value[:n])
	}
	damaged("length", len(value)+1, BucketRecords, key, append(bytes.Clone(value), 0))
	damaged("absent", 0, BucketRecords, key, nil)
}

func TestFrame_EmptyPayload(t *testing.T) {
	if got, err := unseal(BucketMeta, nil, seal(BucketMeta, nil, nil)); err != nil || len(got) != 0 {
		t.Fatalf("read %q, %v", got, err)
	}
}
