package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Every stored value has a frame of ours, since the engine's pages carry no
// checksum: a version byte, the payload's length and a CRC-32C over bucket,
// key and payload. The key is covered because a flipped key bit would hide a
// record without damaging any value.
const (
	frameVersion = 1
	frameHead    = 1 + 4 + 4
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func frameSum(b Bucket, key, payload []byte) uint32 {
	t := castagnoli()
	sum := crc32.Update(0, t, []byte{byte(b)})
	sum = crc32.Update(sum, t, key)
	return crc32.Update(sum, t, payload)
}

// seal frames a payload.
func seal(b Bucket, key, payload []byte) []byte {
	return sealRow(b, key, append(newRow(len(payload)), payload...))
}

// newRow returns a row to append a payload of about size bytes to: room for
// the frame's head, so that the payload is not copied once more.
func newRow(size int) []byte { return make([]byte, frameHead, frameHead+size) }

// sealRow frames, in place, the payload that was appended to a new row.
func sealRow(b Bucket, key, row []byte) []byte {
	payload := row[frameHead:]
	row[0] = frameVersion
	binary.BigEndian.PutUint32(row[1:], uint32(len(payload)))
	binary.BigEndian.PutUint32(row[5:], frameSum(b, key, payload))
	return row
}

// unseal returns the payload, aliasing value, or an error that wraps
// ErrDamaged and names bucket and key.
func unseal(b Bucket, key, value []byte) ([]byte, error) {
	switch {
	case len(value) < frameHead || value[0] != frameVersion:
		return nil, fmt.Errorf("%w: %s/%x: no frame", ErrDamaged, b, key)
	case binary.BigEndian.Uint32(value[1:]) != uint32(len(value)-frameHead):
		return nil, fmt.Errorf("%w: %s/%x: wrong length", ErrDamaged, b, key)
	case binary.BigEndian.Uint32(value[5:]) != frameSum(b, key, value[frameHead:]):
		return nil, fmt.Errorf("%w: %s/%x: wrong checksum", ErrDamaged, b, key)
	}
	return value[frameHead:], nil
}
