package driftless_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// A controller's status written on b for a record that a person owns on a:
// both survive everywhere, whichever arrives first.
func TestFleet_StatusBesideAPersonsSpec(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, fleet, resource.IdentityUnique)
	a, b := fleet[0], fleet[1]
	put(t, a, note("n", "first"))
	settle(t, fleet)
	for _, specFirst := range []bool{true, false} {
		text := fmt.Sprint("specFirst=", specFirst)
		b.link.Cut()
		writeSpec := func() {
			_, err := a.Store().Update(t.Context(), "notes", resource.Scope{}, "n", func(r *resource.Resource) error {
				r.Spec = []byte(`{"text":"` + text + `"}`)
				return nil
			}, store.As(resource.Human))
			if err != nil {
				t.Fatal(err)
			}
		}
		writeStatus := func() {
			r := get(t, b, "n")
			r.Status = []byte(`{"seen":"` + text + `"}`)
			if _, err := b.Store().Write(t.Context(), store.Write{Op: store.OpStatus, Kind: "notes", Name: "n", Resource: r}); err != nil {
				t.Fatal(err)
			}
		}
		if specFirst {
			writeSpec()
			writeStatus()
		} else {
			writeStatus()
			writeSpec()
		}
		b.link.Heal()
		settle(t, fleet)
		for _, m := range fleet {
			r := get(t, m, "n")
			if string(r.Spec) != `{"text":"`+text+`"}` || string(r.Status) != `{"seen":"`+text+`"}` || r.WriterActor != resource.Human {
				t.Errorf("%s holds spec %s by %s, status %s", m.cfg.Name, r.Spec, r.WriterActor, r.Status)
			}
		}
	}
	// A full resync changes nothing: a node that starts empty holds the same.
	d := newMember(t, "d", nil)
	d.joinTo(a)
	d.start()
	settle(t, append(fleet, d))
	if got, want := get(t, d, "n"), get(t, a, "n"); got.Digest != want.Digest || string(got.Status) != string(want.Status) {
		t.Errorf("a fresh node holds spec %s, status %s", got.Spec, got.Status)
	}
}

// The same manifest on two nodes that cannot see each other: both are kept,
// every node has the same holder; with identity "name" it is one record.
func TestFleet_OneNameOnTwoSides(t *testing.T) {
	for _, identity := range []resource.Identity{resource.IdentityUnique, resource.IdentityName} {
		t.Run(string(identity), func(t *testing.T) {
			fleet := newFleet(t, []string{"a", "b", "c"}, nil)
			registerNotes(t, fleet, identity)
			fleet[1].link.Cut()
			put(t, fleet[0], note("same", "from a"))
			put(t, fleet[1], note("same", "from b"))
			fleet[1].link.Heal()
			settle(t, fleet)
			want := get(t, fleet[0], "same")
			for _, m := range fleet {
				if got := get(t, m, "same"); got.ID != want.ID || got.Digest != want.Digest {
					t.Errorf("%s has holder %s, a has %s", m.cfg.Name, got.ID, want.ID)
				}
				conflicts, err := m.Store().Conflicts()
				if err != nil {
					t.Fatal(err)
				}
				all, err := m.Store().ListAll(t.Context(), "notes", nil)
				if err != nil {
					t.Fatal(err)
				}
				if identity == resource.IdentityName {
					if len(conflicts) != 0 || len(all) != 1 {
						t.Errorf("%s: %d conflicts, %d records; want one record", m.cfg.Name, len(conflicts), len(all))
					}
					continue
				}
				if len(conflicts) != 1 || conflicts[0].Holder.ID != want.ID || len(conflicts[0].Others) != 1 || len(all) != 2 {
					t.Errorf("%s: conflicts %+v, %d records", m.cfg.Name, conflicts, len(all))
				}
			}
		})
	}
}

// A delete with finalizers, each removed on another node: the record goes
// once, and neither a late status nor anything else brings it back.
func TestFleet_P4_DeleteWithFinalizersOnTwoNodes(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, fleet, resource.IdentityUnique)
	a, b := fleet[0], fleet[1]
	r := note("n", "x")
	r.Finalizers = []string{"example.dev/a", "example.dev/b"}
	id := put(t, a, r).ID
	settle(t, fleet)
	b.link.Cut()
	if err := a.Store().Delete(t.Context(), "notes", resource.Scope{}, "n"); err != nil {
		t.Fatal(err)
	}
	if err := b.Store().Delete(t.Context(), "notes", resource.Scope{}, "n"); err != nil {
		t.Fatal(err)
	}
	for m, key := range map[*member]string{a: "example.dev/a", b: "example.dev/b"} {
		_, err := m.Store().UpdateByID(t.Context(), id, func(r *resource.Resource) error {
			r.Finalizers = slices.DeleteFunc(r.Finalizers, func(k string) bool { return k == key })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if get(t, m, "n").DeletionTimestamp == nil {
			t.Errorf("%s: gone before the other's finalizer was removed", m.cfg.Name)
		}
	}
	b.link.Heal()
	settle(t, fleet)
	for _, m := range fleet {
		if _, err := m.Store().GetByID(t.Context(), id); !errors.Is(err, resource.ErrNotFound) {
			t.Errorf("%s: after the heal: %v", m.cfg.Name, err)
		}
		_, err := m.Store().Write(t.Context(), store.Write{Op: store.OpStatus, ID: mustID(t, id), Resource: resource.Resource{Status: []byte(`{"late":true}`)}})
		if !errors.Is(err, resource.ErrNotFound) {
			t.Errorf("%s: a late status: %v", m.cfg.Name, err)
		}
	}
}

func mustID(t *testing.T, s string) resource.ID {
	t.Helper()
	id, err := resource.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A node that restarts with its wall clock an hour back: its new write still
// wins over its predecessor on every node, and it goes on merging.
func TestFleet_P6_ClockAnHourBack(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, fleet, resource.IdentityUnique)
	b := fleet[1]
	put(t, b, note("n", "before"))
	settle(t, fleet)
	b.clock.shift(-time.Hour)
	b.restart()
	put(t, b, note("n", "after"))
	put(t, fleet[2], note("other", "from c"))
	settle(t, fleet)
	for _, m := range fleet {
		if r := get(t, m, "n"); string(r.Spec) != `{"text":"after"}` {
			t.Errorf("%s holds %s", m.cfg.Name, r.Spec)
		}
		get(t, m, "other")
	}
}

// A clock an hour ahead: the node's own writes are refused with the reason,
// and its peers are not disturbed.
func TestFleet_ClockAnHourAhead(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, fleet, resource.IdentityUnique)
	a, b := fleet[0], fleet[1]
	eventually(t, 10*time.Second, "b has heard enough clocks to tell", func() bool { return b.Info().Clock.Sure })
	b.clock.shift(time.Hour)
	var refused error
	eventually(t, 10*time.Second, "b refuses its own writes", func() bool {
		_, refused = b.Store().Put(t.Context(), note("n", "x"))
		return refused != nil
	})
	if !errors.Is(refused, replicate.ErrClock) {
		t.Errorf("b's write: %v", refused)
	}
	if h := a.Store().Head().HLC; time.Until(h.Time()) > time.Minute {
		t.Errorf("a's clock was dragged along to %s", h)
	}
	put(t, a, note("n", "from a"))
	eventually(t, 10*time.Second, "b still merges what a writes", func() bool {
		r, err := b.Store().Get(t.Context(), "notes", resource.Scope{}, "n")
		return err == nil && string(r.Spec) == `{"text":"from a"}`
	})
	b.clock.shift(0)
	eventually(t, 10*time.Second, "b writes again once its clock is right", func() bool {
		_, err := b.Store().Put(t.Context(), note("m", "x"))
		return err == nil
	})
	settle(t, fleet)
}

// JetStream off: the fleet converges by reconciliation alone.
func TestFleet_WithoutStream(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, func(c *driftless.Config) { c.NATS.Streamless = true })
	registerNotes(t, fleet, resource.IdentityUnique)
	want := map[string]string{}
	for _, m := range fleet {
		for i := range 50 {
			name := fmt.Sprint(m.cfg.Name, "-", i)
			want[name] = "x"
			put(t, m, note(name, "x"))
		}
	}
	settle(t, fleet)
	holdNotes(t, fleet, want)
	for _, m := range fleet {
		if m.Info().NATS.Stream {
			t.Errorf("%s uses a stream", m.cfg.Name)
		}
	}
}

// A URL that does not answer: the node serves, says what it waits for, and
// converges when NATS comes.
func TestFleet_NATSComesLater(t *testing.T) {
	a := newMember(t, "a", nil)
	a.start()
	b := newMember(t, "b", nil)
	b.joinTo(a)
	b.link.Cut()
	b.start()
	eventually(t, 10*time.Second, "b says that it waits for nats", func() bool {
		ready, why := b.Ready()
		return !ready && len(why) > 5 && why[:5] == "nats:"
	})
	kind, err := resource.KindResource(resource.Kind{APIVersion: noteVersion, Name: "Note", Plural: "notes"}, resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, kind)
	put(t, b, note("n", "cut off"))
	b.link.Heal()
	settle(t, []*member{a, b})
	get(t, a, "n")
	eventually(t, 15*time.Second, "b is ready", func() bool { ready, _ := b.Ready(); return ready })
}

// Another fleet's name on one NATS: the two do not mix, and say so.
func TestFleet_AnotherFleetsNATS(t *testing.T) {
	a := newMember(t, "a", nil)
	a.start()
	b := newMember(t, "b", func(c *driftless.Config) { c.FleetSecret = []byte("another secret") })
	b.joinTo(a)
	b.start()
	eventually(t, 15*time.Second, "a tells of foreign heartbeats", func() bool {
		return slices.ContainsFunc(a.Info().Conditions, func(c string) bool { return len(c) > 16 && c[:16] == "ForeignHeartbeat" })
	})
	f, err := a.Fleet(t.Context(), true)
	if err != nil || len(f.Members) != 1 {
		t.Errorf("a counts %d members, %v", len(f.Members), err)
	}
}

// A second node on one directory is refused, with the reason.
func TestOpen_SecondNodeOnOneDirectory(t *testing.T) {
	a := newMember(t, "a", nil)
	a.start()
	second := a.cfg
	second.HTTP = "127.0.0.1:0"
	if _, err := driftless.Open(context.Background(), second); !errors.Is(err, store.ErrLocked) {
		t.Errorf("second open: %v", err)
	}
}

// A node that is stopped and started again keeps its place: what it
// acknowledged up to its stop is there, and what the others write while it is
// away arrives.
func TestFleet_P1_RestartUnderWrites(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, fleet, resource.IdentityUnique)
	w := &writers{t: t, acked: map[string]string{}}
	for round := range 3 {
		away := fleet[1+round%2]
		stop := w.start(fmt.Sprint("n", round), slices.DeleteFunc(slices.Clone(fleet), func(m *member) bool { return m == away }))
		for i := range 20 {
			w.put(away, fmt.Sprint("n", round, "-", away.cfg.Name, "-", i))
		}
		before := w.count()
		away.restart()
		meanwhile := w.count() - before
		stop()
		if meanwhile == 0 {
			t.Errorf("round %d: nothing was written while %s was away: the test shows nothing", round, away.cfg.Name)
		}
	}
	settle(t, fleet)
	t.Logf("%d writes", w.count())
	holdNotes(t, fleet, w.acked)
}

// writers write notes in the background and remember which were acknowledged.
type writers struct {
	t     *testing.T
	mu    sync.Mutex
	acked map[string]string
}

func (w *writers) put(m *member, name string) {
	if _, err := m.Store().Put(w.t.Context(), note(name, "x")); err != nil {
		w.t.Errorf("put on %s: %v", m.cfg.Name, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[name] = "x"
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// start has each member written to until stop is called, which waits for the
// last write. They pace themselves: what is shown is order, not load.
func (w *writers) start(prefix string, members []*member) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, m := range members {
		wg.Go(func() {
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-pace.C:
					w.put(m, fmt.Sprint(prefix, "-", m.cfg.Name, "-", i))
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
	w.t.Cleanup(stop) // before the members are stopped
	return stop
}

// A node started from a copy of another's directory is reported by both, and
// neither says that the fleet agrees.
func TestFleet_ClonedDirectoryIsReported(t *testing.T) {
	a := newMember(t, "a", nil)
	b := newMember(t, "b", nil)
	a.start()
	b.joinTo(a)
	b.start()
	settle(t, []*member{a, b})
	b.stop()
	c := newMember(t, "c", nil)
	if err := os.CopyFS(c.cfg.Data, os.DirFS(b.cfg.Data)); err != nil {
		t.Fatal(err)
	}
	c.joinTo(a)
	b.start()
	c.start()
	for _, m := range []*member{b, c} {
		eventually(t, 15*time.Second, m.cfg.Name+" tells of the clone", func() bool {
			f, err := m.Fleet(t.Context(), true)
			told := slices.ContainsFunc(m.Info().Conditions, func(c string) bool { return strings.HasPrefix(c, "CloneSuspected") })
			return err == nil && !f.Converged && told
		})
	}
}

// A member that is taken off the roster is not waited for any more.
func TestFleet_RemovedMemberDoesNotCount(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
	gone := fleet[2].Store().Identity().Instance.String()
	fleet[2].stop()
	a := fleet[0]
	f, err := a.Fleet(t.Context(), true)
	if err != nil || f.Converged {
		t.Errorf("with a silent member: converged %v, %v", f.Converged, err)
	}
	if err := a.Store().Delete(t.Context(), resource.MemberKind, resource.Scope{}, gone, store.As(resource.Human)); err != nil {
		t.Fatal(err)
	}
	settle(t, fleet[:2])
}
