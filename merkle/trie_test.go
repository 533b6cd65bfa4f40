package merkle_test

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"driftless.dev/merkle"
	"pgregory.net/rapid"
)

// The incremental trie equals the oracle's rebuild after every step, and each
// view stays what it was.
func TestTrie_EqualsARebuildAndViewsStayFrozen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRand(t)
		model := drawSet(t, r, 400)
		trie := model.trie(t)
		var views []*merkle.View
		var frozen []set
		for range rapid.IntRange(1, 6).Draw(t, "views") {
			for range rapid.IntRange(0, 60).Draw(t, "changes") {
				change(t, trie, model, newRow(r, 4), r.IntN(3))
			}
			if rapid.Bool().Draw(t, "root between") && trie.Root() != oracleRoot(model) {
				t.Fatalf("root of %d rows", len(model))
			}
			views, frozen = append(views, trie.View()), append(frozen, maps.Clone(model))
		}
		for row := range model {
			change(t, trie, model, row, 0)
		}
		if trie.Len() != 0 || trie.Root() != merkle.New(secret, realm).Root() {
			t.Fatalf("an emptied trie of %d rows is not a new one", trie.Len())
		}
		for i, v := range views {
			checkView(t, v, frozen[i])
		}
	})
}

// change toggles a row, or moves a row of the same key to another value.
func change(t failer, trie *merkle.Trie, model set, row merkle.Row, kind int) {
	other := merkle.Row{Key: row.Key, Value: merkle.Digest{7}}
	switch {
	case model[row] && kind == 1 && !model[other]:
		replace(t, trie, row.Key, row.Value, other.Value)
		delete(model, row)
		model[other] = true
	case model[row]:
		replace(t, trie, row.Key, row.Value, merkle.Digest{})
		delete(model, row)
	default:
		replace(t, trie, row.Key, merkle.Digest{}, row.Value)
		model[row] = true
	}
}

func TestRoot_IsAFunctionOfTheSetAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRand(t)
		rows := drawSet(t, r, 500).sorted()
		roots := map[merkle.Root]bool{}
		for range 3 {
			trie := merkle.New(secret, realm)
			r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			detour := newRow(r, 4)
			detour.Value[15] = 1
			replace(t, trie, detour.Key, merkle.Digest{}, detour.Value)
			for i, row := range rows {
				replace(t, trie, row.Key, merkle.Digest{}, row.Value)
				if i%50 == 0 {
					trie.View()
				}
			}
			replace(t, trie, detour.Key, detour.Value, merkle.Digest{})
			roots[trie.Root()] = true
		}
		if len(roots) != 1 {
			t.Fatalf("%d roots of one set", len(roots))
		}
	})
}

func TestRoot_EveryOneRowChangeShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRand(t)
		model := drawSet(t, r, 120)
		trie := model.trie(t)
		seen := map[merkle.Root]bool{trie.Root(): true}
		for row := range model {
			for _, value := range []merkle.Digest{{}, {8}, {9}} {
				replace(t, trie, row.Key, row.Value, value)
				if seen[trie.Root()] {
					t.Fatalf("row %v to %v: a root seen before", row, value)
				}
				seen[trie.Root()] = true
				replace(t, trie, row.Key, value, row.Value)
			}
		}
		if trie.Root() != oracleRoot(model) {
			t.Fatalf("changes taken back left another root")
		}
	})
}

func TestRoot_DependsOnSecretAndRealm(t *testing.T) {
	row := merkle.Row{Key: 1, Value: merkle.Digest{1}}
	roots := map[merkle.Root]bool{}
	for _, trie := range []*merkle.Trie{
		merkle.New(secret, "a"), merkle.New(secret, "b"), merkle.New(secret, ""), merkle.New([32]byte{9}, "a"),
	} {
		roots[trie.Root()] = true
		replace(t, trie, row.Key, merkle.Digest{}, row.Value)
		roots[trie.Root()] = true
	}
	if len(roots) != 8 {
		t.Fatalf("%d roots of 8 tries", len(roots))
	}
}

func TestReplace_RefusesWhatIsNotSoAndChangesNothing(t *testing.T) {
	model := set{{Key: 1, Value: merkle.Digest{1}}: true, {Key: 1, Value: merkle.Digest{2}}: true}
	for i := range 100 {
		model[merkle.Row{Key: merkle.Key(i) << 52, Value: merkle.Digest{1}}] = true
	}
	trie := model.trie(t)
	for _, c := range []struct {
		key      merkle.Key
		old, new merkle.Digest
		want     error
	}{
		{1, merkle.Digest{3}, merkle.Digest{}, merkle.ErrAbsent},
		{1, merkle.Digest{3}, merkle.Digest{4}, merkle.ErrAbsent},
		{1, merkle.Digest{3}, merkle.Digest{3}, merkle.ErrAbsent},
		{2, merkle.Digest{1}, merkle.Digest{}, merkle.ErrAbsent},
		{1, merkle.Digest{}, merkle.Digest{1}, merkle.ErrPresent},
		{1, merkle.Digest{2}, merkle.Digest{1}, merkle.ErrPresent},
		{1, merkle.Digest{1}, merkle.Digest{1}, nil},
		{1, merkle.Digest{}, merkle.Digest{}, nil},
	} {
		if err := trie.Replace(c.key, c.old, c.new); !errors.Is(err, c.want) {
			t.Errorf("Replace(%d, %v, %v) = %v, want %v", c.key, c.old, c.new, err, c.want)
		}
	}
	checkView(t, trie.View(), model)
	if err := merkle.New(secret, realm).Replace(1, merkle.Digest{1}, merkle.Digest{}); !errors.Is(err, merkle.ErrAbsent) {
		t.Errorf("removal from an empty trie: %v", err)
	}
}

func TestView_UnchangedTrieGivesTheSameView(t *testing.T) {
	trie := set{{Key: 1, Value: merkle.Digest{1}}: true}.trie(t)
	v := trie.View()
	replace(t, trie, 1, merkle.Digest{1}, merkle.Digest{1})
	if trie.View() != v {
		t.Fatal("a new view of nothing new")
	}
}

func TestView_InvalidPrefixIsEmpty(t *testing.T) {
	trie := set{{Key: 1, Value: merkle.Digest{1}}: true}.trie(t)
	for _, p := range []merkle.Prefix{{Depth: 17}, {Bits: 1}, {Bits: 1, Depth: 255}} {
		if n := trie.View().Node(p); n.Count != 0 || !n.Leaf || len(slices.Collect(trie.View().Rows(p))) != 0 {
			t.Errorf("node %+v: %+v", p, n)
		}
	}
}

func TestView_ConcurrentReadersWhileTheTrieChanges(t *testing.T) {
	model := set{}
	for i := range 2000 {
		model[merkle.Row{Key: merkle.Key(i) << 51, Value: merkle.Digest{1}}] = true
	}
	trie := model.trie(t)
	v := trie.View()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { checkView(t, v, model) })
	}
	for i := range 2000 {
		replace(t, trie, merkle.Key(i)<<51, merkle.Digest{1}, merkle.Digest{2})
		if i%100 == 0 {
			trie.Root()
		}
	}
	wg.Wait()
}

func TestReplace_SteadyStateDoesNotAllocate(t *testing.T) {
	trie := merkle.New(secret, realm)
	for i := range 5000 {
		replace(t, trie, merkle.Key(i)*0x9e3779b97f4a7c15, merkle.Digest{}, merkle.Digest{1})
	}
	from, to := merkle.Digest{1}, merkle.Digest{2}
	if n := testing.AllocsPerRun(100, func() {
		replace(t, trie, 0, from, to)
		from, to = to, from
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func TestSuperRoot_OrderAndEmptyRealmsDoNotMatter(t *testing.T) {
	a := merkle.RealmRoot{Realm: "a", Root: merkle.Root{1}, Count: 3}
	b := merkle.RealmRoot{Realm: "b", Root: merkle.Root{2}, Count: 1}
	empty := merkle.RealmRoot{Realm: "c", Root: merkle.Root{3}}
	want := merkle.SuperRoot(&secret, []merkle.RealmRoot{a, b})
	given := []merkle.RealmRoot{b, empty, a}
	if got := merkle.SuperRoot(&secret, given); got != want || given[0] != b || given[1] != empty {
		t.Fatalf("%v, want %v; argument now %v", got, want, given)
	}
	if got := merkle.Root(sum("super", be(2, 4), be(1, 4), []byte("a"), a.Root[:], be(1, 4), []byte("b"), b.Root[:])); got != want {
		t.Fatalf("%v, by the rule %v", want, got)
	}
	if merkle.SuperRoot(&secret, nil) != merkle.SuperRoot(&secret, []merkle.RealmRoot{empty}) {
		t.Fatal("an empty realm is not an unknown one")
	}
	if merkle.SuperRoot(&secret, []merkle.RealmRoot{a}) == want {
		t.Fatal("a realm less, the same super-root")
	}
}
