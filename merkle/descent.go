package merkle

import (
	"errors"
	"slices"
)

// Errors of Answer. After any of them the descent is as it was before.
var (
	// ErrUnasked: no open question for this prefix. A repeated answer is one too.
	ErrUnasked = errors.New("merkle: answer to no open question")
	// ErrMoved: a sound answer about another set than the root pinned. The peer
	// has changed since; begin again with its new root.
	ErrMoved = errors.New("merkle: answer is not part of the pinned root")
	// ErrForged: the answer contradicts itself or earlier ones. No honest peer
	// sends it.
	ErrForged = errors.New("merkle: contradictory answer")
	// ErrLimit: MaxDifferences are found. They are true; apply them and begin again.
	ErrLimit = errors.New("merkle: too many differences for one descent")
)

// Descent finds the rows in which a local view differs from a remote trie of
// which only the root is known. Ask names the nodes to fetch and Answer takes
// them, each verified against the hash above it, until Ask has nothing left:
// then the differences are exact, or the peer broke SHA-256.
//
// Work and memory are bounded whatever the peer answers. A node that differs
// has a difference below it, so answers that name none run out within 16
// levels; a descent ends at MaxDifferences; and the deepest questions are asked
// first, so few are open. A Descent is not safe for concurrent use.
type Descent struct {
	local *View
	want  Root
	open  map[Prefix]*question
	// order holds the open prefixes, deepest last, and some answered ones.
	order []Prefix
	found []Difference // one-sided, unsorted
	limit int
}

// question is a prefix at which the two sides are known to differ.
type question struct {
	digest Digest // what the parent announced
	parent *tally // nil at the top
	asked  bool
}

// tally checks the count a node announced against those of its children: rows
// not yet accounted for, and children not yet answered.
type tally struct{ rows, open int }

// settle accounts for one child. Each open child has a row at least, and the
// last one leaves none over.
func (t tally) settle(rows int) (tally, bool) {
	t.rows, t.open = t.rows-rows, t.open-1
	return t, t.sound()
}

func (t tally) sound() bool { return t.rows >= t.open && (t.open > 0 || t.rows == 0) }

// NewDescent begins a descent. remoteRoot pins the peer's trie of the same
// realm and secret; if it is local's own root there is nothing to ask.
func NewDescent(local *View, remoteRoot Root) *Descent {
	d := &Descent{local: local, want: remoteRoot, open: map[Prefix]*question{}, limit: MaxDifferences}
	if local.Root() != remoteRoot {
		d.ask(Prefix{}, &question{})
	}
	return d
}

// Ask returns up to max prefixes, at least one, to ask the peer for; the slice
// is the caller's. Until they are answered it returns the same again, so a lost
// message is asked for once more. An empty result means done. A larger max
// takes fewer round trips and lets more questions be open, up to 256 for each.
func (d *Descent) Ask(max int) []Prefix {
	d.order = slices.DeleteFunc(d.order, func(p Prefix) bool { return d.open[p] == nil })
	// From the end, so that few questions are open at any time.
	next := slices.Clone(d.order[len(d.order)-min(max, len(d.order)):])
	for _, p := range next {
		d.open[p].asked = true
	}
	return next
}

// Answer takes the peer's node at p. It keeps no reference to n.Rows and does
// not read n.Digest, which follows from the rest and need not be sent.
func (d *Descent) Answer(p Prefix, n Node) error {
	q := d.open[p]
	switch {
	case q == nil || !q.asked:
		return ErrUnasked
	case len(d.found) >= d.limit:
		return ErrLimit
	case !wellFormed(p, &n):
		return ErrForged
	case !d.announced(q, &n):
		return ErrMoved
	}
	var left tally
	if q.parent != nil {
		var ok bool
		if left, ok = q.parent.settle(n.Count); !ok {
			return ErrForged
		}
	}
	if n.Leaf {
		d.compareRows(p, n.Rows)
	} else if !d.compareChildren(p, &n) {
		return ErrForged
	}
	if q.parent != nil {
		*q.parent = left
	}
	delete(d.open, p)
	return nil
}

// announced reports whether n hashes to what was promised for it.
func (d *Descent) announced(q *question, n *Node) bool {
	var digest Digest
	if n.Leaf {
		digest = leafDigest(&d.local.secret, n.Rows)
	} else {
		digest = nodeDigest(&d.local.secret, &n.Children)
	}
	if q.parent == nil {
		return rootHash(&d.local.secret, d.local.realm, n.Count, digest) == d.want
	}
	return digest == q.digest
}

// compareChildren opens a question for each child that differs, and settles
// those the peer has none of. It reports false, having changed nothing, when
// n.Count cannot be the sum of its children.
func (d *Descent) compareChildren(p Prefix, n *Node) bool {
	t := &tally{rows: n.Count}
	var differs [16]bool
	for i, remote := range n.Children {
		count, local := d.local.sum(p.Child(i))
		if differs[i] = local != remote; !differs[i] {
			t.rows -= count
		} else if !remote.IsZero() {
			t.open++
		}
	}
	if !t.sound() {
		return false
	}
	for i, remote := range n.Children {
		switch {
		case !differs[i]:
		case remote.IsZero():
			d.compareRows(p.Child(i), nil)
		default:
			d.ask(p.Child(i), &question{digest: remote, parent: t})
		}
	}
	return true
}

func (d *Descent) ask(p Prefix, q *question) {
	d.open[p] = q
	d.order = append(d.order, p)
}

// wellFormed reports whether an honest peer could send n for p, as far as n
// alone shows.
func wellFormed(p Prefix, n *Node) bool {
	if !n.Leaf {
		return p.Depth < maxDepth && n.Count > LeafRows && len(n.Rows) == 0
	}
	if n.Count != len(n.Rows) || n.Count > LeafRows && p.Depth < maxDepth || n.Children != [16]Digest{} {
		return false
	}
	for i, row := range n.Rows {
		if !p.Contains(row.Key) || row.Value.IsZero() || i > 0 && n.Rows[i-1].Compare(row) >= 0 {
			return false
		}
	}
	return true
}
