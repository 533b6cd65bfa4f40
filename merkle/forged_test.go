package merkle_test

import (
	"errors"
	"math"
	"testing"

	"driftless.dev/merkle"
)

// A peer that holds the secret can hash what it likes. It still cannot show a
// tree that no set has.
func TestDescent_ForgedShapesNeverComplete(t *testing.T) {
	rows := []merkle.Row{{Key: 0, Value: merkle.Digest{1}}, {Key: 1 << 60, Value: merkle.Digest{2}}}
	var node merkle.Node
	for i, r := range rows {
		node.Children[i] = oracleDigest([]merkle.Row{r}, 1)
	}
	for _, count := range []int{2, 33, 1000, math.MaxInt, -1} {
		node.Count = count
		d := merkle.NewDescent(merkle.New(secret, realm).View(), oracleTop(count, oracleNode(node.Children)))
		err := answerAll(d, func(p merkle.Prefix) merkle.Node {
			if p.Depth == 0 {
				return node
			}
			return merkle.Node{Leaf: true, Count: 1, Rows: rows[p.Bits>>60:][:1]}
		})
		if !errors.Is(err, merkle.ErrForged) {
			t.Errorf("an inner node of two rows that claims %d: %v", count, err)
		}
	}
}

// Each of these hashes to what was pinned, as only a holder of the secret can
// make it, and is still no node of any set.
func TestAnswer_ForgedNodesUnderATrueHash(t *testing.T) {
	row := func(k merkle.Key, v byte) merkle.Row { return merkle.Row{Key: k, Value: merkle.Digest{v}} }
	leaf := func(rows ...merkle.Row) merkle.Node {
		return merkle.Node{Leaf: true, Count: len(rows), Rows: rows}
	}
	var crowd []merkle.Row
	for i := range 33 {
		crowd = append(crowd, row(merkle.Key(i), 1))
	}
	shared := merkle.Node{Count: 33, Children: [16]merkle.Digest{oracleDigest(crowd, 1), {1}}}
	local := set{}
	for _, r := range crowd {
		local[r] = true
	}
	withRows := shared
	withRows.Count, withRows.Rows = 40, crowd
	for name, forged := range map[string]merkle.Node{
		"zero value":            leaf(row(1, 0)),
		"row twice":             leaf(row(1, 1), row(1, 1)),
		"unsorted":              leaf(row(2, 1), row(1, 1)),
		"unsorted values":       leaf(row(1, 2), row(1, 1)),
		"leaf too full":         leaf(crowd...),
		"inner too small":       {Count: 32, Children: [16]merkle.Digest{{1}, {2}}},
		"inner with rows":       withRows,
		"more than its count":   shared, // the equal child alone has 33
		"no child and no count": {Count: 40},
	} {
		var digest merkle.Digest
		if forged.Leaf {
			digest = forgedLeaf(forged.Rows)
		} else {
			digest = oracleNode(forged.Children)
		}
		d := merkle.NewDescent(local.trie(t).View(), oracleTop(forged.Count, digest))
		if err := d.Answer(d.Ask(1)[0], forged); !errors.Is(err, merkle.ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswer_RowOutsideItsPrefix(t *testing.T) {
	stray := []merkle.Row{{Key: 1 << 60, Value: merkle.Digest{1}}}
	top := merkle.Node{Count: 33, Children: [16]merkle.Digest{forgedLeaf(stray), {1}}}
	d := merkle.NewDescent(merkle.New(secret, realm).View(), oracleTop(33, oracleNode(top.Children)))
	if err := d.Answer(d.Ask(1)[0], top); err != nil {
		t.Fatal(err)
	}
	d.Ask(2)
	err := d.Answer(merkle.Prefix{Depth: 1}, merkle.Node{Leaf: true, Count: 1, Rows: stray})
	if !errors.Is(err, merkle.ErrForged) {
		t.Fatalf("row %x under prefix 0: %v", stray[0].Key, err)
	}
}

func TestAnswer_NoNodeBelowTheLastLevel(t *testing.T) {
	digests := []merkle.Digest{{1}} // of the forged chain, deepest first
	for range 17 {
		digests = append(digests, oracleNode([16]merkle.Digest{digests[len(digests)-1]}))
	}
	d := merkle.NewDescent(merkle.New(secret, realm).View(), oracleTop(33, digests[17]))
	for depth := range uint8(17) {
		p := d.Ask(1)[0]
		err := d.Answer(p, merkle.Node{Count: 33, Children: [16]merkle.Digest{digests[16-depth]}})
		if p.Depth != depth || errors.Is(err, merkle.ErrForged) != (depth == 16) {
			t.Fatalf("at depth %d, %q: %v", depth, p, err)
		}
	}
}

// forgedLeaf hashes rows as a leaf whatever they are.
func forgedLeaf(rows []merkle.Row) merkle.Digest { return oracleDigest(rows, 16) }

// The same rows under another count are other roots, and no difference.
func TestDescent_ForgedTotalIsNotAgreement(t *testing.T) {
	model := set{}
	for _, size := range []int{0, 1, 32, 33, 400} {
		for len(model) < size {
			model[merkle.Row{Key: merkle.Key(len(model)) << 55, Value: merkle.Digest{1}}] = true
		}
		v := model.trie(t).View()
		top := v.Node(merkle.Prefix{})
		for _, off := range []int{-1, 1, 1 << 40} {
			told := top
			told.Count += off
			d := merkle.NewDescent(v, oracleTop(told.Count, top.Digest))
			if err := answerAll(d, func(merkle.Prefix) merkle.Node { return told }); !errors.Is(err, merkle.ErrForged) {
				t.Errorf("%d rows called %d: %v", size, told.Count, err)
			}
		}
	}
}

func answerAll(d *merkle.Descent, peer func(merkle.Prefix) merkle.Node) error {
	for asked := d.Ask(1); len(asked) > 0; asked = d.Ask(1) {
		if err := d.Answer(asked[0], peer(asked[0])); err != nil {
			return err
		}
	}
	return nil
}
