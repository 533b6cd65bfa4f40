// Package merkle is a strict Merkle radix trie over the rows of one realm, and
// the descent by which two replicas find the rows they do not share.
//
// Rows are placed by a keyed hash of the record's id, and the root is a
// function of the set of rows alone: not of the order they came in, nor of what
// was there before. D(prefix), the digest of all rows under a prefix of the
// key, is
//
//	no rows                      the zero digest
//	1..32 rows, or all 16 nibbles SHA-256("driftless-leaf/1" ‖ secret ‖ rows)[:16]
//	otherwise                    SHA-256("driftless-node/1" ‖ secret ‖ 16 child digests)[:16]
//
// where rows are key (8 bytes, big-endian) ‖ value, sorted. The root adds the
// realm and the number of rows:
//
//	SHA-256("driftless-root/1" ‖ secret ‖ len(realm) (4 bytes) ‖ realm ‖ rows (8 bytes) ‖ D(empty prefix))
//
// Equal roots are proof of equal sets. No part is a sum or an XOR, which could
// be made to cancel. The rule and its reasons are in DESIGN.md section 4; the
// golden vectors are in testdata/roots.json.
//
// HAZARD: whoever knows the secret can choose ids that crowd one prefix. The
// trie stays right and gets slow there, so writers must not be given it.
package merkle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"driftless.dev/mutant"
)

// LeafRows is the most rows a leaf holds above the last level. It is part of
// the root's definition.
const LeafRows = 32

// Digest is a truncated SHA-256. Zero means absent.
type Digest [16]byte

// IsZero reports whether d stands for "absent".
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns d in hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Root is the hash of a whole trie.
type Root [32]byte

// String returns r in hex.
func (r Root) String() string { return hex.EncodeToString(r[:]) }

// Key is the place of a record in the trie. It is short enough that two
// records may share one.
type Key uint64

// Place returns the key of a record: the first 8 bytes, big-endian, of
// SHA-256("driftless-place/1" ‖ secret ‖ id).
func Place(secret *[32]byte, id [16]byte) Key {
	var buf [17 + 32 + 16]byte
	b := begin(buf[:0], "driftless-place/1", secret)
	sum := sha256.Sum256(append(b, id[:]...))
	return Key(binary.BigEndian.Uint64(sum[:]))
}

// Row is one record in the trie: where it is and what it is. Value is the head
// of the record digest and never zero.
type Row struct {
	Key   Key
	Value Digest
}

// Compare orders rows by key, then by value.
func (r Row) Compare(s Row) int {
	return cmp.Or(cmp.Compare(r.Key, s.Key), bytes.Compare(r.Value[:], s.Value[:]))
}

// RealmRoot is a realm's part in a SuperRoot. Count is its number of rows.
type RealmRoot struct {
	Realm string
	Root  Root
	Count int
}

// SuperRoot hashes the roots of several realms into one, in any order:
// SHA-256("driftless-super/1" ‖ secret ‖ realms (4 bytes) ‖ per realm, sorted,
// len(realm) (4 bytes) ‖ realm ‖ root). Realms without rows are left out, so
// that one node's empty realm equals another's unknown one. Each realm is named
// once; realms is only read.
func SuperRoot(secret *[32]byte, realms []RealmRoot) Root {
	held := slices.DeleteFunc(slices.Clone(realms), func(r RealmRoot) bool { return r.Count <= 0 })
	slices.SortFunc(held, func(a, b RealmRoot) int { return cmp.Compare(a.Realm, b.Realm) })
	b := begin(nil, "driftless-super/1", secret)
	b = binary.BigEndian.AppendUint32(b, uint32(len(held)))
	for _, r := range held {
		b = appendString(b, r.Realm)
		b = append(b, r.Root[:]...)
	}
	return sha256.Sum256(b)
}

func rootHash(secret *[32]byte, realm string, count int, top Digest) Root {
	b := begin(nil, "driftless-root/1", secret)
	b = appendString(b, realm)
	b = binary.BigEndian.AppendUint64(b, uint64(count))
	return sha256.Sum256(append(b, top[:]...))
}

func leafDigest(secret *[32]byte, rows []Row) Digest {
	if len(rows) == 0 {
		return Digest{}
	}
	var buf [16 + 32 + LeafRows*24]byte // a fuller leaf, at the last level, moves to the heap
	b := begin(buf[:0], "driftless-leaf/1", secret)
	if mutant.XORLeaf {
		return xorLeaf(rows)
	}
	for i := range rows {
		b = binary.BigEndian.AppendUint64(b, uint64(rows[i].Key))
		if !mutant.KeyOnlyLeaf {
			b = append(b, rows[i].Value[:]...)
		}
	}
	return truncate(sha256.Sum256(b))
}

// xorLeaf is what a leaf must not be: see package mutant.
func xorLeaf(rows []Row) Digest {
	d := Digest{1}
	for i := range rows {
		d[1] ^= rows[i].Value[0]
	}
	return d
}

func nodeDigest(secret *[32]byte, children *[16]Digest) Digest {
	var buf [16 + 32 + 16*16]byte
	b := begin(buf[:0], "driftless-node/1", secret)
	for i := range children {
		b = append(b, children[i][:]...)
	}
	return truncate(sha256.Sum256(b))
}

func begin(b []byte, tag string, secret *[32]byte) []byte {
	return append(append(b, tag...), secret[:]...)
}

func appendString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func truncate(sum [32]byte) Digest { return Digest(sum[:16]) }
