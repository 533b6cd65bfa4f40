package driftless_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"driftless.dev"
	"driftless.dev/netcut"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
)

func TestMain(m *testing.M) {
	if bolt.RunVerifier() {
		return // this process was started to look at a file, and has
	}
	os.Exit(m.Run())
}

// shiftedClock is the machine's, off by as much as a test wants.
type shiftedClock struct {
	driftless.Clock
	mu     sync.Mutex
	offset time.Duration
}

func (c *shiftedClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Clock.Wall().Add(c.offset)
}

func (c *shiftedClock) shift(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = d
}

// member is a node under test: it can be stopped and started again, and its
// link to NATS cut.
type member struct {
	*driftless.Node
	t     *testing.T
	cfg   driftless.Config
	clock *shiftedClock
	link  *netcut.Link // nil for the one that runs the server
	stop  func()
	// ends is what Run is to end with, nil unless a test says otherwise.
	ends error
}

func newMember(t *testing.T, name string, change func(*driftless.Config)) *member {
	t.Helper()
	m := &member{t: t, clock: &shiftedClock{Clock: driftless.SystemClock()}}
	m.cfg = driftless.Config{
		Name: name, Data: filepath.Join(t.TempDir(), name), HTTP: "127.0.0.1:0", Fleet: "test", SyncInterval: time.Second, Verify: true,
		Clock: m.clock, Logger: slog.New(slog.DiscardHandler),
	}
	m.cfg.NATS.Listen = "127.0.0.1:0"
	if change != nil {
		change(&m.cfg)
	}
	return m
}

// start opens the node and runs it; what it fails with fails the test.
func (m *member) start() {
	m.t.Helper()
	n, err := driftless.Open(m.t.Context(), m.cfg)
	if err != nil {
		m.t.Fatalf("open %s: %v", m.cfg.Name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	m.Node = n
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, m.ends) {
			m.t.Errorf("run %s: %v", m.cfg.Name, err)
		}
		problems, err := n.Store().Check()
		if err != nil || len(problems) > 0 {
			m.t.Errorf("check %s: %v %v", m.cfg.Name, problems, err)
		}
		if err := n.Close(); err != nil {
			m.t.Errorf("close %s: %v", m.cfg.Name, err)
		}
	})
	m.t.Cleanup(func() { m.stop() })
}

// stopWith stops the node, whose Run ends with an error.
func (m *member) stopWith(want error) {
	m.t.Helper()
	m.ends = want
	m.stop()
	m.ends = nil
}

func (m *member) restart() {
	m.t.Helper()
	m.stop()
	m.start()
}

// newFleet starts one node with a server and others that join it, each through
// a link of its own.
func newFleet(t *testing.T, names []string, change func(*driftless.Config)) []*member {
	t.Helper()
	out := make([]*member, len(names))
	for i, name := range names {
		out[i] = newMember(t, name, change)
		if i > 0 {
			out[i].joinTo(out[0])
		}
		out[i].start()
	}
	settle(t, out)
	return out
}

// joinTo makes the member a client of another's server.
func (m *member) joinTo(server *member) {
	m.t.Helper()
	link, err := netcut.New(server.NATSURL()[len("nats://"):])
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- link.Run(ctx) }()
	m.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Errorf("link: %v", err)
		}
	})
	m.link = link
	m.cfg.NATS.Listen, m.cfg.NATS.Join = "", []string{"nats://" + link.Addr()}
}

// eventually waits for a condition, and fails with its name.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	deadline := time.After(within)
	for !holds() {
		select {
		case <-ticks.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// settle waits until every member says that the whole fleet agrees.
func settle(t *testing.T, fleet []*member) {
	t.Helper()
	eventually(t, 30*time.Second, "all members agree", func() bool {
		for _, m := range fleet {
			f, err := m.Fleet(t.Context(), true)
			if err != nil || !f.Converged || len(f.Members) != len(fleet) {
				return false
			}
		}
		return true
	})
}

const noteVersion = "note.example.dev/v1"

// registerNotes makes a kind known everywhere.
func registerNotes(t *testing.T, fleet []*member, identity resource.Identity) {
	t.Helper()
	kind, err := resource.KindResource(resource.Kind{APIVersion: noteVersion, Name: "Note", Plural: "notes", Identity: identity}, resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet[0].Store().Put(t.Context(), kind); err != nil {
		t.Fatal(err)
	}
	settle(t, fleet)
}

func note(name, text string) resource.Resource {
	return resource.Resource{APIVersion: noteVersion, Kind: "Note", Name: name, Spec: []byte(`{"text":"` + text + `"}`)}
}

func put(t *testing.T, m *member, r resource.Resource, opts ...store.Option) resource.Resource {
	t.Helper()
	out, err := m.Store().Put(t.Context(), r, opts...)
	if err != nil {
		t.Fatalf("put on %s: %v", m.cfg.Name, err)
	}
	return out
}

func get(t *testing.T, m *member, name string) resource.Resource {
	t.Helper()
	r, err := m.Store().Get(t.Context(), "notes", resource.Scope{}, name)
	if err != nil {
		t.Fatalf("get on %s: %v", m.cfg.Name, err)
	}
	return r
}

// holdNotes holds every member to exactly the notes that are wanted, name to
// text, and to the same bytes.
func holdNotes(t *testing.T, fleet []*member, want map[string]string) {
	t.Helper()
	var first []resource.Resource
	for i, m := range fleet {
		all, err := m.Store().ListAll(t.Context(), "notes", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range all {
			var spec struct{ Text string }
			if err := json.Unmarshal(r.Spec, &spec); err != nil {
				t.Fatal(err)
			}
			got[r.Name] = spec.Text
		}
		if diff := cmp.Diff(want, got); diff != "" || len(all) != len(want) {
			t.Errorf("%s holds %d notes, want %d: %s", m.cfg.Name, len(all), len(want), diff)
		}
		if i == 0 {
			first = all
		} else if diff := cmp.Diff(first, all); diff != "" {
			t.Errorf("P2: %s and %s differ: %s", fleet[0].cfg.Name, m.cfg.Name, diff)
		}
	}
}
