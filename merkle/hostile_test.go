package merkle_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"driftless.dev/fuzztest"
	"driftless.dev/merkle"
	"pgregory.net/rapid"
)

// lies are what a peer can do to an honest node. Each may also leave it as it was.
var lies = map[string]func(n *merkle.Node, arg uint64){
	"another count":  func(n *merkle.Node, arg uint64) { n.Count += int(arg%7) - 3 },
	"wild count":     func(n *merkle.Node, arg uint64) { n.Count = int(arg) },
	"other kind":     func(n *merkle.Node, _ uint64) { n.Leaf = !n.Leaf },
	"nothing":        func(n *merkle.Node, _ uint64) { *n = merkle.Node{Leaf: true} },
	"zero node":      func(n *merkle.Node, _ uint64) { *n = merkle.Node{} },
	"child digest":   func(n *merkle.Node, arg uint64) { n.Children[arg%16][arg>>8%16] ^= byte(arg >> 16) },
	"no child":       func(n *merkle.Node, arg uint64) { n.Children[arg%16] = merkle.Digest{} },
	"children swap":  func(n *merkle.Node, arg uint64) { c := &n.Children; c[0], c[arg%16] = c[arg%16], c[0] },
	"row key":        onRow(func(r *merkle.Row, arg uint64) { r.Key ^= merkle.Key(arg >> 8) }),
	"row value":      onRow(func(r *merkle.Row, arg uint64) { r.Value[arg>>8%16] ^= byte(arg >> 16) }),
	"zero value":     onRow(func(r *merkle.Row, _ uint64) { r.Value = merkle.Digest{} }),
	"rows backwards": func(n *merkle.Node, _ uint64) { slices.Reverse(n.Rows) },
	"row left out": func(n *merkle.Node, arg uint64) {
		if len(n.Rows) > 0 {
			i := int(arg % uint64(len(n.Rows)))
			n.Rows = slices.Delete(n.Rows, i, i+1)
			n.Count--
		}
	},
	"row twice": func(n *merkle.Node, arg uint64) {
		if len(n.Rows) > 0 {
			i := int(arg % uint64(len(n.Rows)))
			n.Rows = slices.Insert(n.Rows, i, n.Rows[i])
			n.Count++
		}
	},
	"crowd": func(n *merkle.Node, arg uint64) {
		for i := range 40 {
			n.Rows = append(n.Rows, merkle.Row{Key: merkle.Key(arg), Value: merkle.Digest{9, byte(i)}})
		}
		n.Count = len(n.Rows)
	},
}

func onRow(lie func(*merkle.Row, uint64)) func(*merkle.Node, uint64) {
	return func(n *merkle.Node, arg uint64) {
		if len(n.Rows) > 0 {
			lie(&n.Rows[arg%uint64(len(n.Rows))], arg)
		}
	}
}

// tell returns n changed by a lie, and whether that is still what n said.
func tell(lie func(*merkle.Node, uint64), n merkle.Node, arg uint64) (told merkle.Node, honest bool) {
	told = n
	told.Rows = slices.Clone(n.Rows)
	lie(&told, arg)
	return told, told.Count == n.Count && told.Leaf == n.Leaf && told.Children == n.Children && slices.Equal(told.Rows, n.Rows)
}

// A lie is refused and leaves the descent as it was. The one that can pass is
// an inner count, and then the children give it away before the end.
func TestAnswer_LiesAreRefusedAndChangeNothing(t *testing.T) {
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := drawRand(t)
				local, remote := drawSides(t, 150)
				lv, rv := local.trie(t).View(), remote.trie(t).View()
				d := merkle.NewDescent(lv, rv.Root())
				for asked := d.Ask(3); len(asked) > 0; asked = d.Ask(3) {
					for _, p := range asked {
						honest := rv.Node(p)
						told, same := tell(lie, honest, r.Uint64())
						err := d.Answer(p, told)
						switch {
						case err == nil && !same && (told.Leaf || p.Depth == 0):
							t.Fatalf("accepted %+v for %+v", told, honest)
						case err == nil && !same:
							finishAfterAcceptedCount(t, d, rv)
							return
						case err != nil && !errors.Is(err, merkle.ErrForged) && !errors.Is(err, merkle.ErrMoved):
							t.Fatalf("unexpected %v", err)
						case err != nil:
							if err := d.Answer(p, honest); err != nil {
								t.Fatalf("the honest answer after a lie: %v", err)
							}
						}
					}
				}
				sameDifferences(t, oracleDifferences(local, remote), d.Differences())
			})
		})
	}
}

// finishAfterAcceptedCount goes on honestly and must be refused before the end.
func finishAfterAcceptedCount(t failer, d *merkle.Descent, remote *merkle.View) {
	for asked := d.Ask(1); len(asked) > 0; asked = d.Ask(1) {
		if err := d.Answer(asked[0], remote.Node(asked[0])); err != nil {
			if !errors.Is(err, merkle.ErrForged) {
				t.Fatalf("a false count surfaced as %v", err)
			}
			return
		}
	}
	t.Fatalf("a false count was never noticed")
}

func TestAnswer_UnaskedPrefixes(t *testing.T) {
	remote := merkle.New(secret, realm)
	for i := range 100 {
		replace(t, remote, merkle.Key(i)<<56, merkle.Digest{}, merkle.Digest{1})
	}
	rv := remote.View()
	d := merkle.NewDescent(merkle.New(secret, realm).View(), rv.Root())
	refused := func(p merkle.Prefix) {
		t.Helper()
		if err := d.Answer(p, rv.Node(p)); !errors.Is(err, merkle.ErrUnasked) {
			t.Fatalf("answer at %+v: %v", p, err)
		}
	}
	refused(merkle.Prefix{}) // open, and not asked yet
	d.Ask(1)
	refused(merkle.Prefix{Depth: 1})
	refused(merkle.Prefix{Depth: 200})
	refused(merkle.Prefix{Bits: 1})
	if err := d.Answer(merkle.Prefix{}, rv.Node(merkle.Prefix{})); err != nil {
		t.Fatal(err)
	}
	refused(merkle.Prefix{})
	refused(merkle.Prefix{Depth: 1})
}

// FuzzAnswer drives a descent by bytes: which lie, with which argument, at
// which question. It never panics, and when it ends its differences are exact.
func FuzzAnswer(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	local, remote := set{}, set{}
	for i := range 400 {
		row := newRow(r, 4)
		if i%5 > 0 {
			local[row] = true
		}
		if i%7 > 0 {
			remote[row] = true
		}
	}
	lv, rv := local.trie(f).View(), remote.trie(f).View()
	want := oracleDifferences(local, remote)
	names := make([]string, 0, len(lies))
	for name := range lies {
		names = append(names, name)
	}
	slices.Sort(names)
	f.Add([]byte{})
	f.Add([]byte("a lie for some of the questions, and then the truth \x00\x01\x02\x03\x80\xff"))
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, script []byte) {
		cost.Run(t, script, func() {
			d, lies := merkle.NewDescent(lv, rv.Root()), script
			for asked := d.Ask(2); len(asked) > 0; asked = d.Ask(2) {
				n := rv.Node(asked[0])
				if len(lies) > 0 { // another node's, sound by itself
					n, lies = rv.Node(asked[0].Child(int(lies[0]%16))), lies[1:]
				}
				if d.Answer(asked[0], n) != nil && d.Answer(asked[0], rv.Node(asked[0])) != nil {
					break
				}
			}
		})
		d := merkle.NewDescent(lv, rv.Root())
		lied := false
		for asked := d.Ask(2); len(asked) > 0; asked = d.Ask(2) {
			p := asked[0]
			if len(script) >= 6 {
				lie := lies[names[int(script[0])%len(names)]]
				arg := uint64(script[1]) | uint64(script[2])<<8 | uint64(script[3])<<16 | uint64(script[4])<<40
				at := p
				if script[5]%8 == 0 {
					at = merkle.Prefix{Bits: arg << 20, Depth: script[5] / 8}
				}
				script = script[6:]
				told, same := tell(lie, rv.Node(at), arg)
				if d.Answer(at, told) == nil {
					lied = lied || !same
					continue
				}
			}
			if err := d.Answer(p, rv.Node(p)); err != nil {
				if !lied || !errors.Is(err, merkle.ErrForged) {
					t.Fatalf("honest answer at %q: %v", p, err)
				}
				return
			}
		}
		if lied {
			t.Fatalf("ended after an accepted lie")
		}
		sameDifferences(t, want, d.Differences())
	})
}
