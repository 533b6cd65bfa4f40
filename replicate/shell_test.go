package replicate_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
	"driftless.dev/wire"
)

// fakeBus is a transport that is up at once and whose calls a test may answer.
// Unanswered, a publish is acked before it returns, and nobody answers requests.
type fakeBus struct {
	publish func(done func(error))
	request func(ctx context.Context, to resource.ID, verb string) ([]byte, error)
	run     func(ctx context.Context) error

	mu        sync.Mutex
	published int
	beats     int
}

func (b *fakeBus) Run(ctx context.Context, h replicate.Handler) error {
	h.Transport(replicate.Transport{Connected: true, Stream: true})
	if b.run != nil {
		return b.run(ctx)
	}
	<-ctx.Done()
	return nil
}

func (b *fakeBus) Publish(_ string, _ resource.ID, _ []byte, done func(error)) {
	b.mu.Lock()
	b.published++
	b.mu.Unlock()
	if b.publish != nil {
		b.publish(done)
		return
	}
	done(nil)
}

func (b *fakeBus) Broadcast(resource.ID, []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.beats++
	return nil
}

func (b *fakeBus) Request(ctx context.Context, to resource.ID, verb string, _ []byte) ([]byte, error) {
	if b.request != nil {
		return b.request(ctx, to, verb)
	}
	return nil, replicate.ErrUnreachable
}

func (b *fakeBus) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.published
}

// bubbleClock is the bubble's time.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Mono() time.Duration                    { return time.Since(c.start) }
func (c bubbleClock) Wall() time.Time                        { return epoch().Add(c.Mono()) }
func (c bubbleClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// shell is a replicator that runs in a bubble.
type shell struct {
	*replicate.Replicator
	t      *testing.T
	store  *store.Store
	engine *memory.Engine
	fleet  wire.Fleet
	stop   context.CancelFunc
	result chan error
}

// inShell runs a test in a bubble with a replicator over the bus that makeBus
// makes there. The bubble ends only when all its goroutines have.
func inShell(t *testing.T, makeBus func() *fakeBus, test func(*testing.T, *shell)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		bus := makeBus()
		s := &shell{t: t, engine: memory.NewEngine(), result: make(chan error, 1)}
		clock := bubbleClock{time.Now()}
		var err error
		if s.fleet, err = wire.NewFleet("test", nil); err != nil {
			t.Fatal(err)
		}
		s.store, err = store.Open(s.engine, store.Config{Wall: clock.Wall, Secret: s.fleet.Key, Random: rand.NewChaCha8([32]byte{200})})
		if err != nil {
			t.Fatal(err)
		}
		s.Replicator, err = replicate.New(s.store, bus, clock, replicate.Config{Fleet: s.fleet, Name: "shell", Boot: 1}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		go func() { s.result <- s.Run(ctx) }()
		synctest.Wait()
		test(t, s)
		stop()
		synctest.Wait()
	})
}

// write makes one local write and returns its sequence.
func (s *shell) write() uint64 {
	s.t.Helper()
	r, err := resource.KindResource(resource.Kind{APIVersion: "probe.example.dev/v1", Name: "Probe"}, resource.Scope{})
	if err != nil {
		s.t.Fatal(err)
	}
	w, err := s.store.Write(context.Background(), store.Write{Op: store.OpPut, Resource: r})
	if err != nil {
		s.t.Fatal(err)
	}
	return w.Seq
}

// peer is another member with one event, its heartbeat heard.
func (s *shell) peer(name string) (*rig, replicate.Message) {
	s.t.Helper()
	b := newRig(s.t, name, new(time.Duration))
	b.registerKind()
	s.Heartbeat(b.store.Identity().Incarnation, b.heartbeat())
	return b, b.message(1, b.events(0)...)
}

func (s *shell) deliver(ctx context.Context, m replicate.Message) error {
	return s.Message(ctx, m.At, m.Realm, m.Origin, m.Data)
}

// quiet makes a bus that does nothing special.
func quiet() *fakeBus { return &fakeBus{} }
