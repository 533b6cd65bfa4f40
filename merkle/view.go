package merkle

import (
	"iter"
	"slices"
)

// View is a trie as it was at one moment. It never changes and is safe for
// concurrent use, also while the trie it came from goes on changing.
type View struct {
	secret [32]byte
	realm  string
	top    *node
	root   Root
}

// Node is what one replica tells another about a prefix. Leaf is set when
// Count <= LeafRows or the prefix has all 16 nibbles; a leaf has Rows, sorted,
// any other node has Children. An empty prefix is a leaf without rows.
type Node struct {
	Count    int
	Digest   Digest
	Leaf     bool
	Rows     []Row
	Children [16]Digest
}

// Root returns the root hash.
func (v *View) Root() Root { return v.root }

// Len returns the number of rows.
func (v *View) Len() int { return v.top.size() }

// Node returns the node at p. Its Rows are the view's own and only to be read.
// Nothing is under a prefix that is not Valid.
func (v *View) Node(p Prefix) Node {
	n, rows := v.find(p)
	if n != nil && n.kids != nil {
		return Node{Count: n.count, Digest: n.digest, Children: n.children()}
	}
	return Node{Count: len(rows), Digest: v.leafSum(n, rows), Leaf: true, Rows: rows}
}

// Rows yields the rows under p in order. Nothing is under a prefix that is not
// Valid.
func (v *View) Rows(p Prefix) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		n, rows := v.find(p)
		if n != nil && n.kids != nil {
			n.each(yield)
			return
		}
		for _, r := range rows {
			if !yield(r) {
				return
			}
		}
	}
}

// sum returns the count and digest at p, without building a Node.
func (v *View) sum(p Prefix) (int, Digest) {
	n, rows := v.find(p)
	if n != nil && n.kids != nil {
		return n.count, n.digest
	}
	return len(rows), v.leafSum(n, rows)
}

func (v *View) leafSum(n *node, rows []Row) Digest {
	if n != nil && len(rows) == n.count {
		return n.digest
	}
	return leafDigest(&v.secret, rows)
}

// find returns the node at p or the leaf above it, and of a leaf the rows under p.
func (v *View) find(p Prefix) (*node, []Row) {
	if !p.Valid() {
		return nil, nil
	}
	n := v.top
	for depth := 0; depth < int(p.Depth) && n != nil && n.kids != nil; depth++ {
		n = n.kids[nibble(Key(p.Bits), depth)]
	}
	if n == nil || n.kids != nil {
		return n, nil
	}
	from, _ := slices.BinarySearchFunc(n.rows, Row{Key: Key(p.Bits)}, Row.Compare)
	to := from
	for to < len(n.rows) && p.Contains(n.rows[to].Key) {
		to++
	}
	return n, n.rows[from:to:to]
}

// size, sum, has and the like also work on the nil node, which is empty.

func (n *node) size() int {
	if n == nil {
		return 0
	}
	return n.count
}

func (n *node) sum() Digest {
	if n == nil {
		return Digest{}
	}
	return n.digest
}

func (n *node) has(r Row) bool {
	if n == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(n.rows, r, Row.Compare)
	return found
}

func (n *node) children() (d [16]Digest) {
	for i, kid := range n.kids {
		d[i] = kid.sum()
	}
	return d
}

// each yields the rows under n in order and reports whether all were taken.
func (n *node) each(yield func(Row) bool) bool {
	if n == nil {
		return true
	}
	for _, r := range n.rows {
		if !yield(r) {
			return false
		}
	}
	if n.kids == nil {
		return true
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}

func (n *node) appendRows(rows []Row) []Row {
	n.each(func(r Row) bool {
		rows = append(rows, r)
		return true
	})
	return rows
}
