package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"driftless.dev/replicate"
	"driftless.dev/replicate/jetstream"
	"driftless.dev/resource"
)

// patience bounds every wait for a condition.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// id makes a readable instance or incarnation id.
func id(n byte) resource.ID { return resource.ID{0: 1, 15: n} }

// quick is a tuning whose waits suit a test.
func quick() jetstream.Tuning {
	return jetstream.Tuning{
		PingInterval: 100 * time.Millisecond, Dial: time.Second, API: 2 * time.Second, Ack: 2 * time.Second,
		Watch: 50 * time.Millisecond, BackoffMin: 5 * time.Millisecond, BackoffMax: 40 * time.Millisecond,
	}
}

func startServer(t *testing.T, edit func(*jetstream.ServerConfig)) *jetstream.Server {
	t.Helper()
	cfg := jetstream.ServerConfig{Name: "test", Port: -1, JetStream: true}
	if edit != nil {
		edit(&cfg)
	}
	if cfg.JetStream && cfg.StoreDir == "" {
		cfg.StoreDir = t.TempDir()
	}
	s, err := jetstream.StartServer(cfg)
	if err != nil {
		t.Fatalf("start server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// delivery is one call of Handler.Message.
type delivery struct {
	at     replicate.Cursor
	realm  string
	origin resource.ID
	data   string
}

// node is a Bus with a handler that keeps everything it is told.
type node struct {
	t   *testing.T
	bus *jetstream.Bus
	id  resource.ID

	stop func()

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each change
	cursor     replicate.Cursor
	messages   []delivery
	heartbeats []string
	transports []replicate.Transport
	onMessage  func(delivery) error
	onServe    func(ctx context.Context, verb string, data []byte) ([]byte, error)
}

func (n *node) note(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *node) Message(_ context.Context, at replicate.Cursor, realm string, origin resource.ID, data []byte) error {
	d := delivery{at: at, realm: realm, origin: origin, data: string(data)}
	n.mu.Lock()
	hook := n.onMessage
	n.mu.Unlock()
	if hook != nil {
		if err := hook(d); err != nil {
			return err
		}
	}
	n.note(func() { n.cursor = at; n.messages = append(n.messages, d) })
	return nil
}

func (n *node) Heartbeat(origin resource.ID, data []byte) {
	n.note(func() { n.heartbeats = append(n.heartbeats, origin.String()+" "+string(data)) })
}

func (n *node) Serve(ctx context.Context, verb string, data []byte) ([]byte, error) {
	n.mu.Lock()
	hook := n.onServe
	n.mu.Unlock()
	if hook == nil {
		return nil, errors.New("unknown verb " + verb)
	}
	return hook(ctx, verb, data)
}

func (n *node) Resume() replicate.Cursor {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cursor
}

func (n *node) Transport(tr replicate.Transport) {
	n.note(func() { n.transports = append(n.transports, tr) })
}

// until waits for a condition on the node's state, which it may read freely.
func (n *node) until(what string, cond func() bool) {
	n.t.Helper()
	deadline := time.After(patience)
	for {
		n.mu.Lock()
		ok, changed := cond(), n.changed
		n.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			n.mu.Lock()
			defer n.mu.Unlock()
			n.t.Fatalf("waited in vain for %s: %d messages, cursor %+v, transports %+v, stats %+v",
				what, len(n.messages), n.cursor, n.transports, n.bus.Stats())
		}
	}
}

// last is the transport's state; for until.
func (n *node) last() replicate.Transport {
	if len(n.transports) == 0 {
		return replicate.Transport{}
	}
	return n.transports[len(n.transports)-1]
}

func (n *node) untilStream() {
	n.t.Helper()
	n.until("the stream", func() bool { return n.last().Stream })
}

func (n *node) untilReason(part string) {
	n.t.Helper()
	n.until("reason "+part, func() bool { return strings.Contains(n.last().Reason, part) })
}

// freshSince counts the reports of Fresh from the i-th report on; for until.
func (n *node) freshSince(i int) (count int) {
	for _, tr := range n.transports[i:] {
		if tr.Fresh {
			count++
		}
	}
	return count
}

func (n *node) heard() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.heartbeats)
}

func (n *node) reports() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.transports)
}

// eventually asks again and again, for what no handler call tells.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// payloads are the data delivered so far; for until.
func (n *node) payloads() []string {
	out := make([]string, len(n.messages))
	for i, m := range n.messages {
		out[i] = m.data
	}
	return out
}

func (n *node) untilPayloads(want []string) {
	n.t.Helper()
	n.until(fmt.Sprintf("%d messages in order", len(want)), func() bool { return slices.Equal(n.payloads(), want) })
}

// publish sends one message and waits for its done.
func (n *node) publish(realm, data string) error {
	done := make(chan error, 2)
	n.bus.Publish(realm, n.id, []byte(data), func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		n.t.Fatal("done was not called")
		return nil
	}
}

// mustPublish publishes, one after the other.
func (n *node) mustPublish(realm string, data ...string) {
	n.t.Helper()
	for _, d := range data {
		if err := n.publish(realm, d); err != nil {
			n.t.Fatalf("publish %q: %v", d, err)
		}
	}
}

// setup edits what startNode starts: the node before it runs, and its config.
type setup func(*node, *jetstream.Config)

// startNode runs a Bus against url until the test or n.stop ends it.
func startNode(t *testing.T, k byte, url string, edits ...setup) *node {
	t.Helper()
	n := &node{t: t, id: id(k), changed: make(chan struct{})}
	cfg := jetstream.Config{Fleet: "default", Instance: id(k), Name: fmt.Sprintf("node-%d", k), Tuning: quick()}
	if url != "" {
		cfg.URLs = []string{url}
	}
	for _, edit := range edits {
		edit(n, &cfg)
	}
	bus, err := jetstream.New(cfg)
	if err != nil {
		t.Fatalf("new bus: %v", err)
	}
	n.bus = bus
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- bus.Run(ctx, n) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("run: %v", err)
			}
		case <-time.After(patience):
			t.Error("run did not end")
		}
	})
	t.Cleanup(n.stop)
	return n
}

func withCursor(c replicate.Cursor) setup {
	return func(n *node, _ *jetstream.Config) { n.cursor = c }
}

func onMessage(f func(delivery) error) setup {
	return func(n *node, _ *jetstream.Config) { n.onMessage = f }
}

func onServe(f func(context.Context, string, []byte) ([]byte, error)) setup {
	return func(n *node, _ *jetstream.Config) { n.onServe = f }
}

// admin is a second client, which does to the stream what operators do.
func admin(t *testing.T, url string, opts ...nats.Option) js.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatalf("connect admin: %v", err)
	}
	t.Cleanup(nc.Close)
	stream, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// numbered makes payloads from..to-1.
func numbered(prefix string, from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("%s-%03d", prefix, i))
	}
	return out
}
