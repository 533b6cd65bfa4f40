package driftless_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// collecting fleets look for garbage all the time, and take what is a moment
// old.
func collecting(c *driftless.Config) {
	c.CollectAge, c.CollectEvery = time.Millisecond, 100*time.Millisecond
}

func remove(t *testing.T, m *member, kind, name string, who resource.Actor) {
	t.Helper()
	if err := m.Store().Delete(t.Context(), kind, resource.Scope{}, name, store.As(who)); err != nil {
		t.Fatal(err)
	}
}

func collected(fleet ...*member) func() bool {
	return func() bool {
		for _, m := range fleet {
			if m.Collection().Tombstones > 0 {
				return false
			}
		}
		return true
	}
}

func has(m *member, name string) bool {
	_, err := m.Store().Get(context.Background(), "Note", resource.Scope{}, name)
	return !errors.Is(err, resource.ErrNotFound)
}

// P4: a delete that every member has seen is collected on real nodes, and does
// not come back with a member that was taken off the roster while it was away:
// that one is refused, says so, and rejoins by command with its unsent writes.
func TestFleet_P4_CollectedStaysGone(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, func(cfg *driftless.Config) {
		collecting(cfg)
		cfg.NATS.Streamless = true // or the stream would tell c what it missed
	})
	a, b, c := fleet[0], fleet[1], fleet[2]
	registerNotes(t, fleet, resource.IdentityUnique)
	put(t, a, note("gone", "1"))
	put(t, a, note("kept", "1"))
	settle(t, fleet)
	c.link.Cut()
	eventually(t, 10*time.Second, "the cut is noticed", func() bool { return !c.Info().NATS.Connected })
	put(t, c, note("own", "c"))
	put(t, c, note("gone", "c"))
	remove(t, a, "Note", "gone", resource.Agent)
	eventually(t, 20*time.Second, "collection names the silent member", func() bool { return strings.Contains(a.Collection().Blocked, "c") })
	if !has(a, "kept") || a.Collection().Tombstones == 0 {
		t.Fatal("a tombstone went without every member")
	}
	remove(t, a, resource.MemberKind, c.Store().Identity().Instance.String(), resource.Human)
	eventually(t, 20*time.Second, "the rest collects", collected(a, b))
	c.link.Heal()
	eventually(t, 20*time.Second, "c says that it is stale", func() bool { return strings.Contains(c.Info().Waiting, "rejoin") })
	if has(a, "gone") || has(b, "own") {
		t.Error("a stale member gave the others something")
	}
	if err := c.Rejoin(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "c is ready", func() bool { ready, _ := c.Ready(); return ready })
	eventually(t, 20*time.Second, "its own write is everywhere", func() bool { return has(a, "own") && has(b, "own") })
	if has(a, "gone") || has(c, "gone") {
		t.Error("the delete came back")
	}
	lost, err := c.Store().Ledger(10)
	if err != nil || len(lost) != 1 || lost[0].Reason != "collected" {
		t.Errorf("ledger %+v, %v", lost, err)
	}
}

// copyDir copies a stopped node's directory.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// P1, P5: a directory that is rolled back to a copy gets back from the others
// what it had written since, and goes on under a new incarnation.
func TestFleet_RolledBackDirectory(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	c := fleet[2]
	registerNotes(t, fleet, resource.IdentityUnique)
	put(t, c, note("first", "c"))
	settle(t, fleet)
	c.stop()
	saved := filepath.Join(t.TempDir(), "saved")
	copyDir(t, c.cfg.Data, saved)
	c.start()
	put(t, c, note("second", "c"))
	settle(t, fleet)
	was := c.Store().Identity()
	c.stop()
	copyDir(t, saved, c.cfg.Data)
	c.start()
	eventually(t, 20*time.Second, "the second write is back", func() bool { return has(c, "second") })
	put(t, c, note("third", "c"))
	settle(t, fleet)
	if id := c.Store().Identity(); id.Incarnation == was.Incarnation || id.Instance != was.Instance {
		t.Errorf("identity %+v, was %+v", id, was)
	}
	if text := strings.Join(c.Info().Conditions, "\n"); !strings.Contains(text, "RolledBack") {
		t.Errorf("conditions %q", text)
	}
}

// A directory that was copied and started twice: both report it, one takes no
// writes, what either wrote is everywhere in the end, and the copy becomes a
// member of its own by command.
func TestFleet_ClonedDirectory(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	b, c := fleet[1], fleet[2]
	registerNotes(t, fleet, resource.IdentityUnique)
	put(t, c, note("shared", "c"))
	settle(t, fleet)
	c.stop()
	clone := newMember(t, "clone", nil)
	clone.joinTo(fleet[0])
	copyDir(t, c.cfg.Data, clone.cfg.Data)
	c.start()
	put(t, c, note("of c", "c"))
	clone.start()
	wrote := clone.Store().Identity()
	eventually(t, 20*time.Second, "both report the clone", func() bool {
		return strings.Contains(strings.Join(c.Info().Conditions, ""), "CloneSuspected") &&
			strings.Contains(strings.Join(clone.Info().Conditions, ""), "this one was started later")
	})
	if _, err := clone.Store().Put(t.Context(), note("of the clone", "x")); err == nil {
		t.Error("the newer of two clones took a write")
	}
	put(t, c, note("more of c", "c"))
	eventually(t, 20*time.Second, "what c wrote is everywhere", func() bool { return has(b, "of c") && has(b, "more of c") })
	if err := clone.Reidentify(t.Context()); err != nil {
		t.Fatal(err)
	}
	clone.stopWith(driftless.ErrReidentified)
	clone.start()
	put(t, clone, note("of the clone", "x"))
	settle(t, append(fleet, clone))
	if id := clone.Store().Identity(); id.Instance == wrote.Instance {
		t.Error("the clone has the same instance still")
	}
	if !has(b, "of the clone") || !has(c, "of the clone") {
		t.Error("what the clone wrote is not everywhere")
	}
}
