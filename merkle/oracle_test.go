package merkle_test

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftless.dev/merkle"
	"pgregory.net/rapid"
)

var secret = [32]byte{1, 2, 3}

const realm = "atlas"

// set is the model: the rows there are.
type set map[merkle.Row]bool

func (s set) sorted() []merkle.Row {
	return slices.SortedFunc(maps.Keys(s), merkle.Row.Compare)
}

func (s set) trie(t failer) *merkle.Trie {
	trie := merkle.New(secret, realm)
	for r := range s {
		replace(t, trie, r.Key, merkle.Digest{}, r.Value)
	}
	return trie
}

type failer interface{ Fatalf(string, ...any) }

func replace(t failer, trie *merkle.Trie, k merkle.Key, old, new merkle.Digest) {
	if err := trie.Replace(k, old, new); err != nil {
		t.Fatalf("%v", err)
	}
}

// The oracle follows the package comment word by word, from sorted rows.

func sum(tag string, parts ...[]byte) [32]byte {
	return sha256.Sum256(slices.Concat([]byte("driftless-"+tag+"/1"), secret[:], slices.Concat(parts...)))
}

func be(n, bytes int) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n))[8-bytes:]
}

func oracleDigest(rows []merkle.Row, depth int) (d merkle.Digest) {
	switch {
	case len(rows) == 0:
		return d
	case len(rows) <= 32 || depth == 16:
		var body []byte
		for _, r := range rows {
			body = append(append(body, be(int(r.Key), 8)...), r.Value[:]...)
		}
		full := sum("leaf", body)
		return merkle.Digest(full[:16])
	}
	var children [16][]merkle.Row
	for _, r := range rows {
		nibble := strings.IndexByte("0123456789abcdef", hex64(r.Key)[depth])
		children[nibble] = append(children[nibble], r)
	}
	var digests [16]merkle.Digest
	for i, c := range children {
		digests[i] = oracleDigest(c, depth+1)
	}
	return oracleNode(digests)
}

func oracleNode(children [16]merkle.Digest) merkle.Digest {
	var body []byte
	for _, c := range children {
		body = append(body, c[:]...)
	}
	full := sum("node", body)
	return merkle.Digest(full[:16])
}

func oracleTop(count int, top merkle.Digest) merkle.Root {
	return sum("root", be(len(realm), 4), []byte(realm), be(count, 8), top[:])
}

func oracleRoot(s set) merkle.Root { return oracleTop(len(s), oracleDigest(s.sorted(), 0)) }

func hex64(k merkle.Key) string { return merkle.Prefix{Bits: uint64(k), Depth: 16}.String() }

// newRow draws a row from one of four shapes: spread, sharing 14 nibbles,
// sharing the last 12, or crowded on four keys. Few values, so that rows meet.
func newRow(r *rand.Rand, shape int) merkle.Row {
	if shape == 4 {
		shape = r.IntN(4)
	}
	key := [4]uint64{
		r.Uint64(),
		0xabcdef<<40 | r.Uint64N(256),
		r.Uint64N(1<<16) << 48,
		r.Uint64N(4) << 60,
	}[shape]
	row := merkle.Row{Key: merkle.Key(key), Value: merkle.Digest{1, byte(r.Uint32())}}
	if shape == 3 {
		row.Value[2] = byte(r.Uint32())
	}
	return row
}

// drawRand lets rapid choose a seed and shrink sizes, without drawing each row.
func drawRand(t *rapid.T) *rand.Rand { return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) }

func drawSet(t *rapid.T, r *rand.Rand, most int) set {
	shape, n := rapid.IntRange(0, 4).Draw(t, "shape"), rapid.IntRange(0, most).Draw(t, "rows")
	s := set{}
	for range n {
		s[newRow(r, shape)] = true
	}
	return s
}

// checkView holds a view against the model, node by node.
func checkView(t failer, v *merkle.View, s set) {
	rows := s.sorted()
	if v.Len() != len(s) || v.Root() != oracleTop(len(rows), oracleDigest(rows, 0)) {
		t.Fatalf("view of %d rows has Len %d and root %v", len(rows), v.Len(), v.Root())
	}
	checkNode(t, v, merkle.Prefix{}, rows)
}

func checkNode(t failer, v *merkle.View, p merkle.Prefix, rows []merkle.Row) {
	n := v.Node(p)
	if n.Count != len(rows) || n.Digest != oracleDigest(rows, int(p.Depth)) ||
		n.Leaf != (len(rows) <= merkle.LeafRows || p.Depth == 16) || !slices.Equal(slices.Collect(v.Rows(p)), rows) {
		t.Fatalf("node %q of %d rows: %+v", p, len(rows), n)
	}
	if n.Leaf {
		if !slices.Equal(n.Rows, rows) {
			t.Fatalf("leaf %q: %v, want %v", p, n.Rows, rows)
		}
		return
	}
	for i, child := range n.Children {
		c := p.Child(i)
		var under []merkle.Row
		for _, r := range rows {
			if c.Contains(r.Key) {
				under = append(under, r)
			}
		}
		if child != oracleDigest(under, int(c.Depth)) {
			t.Fatalf("node %q child %d: %v", p, i, child)
		}
		checkNode(t, v, c, under)
	}
}

func TestPlace_IsTheKeyedHashOfTheID(t *testing.T) {
	id := [16]byte{9, 8, 7}
	full := sum("place", id[:])
	if got := merkle.Place(&secret, id); got != merkle.Key(binary.BigEndian.Uint64(full[:])) {
		t.Fatalf("Place = %016x", uint64(got))
	}
}

func TestPrefix_NibblesOfAKey(t *testing.T) {
	p := merkle.Prefix{}
	for depth, nibble := range []int{0xd, 0, 0xf, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0xe} {
		if !p.Valid() || int(p.Depth) != depth || p.String() != "d0f123456789abce"[:depth] {
			t.Fatalf("prefix %+v at depth %d", p, depth)
		}
		if p = p.Child(nibble); !p.Contains(0xd0f123456789abce) || p.Contains(0x2fedcba987654321) {
			t.Fatalf("prefix %q holds the wrong keys", p)
		}
	}
	for _, bad := range []merkle.Prefix{{Depth: 17}, {Depth: 255}, {Bits: 1}, {Bits: 1 << 59, Depth: 1}, p.Child(0)} {
		if bad.Valid() {
			t.Errorf("%+v is valid", bad)
		}
		_ = bad.String()
	}
}
