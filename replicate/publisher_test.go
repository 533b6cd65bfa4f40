package replicate_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// writer is a lone rig with n writes in its log, of which the kind is one.
func writer(t *testing.T, n int) *rig {
	r := lone(t)
	r.registerKind()
	for i := range n - 1 {
		r.put("", fmt.Sprint("n", i), 1)
	}
	r.todo = nil
	r.step(replicate.Appended{Seq: r.store.Head().Seq})
	return r
}

// read answers the one ReadOutbox and returns the messages it led to.
func read(r *rig) []replicate.Publish {
	r.t.Helper()
	e := one[replicate.ReadOutbox](r)
	events, last, err := r.store.Outbox(e.After, e.Limit)
	r.step(replicate.OutboxRead{Events: events, Last: last, Err: err})
	return take[replicate.Publish](r)
}

// batch decodes a message.
func batch(r *rig, p replicate.Publish) wire.Batch {
	r.t.Helper()
	b, err := r.fleet.ReadBatch(p.Data)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func TestPublisher_WindowOfTwoChunksAndContiguousAcks(t *testing.T) {
	r := writer(t, 400)
	first, second := read(r), read(r)
	none[replicate.ReadOutbox](r) // the window is full
	for _, p := range second {
		r.step(replicate.Published{ID: p.ID})
	}
	none[replicate.Stage](r)
	if got := r.status().Published; got != 0 {
		t.Fatalf("published %d with the first chunk unacked, want 0", got)
	}
	for _, p := range first {
		none[replicate.Stage](r)
		r.step(replicate.Published{ID: p.ID})
	}
	if one[replicate.Stage](r); r.status().Published != 256 {
		t.Fatalf("published %d after both chunks were acked, want 256", r.status().Published)
	}
	if e := one[replicate.ReadOutbox](r); e.After != 256 {
		t.Errorf("reads on after %d, want 256", e.After)
	}
}

func TestPublisher_CursorSurvivesInTheStore(t *testing.T) {
	r := writer(t, 3)
	r.do(nil)
	r.put("", "carries the staged cursor", 1)
	again, err := replicate.LoadCore(r.store, replicate.Config{Fleet: r.fleet})
	if err != nil {
		t.Fatal(err)
	}
	if again.Status(r.now()).Published != 0 {
		t.Errorf("a short log is not handed over again from its beginning")
	}
	if data, err := r.store.Cursor("published"); err != nil || len(data) != 1 || data[0] != 3 {
		t.Errorf("stored cursor %v, %v, want 3", data, err)
	}
}

// TestPublisher_FailureRewindsAndBacksOff: anything but an ack says nothing, so
// what is not acked is handed over again, after a wait that doubles up to 10 s.
func TestPublisher_FailureRewindsAndBacksOff(t *testing.T) {
	r := writer(t, 5)
	old := read(r)
	backoff := 100 * time.Millisecond
	for range 9 {
		r.step(replicate.Published{ID: old[0].ID, Err: replicate.ErrDisconnected})
		r.pass(backoff/2 - 1)
		none[replicate.ReadOutbox](r)
		r.pass(backoff/2 + 1)
		stale := old[0].ID
		old = read(r)
		if got := batch(r, old[0]); got.Events[0].Seq != 1 || len(got.Events) != 5 {
			t.Fatalf("after a failure %d events from %d, want all 5 from 1", len(got.Events), got.Events[0].Seq)
		}
		r.step(replicate.Published{ID: stale}) // an ack that comes late means nothing
		none[replicate.Stage](r)
		backoff = min(2*backoff, 10*time.Second)
	}
	if s := r.status(); s.Counters.PublishFailures != 9 || s.PublishError == "" {
		t.Errorf("%d failures, error %q, want 9 and a reason", s.Counters.PublishFailures, s.PublishError)
	}
	r.step(replicate.Published{ID: old[0].ID})
	if s := r.status(); s.Published != 5 || s.PublishError != "" {
		t.Errorf("published %d, error %q, want 5 and none", s.Published, s.PublishError)
	}
}

func TestPublisher_FailedReadIsTriedAgain(t *testing.T) {
	r := writer(t, 2)
	one[replicate.ReadOutbox](r)
	r.step(replicate.OutboxRead{Err: errors.New("no such page")})
	none[replicate.ReadOutbox](r)
	r.pass(100 * time.Millisecond)
	one[replicate.ReadOutbox](r)
}

func TestPublisher_WaitsForTheStream(t *testing.T) {
	r := newRig(t, "a", new(time.Duration))
	r.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true}})
	r.step(replicate.Appended{Seq: 1})
	none[replicate.ReadOutbox](r)
	r.connect()
	one[replicate.ReadOutbox](r)
}

// TestPublisher_FreshStreamGetsTheSafetyWindow: the stream's ack is not
// durable, so a new one is given the last entries again; what was read before
// for the old one is dropped.
func TestPublisher_FreshStreamGetsTheSafetyWindow(t *testing.T) {
	r := newRig(t, "a", new(time.Duration))
	fresh := replicate.TransportChanged{Transport: replicate.Transport{Connected: true, Stream: true, Fresh: true}}
	r.connect()
	r.step(replicate.Appended{Seq: 10000})
	one[replicate.ReadOutbox](r)
	r.step(replicate.OutboxRead{Last: 10000}) // merged entries alone: nothing to publish
	if one[replicate.Stage](r); r.status().Published != 10000 {
		t.Fatalf("published %d, want 10000", r.status().Published)
	}
	r.step(fresh)
	if e := one[replicate.ReadOutbox](r); e.After != 10000-4096 {
		t.Fatalf("hands over again from %d, want %d", e.After, 10000-4096)
	}
	r.step(fresh)
	r.step(replicate.OutboxRead{Last: 10000})
	none[replicate.Stage](r)
	if e := one[replicate.ReadOutbox](r); e.After > 10000-4096 {
		t.Errorf("the answer to a read of before was taken: reads on after %d", e.After)
	}
}

func TestPublisher_GroupsByRealmInOrder(t *testing.T) {
	r := writer(t, 1)
	for i, realm := range []string{"p", "q", "", "p", "q", "p"} {
		r.put(realm, fmt.Sprint("r", i), 1)
	}
	got := map[string][]uint64{}
	for _, p := range read(r) {
		for _, ev := range batch(r, p).Events {
			got[p.Realm] = append(got[p.Realm], ev.Seq)
		}
	}
	want := map[string][]uint64{resource.GlobalRealm: {1, 4}, "p": {2, 5, 7}, "q": {3, 6}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events by realm %v, want %v", got, want)
	}
}

// TestPublisher_MessagesAreBounded: by their bytes, and an event that fits none
// is said to be missing, so that readers reconcile.
func TestPublisher_MessagesAreBounded(t *testing.T) {
	r := writer(t, 1)
	for i := range 5 {
		r.put("", fmt.Sprint("big", i), 60<<10)
	}
	r.put("", "huge", 300<<10)
	r.put("", "last", 1)
	var shape []string
	for _, p := range read(r) {
		b := batch(r, p)
		if len(p.Data) > replicate.MaxFrame {
			t.Errorf("message of %d bytes", len(p.Data))
		}
		shape = append(shape, fmt.Sprint(len(b.Events), b.Missing))
	}
	if want := "[4 false 2 false 0 true 1 false]"; fmt.Sprint(shape) != want {
		t.Errorf("messages %v, want %s", shape, want)
	}
}
