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
	streams(t, fleet)
}

// streams holds every member to publishing what it writes and to receiving
// what the others write by the stream itself: what a reconciliation brings is
// not counted as received.
func streams(t *testing.T, fleet []*member) {
	t.Helper()
	before := map[*member]uint64{}
	for _, m := range fleet {
		before[m] = m.Replication().Counters.Received
	}
	began := time.Now()
	for _, m := range fleet {
		put(t, m, note("probe-"+m.cfg.Name, "x"))
	}
	for _, m := range fleet {
		eventually(t, 15*time.Second, m.cfg.Name+" publishes and receives by the stream", func() bool {
			info, st := m.Info(), m.Replication()
			return info.NATS.Stream && st.Published == info.Seq && st.Counters.Received >= before[m]+uint64(len(fleet)-1)
		})
	}
	t.Logf("the stream carries: %s", time.Since(began).Round(time.Millisecond))
}
