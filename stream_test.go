package driftless_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"driftless.dev/resource"
	"driftless.dev/wire"
)

// The stream is deleted, and recreated by whoever notices, while nodes run and
// write: no record is skipped, although the new stream's sequences begin anew.
func TestFleet_StreamDeletedWhileNodesRun(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b", "c"}, nil)
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
	written := 0
	for round := range 3 {
		for i, m := range fleet {
			for j := range 30 {
				put(t, m, note(fmt.Sprint("n", round, "-", i, "-", j), "x"))
				written++
			}
		}
		if err := js.DeleteStream(t.Context(), subjects.Stream()); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i, m := range fleet {
			put(t, m, note(fmt.Sprint("m", round, "-", i), "after the delete"))
			written++
		}
		eventually(t, 30*time.Second, "the stream is there again", func() bool {
			_, err := js.Stream(t.Context(), subjects.Stream())
			return err == nil
		})
	}
	settle(t, fleet)
	for _, m := range fleet {
		all, err := m.Store().ListAll(t.Context(), "notes", nil)
		if err != nil || len(all) != written {
			t.Errorf("%s holds %d of %d notes, %v", m.cfg.Name, len(all), written, err)
		}
	}
}
