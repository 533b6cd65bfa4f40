package merkle_test

import (
	"errors"
	"slices"
	"testing"

	"driftless.dev/merkle"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// descend answers every question honestly.
func descend(t failer, d *merkle.Descent, remote *merkle.View, max int) []merkle.Difference {
	for {
		asked := d.Ask(max)
		if len(asked) == 0 {
			return d.Differences()
		}
		for _, p := range asked {
			if err := d.Answer(p, remote.Node(p)); err != nil {
				t.Fatalf("honest answer at %q: %v", p, err)
			}
		}
	}
}

// oracleDifferences subtracts the sets and groups what is left by key.
func oracleDifferences(local, remote set) []merkle.Difference {
	type sides struct{ local, remote []merkle.Digest }
	byKey := map[merkle.Key]*sides{}
	at := func(k merkle.Key) *sides {
		if byKey[k] == nil {
			byKey[k] = &sides{}
		}
		return byKey[k]
	}
	var keys []merkle.Key
	for _, r := range local.sorted() {
		if !remote[r] {
			at(r.Key).local = append(at(r.Key).local, r.Value)
		}
	}
	for _, r := range remote.sorted() {
		if !local[r] {
			at(r.Key).remote = append(at(r.Key).remote, r.Value)
		}
	}
	for k := range byKey {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out []merkle.Difference
	for _, k := range keys {
		s := byKey[k]
		if len(s.local) == 1 && len(s.remote) == 1 {
			out = append(out, merkle.Difference{Key: k, Local: s.local[0], Remote: s.remote[0]})
			continue
		}
		for _, v := range s.remote {
			out = append(out, merkle.Difference{Key: k, Remote: v})
		}
		for _, v := range s.local {
			out = append(out, merkle.Difference{Key: k, Local: v})
		}
	}
	return out
}

func sameDifferences(t failer, want, got []merkle.Difference) {
	if !slices.Equal(want, got) {
		t.Fatalf("differences (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// drawSides splits rows between two replicas, overlapping to any degree.
func drawSides(t *rapid.T, most int) (local, remote set) {
	r := drawRand(t)
	onlyLocal := rapid.IntRange(0, 100).Draw(t, "only local %")
	onlyRemote := rapid.IntRange(0, 100).Draw(t, "only remote %")
	changed := rapid.IntRange(0, 20).Draw(t, "changed %")
	local, remote = set{}, set{}
	for row := range drawSet(t, r, most) {
		switch dice := r.IntN(220); {
		case dice < onlyLocal:
			local[row] = true
		case dice < onlyLocal+onlyRemote:
			remote[row] = true
		default:
			local[row] = true
			if r.IntN(100) < changed {
				row.Value[0] ^= 2
			}
			remote[row] = true
		}
	}
	return local, remote
}

func TestDescent_FindsExactlyTheSetDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		local, remote := drawSides(t, 2000)
		max := rapid.SampledFrom([]int{1, 2, 7, 1 << 20}).Draw(t, "max")
		lv, rv := local.trie(t).View(), remote.trie(t).View()
		got := descend(t, merkle.NewDescent(lv, rv.Root()), rv, max)
		sameDifferences(t, oracleDifferences(local, remote), got)
		if (lv.Root() == rv.Root()) != (len(got) == 0) {
			t.Fatalf("equal roots %v with %d differences", lv.Root() == rv.Root(), len(got))
		}
	})
}

func TestDescent_EqualRootsAskNothing(t *testing.T) {
	v := set{{Key: 1, Value: merkle.Digest{1}}: true}.trie(t).View()
	if asked := merkle.NewDescent(v, v.Root()).Ask(100); len(asked) != 0 {
		t.Fatalf("asked %v", asked)
	}
}

func TestDescent_EitherSideEmpty(t *testing.T) {
	rows := set{}
	for i := range 500 {
		rows[merkle.Row{Key: merkle.Key(i) << 52, Value: merkle.Digest{1}}] = true
	}
	empty, full := set{}.trie(t).View(), rows.trie(t).View()
	if got := descend(t, merkle.NewDescent(full, empty.Root()), empty, 9); len(got) != 500 || !got[0].Remote.IsZero() {
		t.Fatalf("remote empty: %d differences", len(got))
	}
	if got := descend(t, merkle.NewDescent(empty, full.Root()), full, 9); len(got) != 500 || !got[0].Local.IsZero() {
		t.Fatalf("local empty: %d differences", len(got))
	}
}

func TestAsk_RepeatsUntilAnswered(t *testing.T) {
	local, remote := set{}.trie(t).View(), merkle.New(secret, realm)
	for i := range 100 {
		replace(t, remote, merkle.Key(i)<<56, merkle.Digest{}, merkle.Digest{1})
	}
	d := merkle.NewDescent(local, remote.Root())
	if err := d.Answer(d.Ask(1)[0], remote.View().Node(merkle.Prefix{})); err != nil {
		t.Fatal(err)
	}
	first := d.Ask(3)
	if again := d.Ask(3); len(first) != 3 || !slices.Equal(first, again) {
		t.Fatalf("asked %v, then %v", first, again)
	}
	if err := d.Answer(first[1], remote.View().Node(first[1])); err != nil {
		t.Fatal(err)
	}
	if err := d.Answer(first[1], remote.View().Node(first[1])); !errors.Is(err, merkle.ErrUnasked) {
		t.Fatalf("a second answer: %v", err)
	}
	if next := d.Ask(3); slices.Contains(next, first[1]) || !slices.Contains(next, first[0]) {
		t.Fatalf("asked %v after %v", next, first)
	}
}

func TestDescent_RemoteMovedIsARetry(t *testing.T) {
	trie := merkle.New(secret, realm)
	for i := range 100 {
		replace(t, trie, merkle.Key(i)<<56, merkle.Digest{}, merkle.Digest{1})
	}
	d := merkle.NewDescent(merkle.New(secret, realm).View(), trie.Root())
	pinned := trie.View()
	replace(t, trie, 1<<56, merkle.Digest{1}, merkle.Digest{2})
	for _, p := range []merkle.Prefix{{}, {Bits: 0, Depth: 1}} {
		d.Ask(100)
		if err := d.Answer(p, trie.View().Node(p)); !errors.Is(err, merkle.ErrMoved) {
			t.Fatalf("answer at %q after a write: %v", p, err)
		}
		if err := d.Answer(p, pinned.Node(p)); err != nil {
			t.Fatalf("the pinned answer: %v", err)
		}
	}
}

func TestDescent_EndsAtItsLimitWithTrueDifferences(t *testing.T) {
	remote := merkle.New(secret, realm)
	for i := range 1000 {
		replace(t, remote, merkle.Key(i)<<54, merkle.Digest{}, merkle.Digest{1})
	}
	d := merkle.NewDescent(merkle.New(secret, realm).View(), remote.Root())
	d.SetLimit(50)
	var err error
	for err == nil {
		p := d.Ask(1)[0]
		err = d.Answer(p, remote.View().Node(p))
	}
	if n := len(d.Differences()); !errors.Is(err, merkle.ErrLimit) || n < 50 || n >= 50+merkle.LeafRows || len(d.Ask(1)) == 0 {
		t.Fatalf("%v after %d differences", err, n)
	}
}

func TestDescent_SeventeenRoundsAtMost(t *testing.T) {
	remote := merkle.New(secret, realm)
	for i := range 40 {
		replace(t, remote, 5, merkle.Digest{}, merkle.Digest{1, byte(i)})
	}
	d := merkle.NewDescent(merkle.New(secret, realm).View(), remote.Root())
	rounds := 0
	for asked := d.Ask(99); len(asked) > 0; asked = d.Ask(99) {
		rounds++
		for _, p := range asked {
			if err := d.Answer(p, remote.View().Node(p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rounds != 17 || len(d.Differences()) != 40 {
		t.Fatalf("%d rounds, %d differences", rounds, len(d.Differences()))
	}
}
