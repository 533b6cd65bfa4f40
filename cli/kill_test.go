package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/wire"
)

// commandEnv makes a child of the test binary run the command with the
// arguments that it holds, a line each.
const commandEnv = "CLI_TEST_COMMAND"

// runCommand is the child's main.
func runCommand() (ran bool) {
	args, ok := os.LookupEnv(commandEnv)
	if !ok {
		return false
	}
	r := run(context.Background(), "", nil, strings.Split(args, "\n")...)
	fmt.Fprint(os.Stderr, r.stderr)
	os.Exit(r.code)
	return true
}

// child runs the command in a process of its own and kills it after a time, if
// it is still there.
func child(t *testing.T, after time.Duration, args ...string) (killed bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), commandEnv+"="+strings.Join(args, "\n"))
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = c.Process.Kill() })
	err := c.Wait()
	timer.Stop()
	if c.ProcessState.Exited() && err != nil {
		t.Fatalf("%v: %v: %s", args, err, said.String())
	}
	return !c.ProcessState.Exited()
}

// directory makes a data directory with records and returns it.
func directory(t *testing.T, records int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	e, err := bolt.OpenEngine(filepath.Join(dir, "driftless.db"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := wire.NewFleet("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(e, store.Config{Wall: time.Now, Secret: f.Key, Fleet: store.Fleet{ID: f.ID, Name: f.Name}})
	if err != nil {
		t.Fatal(err)
	}
	kind, err := resource.KindResource(resource.Kind{APIVersion: "note.example.dev/v1", Name: "Note"}, resource.Scope{})
	if err == nil {
		_, err = s.Put(t.Context(), kind)
	}
	for i := 0; i < records && err == nil; i++ {
		_, err = s.Put(t.Context(), resource.Resource{APIVersion: "note.example.dev/v1", Kind: "Note", Name: fmt.Sprint("n", i),
			Annotations: map[string]string{"text": strings.Repeat("x", 400)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// D9, C1: a save that is killed leaves the old file or the new one, a restore
// the old directory or the new one, never half of either.
func TestKilled_SaveAndRestoreAreWholeOrNothing(t *testing.T) {
	const kills = 12
	dir, work := directory(t, 1500), t.TempDir()
	file, to := filepath.Join(work, "backup.snap"), filepath.Join(work, "d")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	local := driftless.Offline{}

	start := time.Now()
	child(t, time.Minute, "snapshot", "save", file, "--data", dir)
	saving := time.Since(start)
	start = time.Now()
	child(t, time.Minute, "snapshot", "restore", file, "--data", to)
	restoring := time.Since(start)
	hit := map[string]int{}
	for range kills {
		if child(t, time.Duration(random.Int64N(int64(saving))), "snapshot", "save", file, "--data", dir) {
			hit["save"]++
		}
		whole(t, local, file)
		if child(t, time.Duration(random.Int64N(int64(restoring))), "snapshot", "restore", file, "--data", to, "--force") {
			hit["restore"]++
		}
		restored(t, local, to)
	}
	t.Logf("killed in the middle: %v; a save takes %s, a restore %s", hit, saving.Round(time.Millisecond), restoring.Round(time.Millisecond))
	if hit["save"] == 0 || hit["restore"] == 0 {
		t.Error("the case did not arise")
	}
}

func whole(t *testing.T, local driftless.Offline, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := local.Verify(t.Context(), f); err != nil || s.Records != 1501 {
		t.Errorf("%d records, %v", s.Records, err)
	}
}

// restored checks the directory, or, killed between the two renames, that the
// old one is beside it.
func restored(t *testing.T, local driftless.Offline, to string) {
	t.Helper()
	if _, err := os.Stat(to); err != nil {
		aside, _ := filepath.Glob(to + ".before-*")
		if len(aside) == 0 {
			t.Fatalf("neither the old directory nor the new: %v", err)
		}
		if err := os.Rename(aside[len(aside)-1], to); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := local.Fsck(t.Context(), to, false); err != nil || r.Verdict != "clean" {
		t.Errorf("fsck: %+v, %v", r, err)
	}
	for _, pattern := range []string{to + ".before-*", filepath.Join(filepath.Dir(to), ".d.restoring-*")} {
		left, _ := filepath.Glob(pattern)
		for _, dir := range left {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}
