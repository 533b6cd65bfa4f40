package jetstream_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/replicate/jetstream"
)

func TestBus_DeliversInOrderToAllOwnIncluded(t *testing.T) {
	s := startServer(t, nil)
	a, b := startNode(t, 1, s.ClientURL()), startNode(t, 2, s.ClientURL())
	a.untilStream()
	b.untilStream()
	want := numbered("m", 0, 100)
	var acked atomic.Int32
	for _, data := range want {
		a.bus.Publish("atlas", a.id, []byte(data), func(err error) {
			if err != nil {
				t.Errorf("publish: %v", err)
			}
			acked.Add(1)
		})
	}
	for _, n := range []*node{a, b} {
		n.untilPayloads(want)
		for i, m := range n.messages {
			if m.realm != "atlas" || m.origin != a.id || m.at.Seq != uint64(i+1) || m.at.Created == 0 || m.at.Check == [16]byte{} {
				t.Fatalf("message %d: %+v", i, m)
			}
		}
	}
	eventually(t, "all acks", func() bool { return acked.Load() == 100 })
}

func TestBus_InProcess(t *testing.T) {
	s := startServer(t, func(c *jetstream.ServerConfig) { c.DontListen = true })
	if s.ClientURL() != "" {
		t.Errorf("a server that does not listen has the URL %q", s.ClientURL())
	}
	n := startNode(t, 1, "", func(_ *node, c *jetstream.Config) { c.InProcess = s.InProcess() })
	n.untilStream()
	n.mustPublish("_", "x")
	n.untilPayloads([]string{"x"})
	if n.last().URL != "in-process" {
		t.Errorf("URL is %q", n.last().URL)
	}
}

// User text never reaches a subject: a realm named * is a realm, not a wildcard.
func TestBus_AwkwardRealms(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	realms := []string{"*", ">", "a.b", "Ünïcödé ✓", strings.Repeat("é", 126) + "x", "", "_", "$SYS", "\x00"}
	for _, realm := range realms {
		n.mustPublish(realm, "to "+realm)
	}
	n.until("all realms", func() bool { return len(n.messages) == len(realms) })
	for i, realm := range realms {
		if n.messages[i].realm != realm || n.messages[i].data != "to "+realm {
			t.Errorf("realm %q arrived as %q", realm, n.messages[i].realm)
		}
	}
}

func TestBus_FleetsDoNotSeeEachOther(t *testing.T) {
	s := startServer(t, nil)
	other := func(_ *node, c *jetstream.Config) { c.Fleet = "other" }
	a, b := startNode(t, 1, s.ClientURL()), startNode(t, 2, s.ClientURL(), other)
	a2, b2 := startNode(t, 3, s.ClientURL()), startNode(t, 4, s.ClientURL(), other)
	for _, n := range []*node{a, b, a2, b2} {
		n.untilStream()
	}
	a.mustPublish("r", "a")
	b.mustPublish("r", "b")
	_ = a.bus.Broadcast(a.id, []byte("a"))
	_ = b.bus.Broadcast(b.id, []byte("b"))
	for _, c := range []struct {
		n    *node
		want string
		from *node
	}{{a2, "a", a}, {b2, "b", b}} {
		c.n.until("its own fleet", func() bool { return len(c.n.messages) > 0 && len(c.n.heartbeats) > 0 })
		if got := c.n.payloads(); !slices.Equal(got, []string{c.want}) || !slices.Equal(c.n.heartbeats, []string{c.from.id.String() + " " + c.want}) {
			t.Errorf("fleet %s saw %v, %v", c.want, got, c.n.heartbeats)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := a.bus.Request(ctx, b.id, replicate.VerbHello, nil); !errors.Is(err, replicate.ErrUnreachable) {
		t.Errorf("request across fleets: %v", err)
	}
}

func TestBus_HeartbeatsReachOthersOnly(t *testing.T) {
	s := startServer(t, nil)
	a, b := startNode(t, 1, s.ClientURL()), startNode(t, 2, s.ClientURL())
	a.untilStream()
	b.untilStream()
	if err := a.bus.Broadcast(a.id, []byte("1")); err != nil {
		t.Fatal(err)
	}
	b.until("a's heartbeat", func() bool { return len(b.heartbeats) == 1 })
	// A clone of a, on another connection, is heard by a: that is how it is found.
	if err := b.bus.Broadcast(a.id, []byte("clone")); err != nil {
		t.Fatal(err)
	}
	a.until("the clone's heartbeat", func() bool { return len(a.heartbeats) > 0 })
	if got, want := a.heartbeats, []string{a.id.String() + " clone"}; !slices.Equal(got, want) {
		t.Errorf("a heard %v, want %v", got, want)
	}
}

func TestBus_WaitsForAServerThatIsNotThereYet(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	n := startNode(t, 1, "nats://alice:s3cret@"+l.Addr().String())
	n.untilReason("connection refused")
	if tr := n.last(); tr.Connected || !strings.HasPrefix(tr.Reason, "nats: dial tcp "+l.Addr().String()) || tr.URL != "nats://"+l.Addr().String() {
		t.Errorf("reported %+v", tr)
	}
	began := time.Now()
	if err := n.publish("r", "x"); !errors.Is(err, replicate.ErrDisconnected) || time.Since(began) > time.Second {
		t.Errorf("publish while disconnected: %v after %v", err, time.Since(began))
	}
	if err := n.bus.Broadcast(n.id, nil); !errors.Is(err, replicate.ErrDisconnected) {
		t.Errorf("broadcast while disconnected: %v", err)
	}
	if _, err := n.bus.Request(t.Context(), id(9), replicate.VerbHello, nil); !errors.Is(err, replicate.ErrUnreachable) {
		t.Errorf("request while disconnected: %v", err)
	}
	startServer(t, func(c *jetstream.ServerConfig) { c.Port, c.User, c.Password = port, "alice", "s3cret" })
	n.untilStream()
	n.mustPublish("r", "x")
	for _, tr := range n.transports {
		if strings.Contains(tr.Reason+tr.URL, "s3cret") {
			t.Errorf("the password was reported: %+v", tr)
		}
	}
}

func TestBus_WrongCredentialsAreNamedAndTriedAgain(t *testing.T) {
	s := startServer(t, func(c *jetstream.ServerConfig) { c.User, c.Password = "alice", "right" })
	n := startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.User, c.Password = "alice", "wrong" })
	n.untilReason("uthorization")
	if n.last().Connected {
		t.Errorf("reported %+v", n.last())
	}
	ok := startNode(t, 2, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.User, c.Password = "alice", "right" })
	ok.untilStream()
}

func TestBus_StreamlessNeverTouchesJetStream(t *testing.T) {
	s := startServer(t, nil)
	streamless := func(_ *node, c *jetstream.Config) { c.Streamless = true }
	echo := onServe(func(_ context.Context, _ string, data []byte) ([]byte, error) { return data, nil })
	a, b := startNode(t, 1, s.ClientURL(), streamless), startNode(t, 2, s.ClientURL(), streamless, echo)
	for _, n := range []*node{a, b} {
		n.until("a connection", func() bool { return n.last().Connected })
		if tr := n.last(); tr.Stream || tr.Reason != "" {
			t.Errorf("reported %+v", tr)
		}
	}
	if err := a.publish("r", "x"); !errors.Is(err, replicate.ErrDisconnected) {
		t.Errorf("publish: %v", err)
	}
	if err := a.bus.Broadcast(a.id, nil); err != nil {
		t.Error(err)
	}
	b.until("a heartbeat", func() bool { return len(b.heartbeats) == 1 })
	if data, err := a.bus.Request(t.Context(), b.id, replicate.VerbHello, []byte("hi")); err != nil || string(data) != "hi" {
		t.Errorf("request: %q %v", data, err)
	}
	account, err := admin(t, s.ClientURL()).AccountInfo(t.Context())
	if err != nil || account.Streams != 0 {
		t.Errorf("%d streams (%v)", account.Streams, err)
	}
}

// Heartbeats and requests do not wait for JetStream.
func TestBus_WithoutJetStreamTheRestWorks(t *testing.T) {
	s := startServer(t, func(c *jetstream.ServerConfig) { c.JetStream = false })
	echo := onServe(func(_ context.Context, _ string, data []byte) ([]byte, error) { return data, nil })
	a, b := startNode(t, 1, s.ClientURL()), startNode(t, 2, s.ClientURL(), echo)
	for _, n := range []*node{a, b} {
		n.untilReason("JetStream is not enabled")
		if !n.last().Connected {
			t.Errorf("reported %+v", n.last())
		}
	}
	if data, err := a.bus.Request(t.Context(), b.id, replicate.VerbHello, []byte("hi")); err != nil || string(data) != "hi" {
		t.Errorf("request: %q %v", data, err)
	}
	if err := a.publish("r", "x"); err == nil {
		t.Error("publish without JetStream succeeded")
	}
}

// Every publish ends in exactly one done, also when the server goes in between.
func TestBus_DoneIsCalledExactlyOnce(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	var calls [2000]atomic.Int32
	var all sync.WaitGroup
	var refused atomic.Int32
	for i := range calls {
		all.Add(1)
		n.bus.Publish("r", n.id, make([]byte, 1024), func(err error) {
			if calls[i].Add(1) == 1 {
				all.Done()
			}
			if err != nil {
				refused.Add(1)
			}
		})
		if i == len(calls)/2 {
			go s.Close()
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("a done was never called")
	}
	n.stop()
	for i := range calls {
		if got := calls[i].Load(); got != 1 {
			t.Fatalf("done %d was called %d times", i, got)
		}
	}
	if err := n.publish("r", "late"); !errors.Is(err, replicate.ErrDisconnected) {
		t.Errorf("publish after the end: %v", err)
	}
	if err := n.bus.Broadcast(n.id, nil); !errors.Is(err, replicate.ErrDisconnected) {
		t.Errorf("broadcast after the end: %v", err)
	}
	if refused.Load() == 0 {
		t.Error("nothing was refused: the window did not bound")
	}
}

func TestBus_RunsOnce(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	if err := n.bus.Run(t.Context(), n); err == nil {
		t.Error("a second Run beside the first was accepted")
	}
}
