package bolt_test

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"driftless.dev/store"
)

// P1: an acknowledged write survives SIGKILL. The child is killed after a
// random number of acknowledgements, mostly inside its next commit.
func TestEngine_KilledWriterLosesNothing(t *testing.T) {
	const kills, most = 50, 20
	path := filepath.Join(t.TempDir(), "store.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var last uint64
	for range kills {
		child, acked := startWriter(t, path)
		for range 1 + random.IntN(most) {
			if !acked.Scan() {
				t.Fatalf("the child stopped: %v", acked.Err())
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		last = number(t, acked.Text())
		for acked.Scan() { // acknowledged after the kill was decided
			last = number(t, acked.Text())
		}
		_ = child.Wait()
		sound(t, path)
		checkSequence(t, path, last)
	}
	if last < kills {
		t.Errorf("only %d keys in %d lives", last, kills)
	}
}

func number(t *testing.T, line string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(line, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkSequence checks that every key up to acked is there, that none is
// missing below the last, and that both buckets of each update agree.
func checkSequence(t *testing.T, path string, acked uint64) {
	t.Helper()
	e := open(t, path, small())
	defer closed(t, e)
	if err := e.View(func(tx store.Tx) error {
		var next uint64
		tx.Ascend(store.BucketLog, nil, func(key, value []byte) bool {
			if n := binary.BigEndian.Uint64(key); n != next || len(value) != int(100+n%5000) {
				t.Fatalf("key %d with %d bytes where %d should be", n, len(value), next)
			}
			next++
			return true
		})
		head := tx.Get(store.BucketMeta, []byte("head"))
		if next <= acked || binary.BigEndian.Uint64(head) != next-1 {
			t.Fatalf("%d keys and head %x, %d were acknowledged", next, head, acked)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
