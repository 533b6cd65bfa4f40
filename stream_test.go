package driftless_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"driftless.dev"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// The stream is deleted, and recreated by whoever notices, while nodes run and
// write: no record is skipped, although the new stream's sequences begin anew,
// and every node goes on publishing to it and reading from it.
func TestFleet_StreamDeletedWhileNodesRun(t *testing.T) {
	// Rare reconciliations: they must not hide a tail that never resumes.
	fleet := newFleet(t, []string{"a", "b", "c"}, func(c *driftless.Config) { c.SyncInterval = 10 * time.Minute })
	registerNotes(t, fleet, resource.IdentityUnique)
	nc, err := nats.Connect(fleet[0].NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	subjects, err := wire.NewSubjects("test")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	write := func(m *member, name string) {
		put(t, m, note(name, "x"))
		want[name] = "x"
	}
	for round := range 3 {
		for _, m := range fleet {
			for i := range 30 {
				write(m, fmt.Sprint("before-", round, "-", m.cfg.Name, "-", i))
			}
		}
		if err := js.DeleteStream(t.Context(), subjects.Stream()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for _, m := range fleet {
			write(m, fmt.Sprint("after-", round, "-", m.cfg.Name))
		}
		eventually(t, 30*time.Second, "the stream is there again", func() bool {
			_, err := js.Stream(t.Context(), subjects.Stream())
			return err == nil
		})
	}
	settle(t, fleet)
	holdNotes(t, fleet, want)
	tries := 0
	eventually(t, time.Minute, "what any node writes reaches the others by the stream", func() bool {
		tries++
		for _, m := range fleet {
			if !m.Info().NATS.Stream || !streams(t, m, fleet, fmt.Sprint("probe-", tries, "-", m.cfg.Name)) {
				return false
			}
		}
		return true
	})
	t.Logf("the stream carries at try %d", tries)
}

// streams reports whether a write is everywhere within a second. The fleet
// agrees before it, and only a difference that lasts for two seconds begins a
// reconciliation, so the stream must have carried it.
func streams(t *testing.T, from *member, fleet []*member, name string) bool {
	t.Helper()
	settle(t, fleet)
	before := rounds(fleet)
	put(t, from, note(name, "x"))
	deadline := time.Now().Add(time.Second)
	for _, m := range fleet {
		for {
			changed, _ := m.Store().Changed()
			if _, err := m.Store().Get(t.Context(), "notes", resource.Scope{}, name); err == nil {
				break
			}
			if time.Now().After(deadline) {
				return false
			}
			select {
			case <-changed:
			case <-time.After(time.Until(deadline)):
			}
		}
	}
	return rounds(fleet) == before
}
