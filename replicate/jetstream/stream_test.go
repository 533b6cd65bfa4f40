package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"driftless.dev/replicate"
	"driftless.dev/replicate/jetstream"
	"driftless.dev/wire"
)

const streamName = "DRIFTLESS_default"

// restartable is a server that keeps its port and its directory.
func restartable(t *testing.T) (start func() *jetstream.Server) {
	t.Helper()
	dir, port := t.TempDir(), -1
	return func() *jetstream.Server {
		s := startServer(t, func(c *jetstream.ServerConfig) { c.StoreDir, c.Port = dir, port })
		_, p, err := net.SplitHostPort(s.ClientURL()[len("nats://"):])
		if err != nil {
			t.Fatal(err)
		}
		port, _ = strconv.Atoi(p)
		return s
	}
}

func TestStream_CursorResumesAcrossBusRestart(t *testing.T) {
	s := startServer(t, nil)
	first := startNode(t, 1, s.ClientURL())
	first.untilStream()
	first.mustPublish("r", numbered("m", 0, 5)...)
	first.untilPayloads(numbered("m", 0, 5))
	first.stop()

	writer := startNode(t, 2, s.ClientURL())
	writer.untilStream()
	writer.mustPublish("r", numbered("m", 5, 8)...)
	again := startNode(t, 1, s.ClientURL(), withCursor(first.cursor))
	again.untilPayloads(numbered("m", 5, 8))
	if again.freshSince(0) != 0 {
		t.Errorf("the same stream was called fresh: %+v", again.transports)
	}
	if writer.freshSince(0) == 0 {
		t.Error("a node without a cursor was not told that the stream is new to it")
	}
}

// The server restarts between two messages, on the same directory.
func TestStream_ServerRestartSkipsNothingAndIsFresh(t *testing.T) {
	start := restartable(t)
	s := start()
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	n.mustPublish("r", numbered("m", 0, 20)...)
	n.untilPayloads(numbered("m", 0, 20))
	before := n.reports()
	s.Close()
	n.until("the loss", func() bool { return !n.last().Connected })
	start()
	n.until("fresh", func() bool { return n.last().Stream && n.freshSince(before) > 0 })
	n.mustPublish("r", numbered("m", 20, 40)...)
	n.untilPayloads(numbered("m", 0, 40))
	for i, m := range n.messages {
		if m.at.Seq != uint64(i+1) {
			t.Fatalf("message %d has sequence %d", i, m.at.Seq)
		}
	}
}

// The trap of nats-bbolt.md section 1: nats.go's ordered consumer goes on behind
// the old sequence and skips 30 of 40.
func TestStream_RecreatedWhileConsumingDeliversAllOfTheNew(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	old := numbered("old", 0, 30)
	n.mustPublish("r", old...)
	n.untilPayloads(old)
	created, before := n.messages[0].at.Created, n.reports()

	operator := admin(t, s.ClientURL())
	stream, err := operator.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	if err := operator.DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.CreateOrUpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	fresh := numbered("new", 0, 40)
	subject := eventSubject(t, "r", n)
	for _, data := range fresh {
		if _, err := operator.Publish(t.Context(), subject, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	n.untilPayloads(slices.Concat(old, fresh))
	if m := n.messages[30]; m.at.Created == created || m.at.Seq != 1 {
		t.Errorf("the first message of the new stream is at %+v", m.at)
	}
	if n.freshSince(before) == 0 {
		t.Error("the new stream was not reported as fresh")
	}
}

// A stream that is deleted is made again by the nodes, all at once.
func TestStream_DeletedIsMadeAgain(t *testing.T) {
	s := startServer(t, nil)
	var nodes []*node
	for k := byte(1); k <= 4; k++ {
		nodes = append(nodes, startNode(t, k, s.ClientURL()))
	}
	for _, n := range nodes {
		n.untilStream()
	}
	before := nodes[0].reports()
	if err := admin(t, s.ClientURL()).DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	nodes[0].until("fresh", func() bool { return nodes[0].freshSince(before) > 0 && nodes[0].last().Stream })
	nodes[0].mustPublish("r", "after")
	for _, n := range nodes {
		n.untilPayloads([]string{"after"})
	}
}

// The server would take a start past the end, and deliver nothing.
func TestStream_CursorItCannotTrustStartsOver(t *testing.T) {
	s := startServer(t, nil)
	writer := startNode(t, 1, s.ClientURL())
	writer.untilStream()
	want := numbered("m", 0, 10)
	writer.mustPublish("r", want...)
	writer.untilPayloads(want)
	good := writer.messages[4].at
	ahead, otherStream, otherContent := good, good, good
	ahead.Seq = 1000
	otherStream.Created--
	otherContent.Check[0] ^= 1 // rolled back, and grown again to the same length
	for name, c := range map[string]struct {
		cursor replicate.Cursor
		want   []string
		fresh  bool
	}{
		"as left":       {good, want[5:], false},
		"ahead":         {ahead, want, true},
		"other content": {otherContent, want, true},
		// The bus cannot know more of a foreign stream than that it is another.
		"other stream": {otherStream, want, true},
		"none":         {replicate.Cursor{}, want, true},
	} {
		t.Run(name, func(t *testing.T) {
			n := startNode(t, 2, s.ClientURL(), withCursor(c.cursor))
			n.untilPayloads(c.want)
			if got := n.freshSince(0) > 0; got != c.fresh {
				t.Errorf("fresh reported: %v, want %v", got, c.fresh)
			}
		})
	}
}

func TestStream_CursorThatAgedOutResumes(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	n.mustPublish("r", numbered("m", 0, 10)...)
	n.untilPayloads(numbered("m", 0, 10))
	n.stop()
	operator := admin(t, s.ClientURL())
	stream, err := operator.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), js.WithPurgeSequence(8)); err != nil {
		t.Fatal(err)
	}
	again := startNode(t, 1, s.ClientURL(), withCursor(n.messages[4].at))
	again.untilPayloads(numbered("m", 7, 10))
	if again.freshSince(0) != 0 {
		t.Error("an aged-out cursor was called fresh")
	}
}

func TestStream_HandlerThatIsNotReadyGetsTheMessageAgain(t *testing.T) {
	s := startServer(t, nil)
	var tries atomic.Int32
	n := startNode(t, 1, s.ClientURL(), onMessage(func(d delivery) error {
		switch {
		case d.data == "m-001" && tries.Add(1) < 4:
			return fmt.Errorf("store is full: %w", replicate.ErrDisconnected)
		case d.data == "m-002":
			return errors.New("cannot be read")
		}
		return nil
	}))
	n.untilStream()
	n.mustPublish("r", numbered("m", 0, 4)...)
	n.untilPayloads([]string{"m-000", "m-001", "m-003"})
	if tries.Load() != 4 || n.bus.Stats().Skipped != 1 {
		t.Errorf("%d tries, %+v", tries.Load(), n.bus.Stats())
	}
}

func TestStream_PoisonedSubjectIsPassedOver(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	n.mustPublish("r", "before")
	operator := admin(t, s.ClientURL())
	for _, subject := range []string{"driftless.default.ev.x", "driftless.default.ev.R.nobody", "driftless.default.ev.=zz.*.y"} {
		if _, err := operator.Publish(t.Context(), subject, []byte("poison")); err != nil {
			t.Fatal(err)
		}
	}
	n.mustPublish("r", "after")
	n.untilPayloads([]string{"before", "after"})
	if got := n.bus.Stats().Skipped; got != 3 {
		t.Errorf("skipped %d, want 3", got)
	}
}

// A consumer that is deleted under a healthy connection is replaced, also when
// nothing is published.
func TestStream_LostConsumerIsReplaced(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	n.mustPublish("r", "one")
	n.untilPayloads([]string{"one"})
	operator := admin(t, s.ClientURL())
	stream, err := operator.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	before := n.reports()
	for name := range stream.ConsumerNames(t.Context()).Name() {
		if err := stream.DeleteConsumer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	n.until("fresh", func() bool { return n.freshSince(before) > 0 })
	n.mustPublish("r", "two")
	n.untilPayloads([]string{"one", "two"})
	if n.bus.Stats().ConsumerRebuilds == 0 {
		t.Error("no rebuild was counted")
	}
}

// Another client takes messages from our consumer: a gap when more follow, a
// stall when none do.
func TestStream_MessagesLostOnTheWayAreReadAgain(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	stream, err := admin(t, s.ClientURL()).Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 5 {
		stolen := 0
		for name := range stream.ConsumerNames(t.Context()).Name() {
			consumer, err := stream.Consumer(t.Context(), name)
			if err != nil {
				continue // replaced meanwhile
			}
			batch, err := consumer.Fetch(1, js.FetchMaxWait(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			for stolen == 0 {
				more := numbered(fmt.Sprintf("m%d-%d", i, len(want)), 0, 3)
				n.mustPublish("r", more...)
				want = append(want, more...)
				select {
				case msg, ok := <-batch.Messages():
					if ok && msg != nil {
						stolen++
					}
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		n.untilPayloads(want)
	}
	if n.bus.Stats().ConsumerRebuilds == 0 {
		t.Error("nothing was stolen")
	}
}

// An end that was deleted is not a stall.
func TestStream_DeletedEndIsNoStall(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	n.mustPublish("r", numbered("m", 0, 3)...)
	n.untilPayloads(numbered("m", 0, 3))
	n.stop()
	operator := admin(t, s.ClientURL())
	stream, err := operator.Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	var looks atomic.Int32
	if _, err := operator.Conn().Subscribe("$JS.API.STREAM.INFO."+streamName, func(*nats.Msg) { looks.Add(1) }); err != nil {
		t.Fatal(err)
	}
	m := startNode(t, 2, s.ClientURL())
	m.untilPayloads(numbered("m", 0, 2))
	eventually(t, "ten looks", func() bool { return looks.Load() > 10 })
	if got := m.bus.Stats().ConsumerRebuilds; got != 0 {
		t.Errorf("the consumer was made again %d times", got)
	}
}

// The server comes and goes under load. What was acknowledged arrives, in stream
// order, without a gap and once.
func TestStream_RestartsUnderLoad(t *testing.T) {
	start := restartable(t)
	s := start()
	writer, reader := startNode(t, 1, s.ClientURL()), startNode(t, 2, s.ClientURL())
	writer.untilStream()
	reader.untilStream()
	var acked []string
	for round := range 4 {
		for i, data := range numbered(fmt.Sprintf("r%d", round), 0, 60) {
			if i == 30 && round > 0 {
				s.Close()
				s = start()
			}
			eventually(t, "an ack", func() bool { return writer.publish("r", data) == nil })
			acked = append(acked, data)
		}
	}
	reader.until("all acknowledged", func() bool {
		return len(reader.messages) > 0 && reader.messages[len(reader.messages)-1].data == acked[len(acked)-1]
	})
	seen := make(map[string]bool)
	for i, m := range reader.messages {
		if m.at.Seq != uint64(i+1) {
			t.Fatalf("message %d has sequence %d", i, m.at.Seq)
		}
		seen[m.data] = true
	}
	for _, data := range acked {
		if !seen[data] {
			t.Errorf("%s was acknowledged and never delivered", data)
		}
	}
}

// A call that is denied only times out; people are told what was denied.
func TestStream_DeniedIsNamed(t *testing.T) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		Users: []*server.User{{Username: "u", Password: "p", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	n := startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) {
		c.User, c.Password, c.Tuning.API = "u", "p", 200*time.Millisecond
	})
	n.untilReason("ermissions Violation")
	if tr := n.last(); !tr.Connected || tr.Stream {
		t.Errorf("reported %+v", tr)
	}
}

func TestStream_IncompatibleIsAReason(t *testing.T) {
	s := startServer(t, nil)
	subjects, err := wire.NewSubjects("default")
	if err != nil {
		t.Fatal(err)
	}
	operator := admin(t, s.ClientURL())
	_, err = operator.CreateStream(t.Context(), js.StreamConfig{
		Name: streamName, Subjects: []string{subjects.EventsFilter()}, Retention: js.WorkQueuePolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	n := startNode(t, 1, s.ClientURL())
	n.untilReason("its retention is WorkQueue, want limits")
	if err := operator.DeleteStream(context.Background(), streamName); err != nil {
		t.Fatal(err)
	}
	n.untilStream()
}

// Settings that people gave the stream stay, unless this node states others.
func TestStream_TakesTheStreamAsItIs(t *testing.T) {
	s := startServer(t, nil)
	startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.MaxAge, c.MaxBytes = time.Hour, 1<<20 }).untilStream()
	startNode(t, 2, s.ClientURL()).untilStream()
	stream, err := admin(t, s.ClientURL()).Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	c := stream.CachedInfo().Config
	if c.MaxAge != time.Hour || c.MaxBytes != 1<<20 || c.Retention != js.LimitsPolicy || c.Storage != js.FileStorage || c.AllowDirect || c.MaxConsumers != -1 {
		t.Errorf("the stream became %+v", c)
	}
	startNode(t, 3, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.MaxAge = 2 * time.Hour }).untilStream()
	if info, err := stream.Info(t.Context()); err != nil || info.Config.MaxAge != 2*time.Hour || info.Config.MaxBytes != 1<<20 {
		t.Errorf("the stream became %+v (%v)", info.Config, err)
	}
}

func eventSubject(t *testing.T, realm string, n *node) string {
	t.Helper()
	subjects, err := wire.NewSubjects("default")
	if err != nil {
		t.Fatal(err)
	}
	return subjects.Event(realm, n.id)
}
