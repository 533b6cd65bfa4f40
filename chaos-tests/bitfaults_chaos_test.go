//go:build chaos

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"driftless.dev/chaos-tests/history"
	"driftless.dev/client"
)

// flippedBits flips one bit of a stopped node's file and starts the node. It
// names the damage and does not start, or starts; then whatever it serves is
// what the others hold, or an error that names the damage, and the others
// adopt nothing.
func flippedBits(r *round) {
	seed := rand.Uint64()
	r.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	f := r.newFleet(options{})
	r.under(func() { pause(r.t, 2*time.Second) })
	want := f.states()[0]
	n, others := f.nodes[1], []*node{f.nodes[0], f.nodes[2]}
	n.stop()
	path := filepath.Join(n.data, "driftless.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	outcomes := map[string]int{}
	for range r.times(8, 80) {
		r.flip(path, whole, rng)
		r.injected++
		outcomes[r.afterFlip(n, want)]++
		n.kill()
		for _, o := range others {
			s, err := o.state(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			s.Root = want.Root // of the members' records too, which the node may have written anew
			r.tell(history.Check(nil, []history.State{want, s}))
		}
	}
	r.t.Logf("%d bits flipped: %v", r.injected, outcomes)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		r.t.Fatal(err)
	}
	n.start()
	n.ready(30 * time.Second)
	f.settle(time.Minute)
	r.verify()
}

// flip writes the file anew with one bit of a page that is in use flipped.
func (r *round) flip(path string, whole []byte, rng *rand.Rand) {
	r.t.Helper()
	const page = 4096
	damaged := append([]byte(nil), whole...)
	for {
		at := rng.IntN(len(whole))
		from := at / page * page
		if strings.Trim(string(whole[from:min(from+page, len(whole))]), "\x00") != "" {
			damaged[at] ^= 1 << rng.IntN(8)
			break
		}
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// afterFlip starts the node over the damage and tells what became of it.
func (r *round) afterFlip(n *node, want history.State) string {
	r.t.Helper()
	before := len(n.said())
	n.start()
	outcome := ""
	eventually(r.t, 30*time.Second, "the node agrees again or names the damage", func(ctx context.Context) error {
		text := n.said()[before:]
		if n.ended(0) {
			if !strings.Contains(text, "damage") {
				r.t.Fatalf("P10: the node ended with %v and names no damage: %s", n.err, text)
			}
			outcome = "named at the start"
			return nil
		}
		s, err := n.state(ctx)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Code == "damaged" {
			outcome = "named at a read"
			return nil
		}
		if err != nil {
			return err
		}
		for id, rec := range s.Records {
			if held, ok := want.Records[id]; !ok || held != rec {
				r.t.Fatalf("P10: the node serves %s as %s, the others hold %s", id, rec.JSON, held.JSON)
			}
		}
		if s.Root == want.Root && len(s.Records) == len(want.Records) {
			outcome = "harmless or healed"
			return nil
		}
		if strings.Contains(text, "damage") {
			outcome = "named in the log"
			return nil
		}
		return fmt.Errorf("root %s, %d of %d records", s.Root, len(s.Records), len(want.Records))
	})
	return outcome
}
