package merkle

import (
	"errors"
	"fmt"
	"slices"
)

// Errors of Replace. Either means the caller's idea of the set is wrong.
var (
	ErrAbsent  = errors.New("merkle: row to remove is absent")
	ErrPresent = errors.New("merkle: row to add is present")
)

// Trie is the changing set of one realm's rows. It is not safe for concurrent
// use; its Views are.
type Trie struct {
	secret [32]byte
	realm  string
	root   *node
	// epoch marks the nodes that no View can see. Only these change in place.
	epoch uint64
	// view is the newest snapshot while it still equals the trie.
	view *View
}

// node is a leaf (kids nil, rows sorted) or an inner node. Its shape follows
// from the set: inner exactly when it has more than LeafRows rows and is above
// the last level. An empty subtree is a nil node.
type node struct {
	epoch  uint64
	count  int
	digest Digest // stale while dirty
	dirty  bool   // implies the current epoch: what a View sees is hashed
	rows   []Row
	kids   *[16]*node
}

// New returns an empty trie for a realm. The secret keys every digest, so that
// fleets cannot be confused, and nothing can be ground offline.
func New(secret [32]byte, realm string) *Trie {
	return &Trie{secret: secret, realm: realm}
}

// Len returns the number of rows.
func (t *Trie) Len() int { return t.root.size() }

// Replace removes the row (k, old) unless old is zero, and adds (k, new) unless
// new is zero. It returns ErrAbsent when the row to remove is not there and
// ErrPresent when the row to add already is; the trie is then as it was.
// Hashing waits until the next Root or View.
func (t *Trie) Replace(k Key, old, new Digest) error {
	if err := t.check(k, old, new); err != nil {
		return fmt.Errorf("replace row %016x: %w", uint64(k), err)
	}
	if old != new {
		t.view = nil
		t.root = t.write(t.root, 0, k, old, new)
	}
	return nil
}

// Root returns the root hash, after rehashing the changed paths.
func (t *Trie) Root() Root {
	if t.view != nil {
		return t.view.root
	}
	t.rehash(t.root)
	return rootHash(&t.secret, t.realm, t.Len(), t.root.sum())
}

// View returns an immutable snapshot, after rehashing the changed paths. It
// copies nothing: the trie copies a path when it next changes it.
func (t *Trie) View() *View {
	if t.view == nil {
		t.view = &View{secret: t.secret, realm: t.realm, root: t.Root(), top: t.root}
		t.epoch++
	}
	return t.view
}

func (t *Trie) check(k Key, old, new Digest) error {
	leaf := t.root
	for depth := 0; leaf != nil && leaf.kids != nil; depth++ {
		leaf = leaf.kids[nibble(k, depth)]
	}
	if !old.IsZero() && !leaf.has(Row{k, old}) {
		return ErrAbsent
	}
	if old != new && !new.IsZero() && leaf.has(Row{k, new}) {
		return ErrPresent
	}
	return nil
}

// write applies a checked Replace under n and returns what stands in n's place.
func (t *Trie) write(n *node, depth int, k Key, old, new Digest) *node {
	n = t.own(n)
	n.dirty = true
	if n.kids == nil {
		return t.writeLeaf(n, depth, k, old, new)
	}
	kid := &n.kids[nibble(k, depth)]
	n.count -= (*kid).size()
	*kid = t.write(*kid, depth+1, k, old, new)
	n.count += (*kid).size()
	if n.count <= LeafRows {
		return t.leaf(n.appendRows(make([]Row, 0, LeafRows)))
	}
	return n
}

func (t *Trie) writeLeaf(n *node, depth int, k Key, old, new Digest) *node {
	if !old.IsZero() {
		i, _ := slices.BinarySearchFunc(n.rows, Row{k, old}, Row.Compare)
		n.rows = slices.Delete(n.rows, i, i+1)
	}
	if !new.IsZero() {
		i, _ := slices.BinarySearchFunc(n.rows, Row{k, new}, Row.Compare)
		n.rows = slices.Insert(n.rows, i, Row{k, new})
	}
	n.count = len(n.rows)
	switch {
	case n.count == 0:
		return nil
	case n.count > LeafRows && depth < maxDepth:
		return t.build(n.rows, depth)
	}
	return n
}

// build makes the subtree of sorted rows, which it copies.
func (t *Trie) build(rows []Row, depth int) *node {
	switch {
	case len(rows) == 0:
		return nil
	case len(rows) <= LeafRows || depth == maxDepth:
		return t.leaf(slices.Clone(rows))
	}
	n := &node{epoch: t.epoch, count: len(rows), dirty: true, kids: new([16]*node)}
	for len(rows) > 0 {
		i := nibble(rows[0].Key, depth)
		end := slices.IndexFunc(rows, func(r Row) bool { return nibble(r.Key, depth) != i })
		if end < 0 {
			end = len(rows)
		}
		n.kids[i] = t.build(rows[:end], depth+1)
		rows = rows[end:]
	}
	return n
}

func (t *Trie) leaf(rows []Row) *node {
	return &node{epoch: t.epoch, count: len(rows), dirty: true, rows: rows}
}

// own returns n itself when no View sees it, else a copy.
func (t *Trie) own(n *node) *node {
	switch {
	case n == nil:
		return t.leaf(nil)
	case n.epoch == t.epoch:
		return n
	}
	mine := *n
	mine.epoch = t.epoch
	if n.kids != nil {
		kids := *n.kids
		mine.kids = &kids
	} else {
		mine.rows = append(make([]Row, 0, len(n.rows)+1), n.rows...)
	}
	return &mine
}

func (t *Trie) rehash(n *node) {
	if n == nil || !n.dirty {
		return
	}
	n.dirty = false
	if n.kids == nil {
		n.digest = leafDigest(&t.secret, n.rows)
		return
	}
	for _, kid := range n.kids {
		t.rehash(kid)
	}
	children := n.children()
	n.digest = nodeDigest(&t.secret, &children)
}
