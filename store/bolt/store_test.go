package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/store/storetest"
)

func TestStore_Conformance(t *testing.T) {
	paths := sync.Map{} // *store.Store → string
	open := func(t testing.TB, path string, cfg store.Config) *store.Store {
		t.Helper()
		s := openStore(t, path, fast(), cfg)
		paths.Store(s, path)
		return s
	}
	storetest.Run(t, storetest.Backend{
		Name: "bolt",
		Open: func(t testing.TB, cfg store.Config) *store.Store {
			t.Helper()
			return open(t, filepath.Join(t.TempDir(), "store.db"), cfg)
		},
		Reopen: func(t testing.TB, s *store.Store, cfg store.Config) *store.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			path, _ := paths.LoadAndDelete(s)
			return open(t, path.(string), cfg)
		},
	})
}

func openStore(t testing.TB, path string, o bolt.Options, cfg store.Config) *store.Store {
	t.Helper()
	e, err := bolt.OpenEngine(path, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(e, cfg)
	if err != nil {
		t.Fatal(errors.Join(err, e.Close()))
	}
	return s
}

// killedEnv makes TestStore_KilledChild write to the store that it names.
const killedEnv = "STORE_TEST_WRITE"

// TestStore_KilledChild is not a test but what the next one kills.
func TestStore_KilledChild(t *testing.T) {
	path, child := os.LookupEnv(killedEnv)
	if !child {
		return // runs as the child of TestStore_KilledLosesNothing
	}
	s := openStore(t, path, small(), store.Config{Wall: time.Now})
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				if err := scribble(s, os.Stdout); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
}

var note = resource.Kind{APIVersion: "note.example.dev/v1", Name: "Note"}

// scribble makes one write of any sort, of few names, and prints what it was
// acknowledged as, in one line.
func scribble(s *store.Store, acked io.Writer) error {
	w := store.Write{Kind: "Note", Name: fmt.Sprint("n", rand.IntN(20)), Op: []store.Op{0, 0, 0, 1, 2, 3, 4, 6}[rand.IntN(8)]}
	w.Resource = resource.Resource{
		APIVersion: note.APIVersion, Kind: note.Name, Name: w.Name, Scope: w.Scope,
		Spec: fmt.Appendf(nil, `{"text":"%0*d"}`, rand.IntN(2000), rand.IntN(10)), Status: fmt.Append(nil, rand.IntN(10)),
	}
	out, err := s.Write(context.Background(), w)
	switch {
	case errors.Is(err, resource.ErrNotFound), errors.Is(err, resource.ErrOutranked):
		return nil
	case err != nil:
		return err
	case !out.Changed:
		return nil
	}
	_, err = fmt.Fprintln(acked, out.Resource.ID, out.Resource.SyncVersion, out.Seq, out.OriginSeq)
	return err
}

// P1: whatever moment SIGKILL comes at, every acknowledged write is there, and
// log, projection, names, digests and clock agree.
func TestStore_KilledLosesNothing(t *testing.T) {
	const kills, most = 50, 100
	path := filepath.Join(t.TempDir(), "store.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := openStore(t, path, small(), store.Config{Wall: time.Now})
	kind, err := resource.KindResource(note, resource.Scope{})
	if err == nil {
		_, err = s.Put(t.Context(), kind)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	all := map[uint64]acknowledged{}
	for range kills {
		killWriter(t, path, 1+random.IntN(most), all)
		sound(t, path)
		checkAcknowledged(t, path, all)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d writes acknowledged in %d lives", len(all), kills)
}

// acknowledged is a write as the child printed it.
type acknowledged struct {
	id             string
	version        int64
	seq, originSeq uint64
}

// killWriter starts a child, kills it after a number of acknowledgements, and
// notes all that came.
func killWriter(t *testing.T, path string, after int, all map[uint64]acknowledged) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStore_KilledChild$")
	child.Env = append(os.Environ(), killedEnv+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }() // it says that the child was killed
	lines, count := bufio.NewScanner(out), 0
	for ; lines.Scan(); count++ {
		var a acknowledged
		if _, err := fmt.Sscan(lines.Text(), &a.id, &a.version, &a.seq, &a.originSeq); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		all[a.seq] = a
		if count == after {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count < after {
		t.Fatalf("the child stopped after %d writes: %v", count, lines.Err())
	}
}

func checkAcknowledged(t *testing.T, path string, all map[uint64]acknowledged) {
	t.Helper()
	s := openStore(t, path, small(), store.Config{Wall: time.Now})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := 0
	_, err := s.Entries(0, 1<<30, func(e store.Entry) error {
		a, ok := all[e.Seq]
		if !ok {
			return nil // made durable, and killed before it was acknowledged
		}
		if found++; e.Record.ID.String() != a.id || int64(e.Record.SyncVersion) != a.version || e.Event.Seq != a.originSeq {
			t.Errorf("entry %d is %s at version %d, acknowledged was %+v", e.Seq, e.Record.ID, e.Record.SyncVersion, a)
		}
		return nil
	})
	if err != nil || found != len(all) {
		t.Errorf("%d of %d acknowledged writes are there, %v", found, len(all), err)
	}
	if problems, err := s.Check(); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %q", err, problems)
	}
}
