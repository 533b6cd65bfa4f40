package replicate

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// Clock is the shell's time: Wall for stamps and people, Mono for durations,
// After to wait.
type Clock interface {
	Wall() time.Time
	Mono() time.Duration
	After(time.Duration) <-chan time.Time
}

// Replicator is the production shell around the core: it owns the goroutines,
// does what the core asks for and tells it what came of it.
type Replicator struct {
	store *store.Store
	bus   Bus
	clock Clock
	log   *slog.Logger
	resp  *Responder

	mu      sync.Mutex
	core    *Core
	changed chan struct{} // closed and replaced by every step that made progress

	// reference is the fleet's idea of the time as of a moment, for the guard,
	// which every local write asks inside its transaction: it must not wait for
	// a step.
	reference atomic.Pointer[reference]

	applies chan Apply
	reads   chan Effect
	poke    chan struct{}
	group   *errgroup.Group
	ctx     context.Context
	slots   chan struct{} // bounds requests in flight
}

type reference struct {
	at    time.Time
	asOf  time.Duration // on the monotonic clock
	sure  bool
	limit time.Duration
	// cloned: this is the newer of two processes of one identity.
	cloned bool
}

// Bounds of the shell.
const (
	maxRequests    = 64
	requestTimeout = 5 * time.Second
	// maxBacklog is how many bytes of messages may wait before the stream is
	// held back.
	maxBacklog = 16 << 20
)

// New returns a replicator over a store and a bus.
func New(s *store.Store, bus Bus, clock Clock, cfg Config, log *slog.Logger) (*Replicator, error) {
	core, err := LoadCore(s, cfg)
	if err != nil {
		return nil, err
	}
	r := &Replicator{
		store: s, bus: bus, clock: clock, log: log, core: core, changed: make(chan struct{}),
		applies: make(chan Apply, 4), reads: make(chan Effect, 8), poke: make(chan struct{}, 1), slots: make(chan struct{}, maxRequests),
	}
	r.resp = NewResponder(cfg.Fleet, s, r.locked, r.now, r.step)
	return r, nil
}

// Run replicates until ctx ends, or until something fails that waiting does
// not cure.
func (r *Replicator) Run(ctx context.Context) error {
	g, inner := errgroup.WithContext(ctx)
	r.group, r.ctx = g, inner
	for _, loop := range []func(context.Context) error{r.ticks, r.watchLog, r.applyLoop, r.readLoop} {
		g.Go(func() error { return loop(inner) })
	}
	g.Go(func() error { return r.bus.Run(inner, r) })
	err := g.Wait()
	if ctx.Err() != nil && r.store.Err() == nil {
		return nil // it was asked to end, and that is what its parts say
	}
	return err
}

func (r *Replicator) now() Now {
	return Now{Wall: r.clock.Wall(), Mono: r.clock.Mono(), State: r.store.State, Summary: r.store.Summary}
}

// step gives the core an input and does what it asks for.
func (r *Replicator) step(in Input) {
	r.mu.Lock()
	before := r.core.progress
	effects := r.core.Step(r.now(), in)
	switch in.(type) {
	case Tick, Heard:
		r.refer()
	}
	if r.core.progress != before {
		close(r.changed)
		r.changed = make(chan struct{})
	}
	r.mu.Unlock()
	for _, e := range effects {
		r.do(e)
	}
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

func (r *Replicator) do(e Effect) {
	switch e := e.(type) {
	case Publish:
		r.bus.Publish(e.Realm, e.Origin, e.Data, func(err error) { r.step(Published{ID: e.ID, Err: err}) })
	case Broadcast:
		if err := r.bus.Broadcast(r.store.Identity().Incarnation, e.Data); err != nil {
			r.log.Debug("heartbeat not sent", "err", err)
		}
	case Request:
		r.request(e)
	case Stage:
		r.store.Stage(e.Name, e.Data)
	case Answered:
		if e.Confirmed {
			r.store.Confirm()
		} else {
			r.store.Unanswered()
		}
	case Apply:
		select {
		case r.applies <- e:
		case <-r.ctx.Done():
		}
	default:
		select {
		case r.reads <- e:
		case <-r.ctx.Done():
		}
	}
}

// request asks a member from a goroutine of its own, within a bound.
func (r *Replicator) request(e Request) {
	select {
	case r.slots <- struct{}{}:
	default:
		if e.ID != 0 {
			r.group.Go(func() error {
				r.step(Replied{ID: e.ID, Err: fmt.Errorf("%w: too many requests under way", ErrUnreachable)})
				return nil
			})
		}
		return
	}
	r.group.Go(func() error {
		defer func() { <-r.slots }()
		ctx, cancel := context.WithTimeout(r.ctx, requestTimeout)
		defer cancel()
		data, err := r.bus.Request(ctx, e.To, e.Verb, e.Data)
		if e.ID != 0 {
			r.step(Replied{ID: e.ID, Data: data, Err: err})
		}
		return nil
	})
}

func (r *Replicator) ticks(ctx context.Context) error {
	for {
		r.mu.Lock()
		wait := r.core.Wake() - r.clock.Mono()
		r.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.poke:
			continue
		case <-r.clock.After(max(wait, time.Millisecond)):
			r.step(Tick{})
		}
	}
}

// watchLog tells the core of every growth of the log.
func (r *Replicator) watchLog(ctx context.Context) error {
	for {
		changed, head := r.store.Changed()
		if err := r.store.Err(); err != nil {
			return err
		}
		r.step(Appended{Seq: head.Seq, Identity: r.store.Identity()})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (r *Replicator) applyLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-r.applies:
			out, err := r.store.Apply(ctx, e.Batch)
			if err == nil && len(e.Refused) > 0 {
				err = r.store.Quarantine(e.Refused, e.Reason)
			}
			if err != nil && ctx.Err() == nil {
				r.log.Warn("apply from peers failed", "records", len(e.Batch.Records), "err", err)
			}
			r.step(Applied{ID: e.ID, Result: out, Err: err})
			if failed := r.store.Err(); failed != nil {
				return failed
			}
		}
	}
}

func (r *Replicator) readLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-r.reads:
			switch e := e.(type) {
			case ReadOutbox:
				events, last, err := r.store.Outbox(e.After, e.Limit)
				r.step(OutboxRead{Events: events, Last: last, Err: err})
			case ReadRecords:
				frames, done, err := r.store.RecordsAt(e.Realm, e.Places, pushBytes)
				r.step(RecordsRead{ID: e.ID, Frames: frames, Done: done, Err: err})
			case Vouch:
				v, err := r.store.Vouch(e.Position)
				r.step(Vouched{ID: e.ID, Vouching: v, Err: err})
			case Joined:
				if err := r.store.DisallowRejoin(); err != nil {
					r.log.Warn("membership not noted", "err", err)
				}
			case Reincarnate:
				was := r.store.Identity().Incarnation
				err := r.store.Reincarnate(ctx, e.How)
				r.log.Warn("own past was not the fleet's: new incarnation", "was", was, "is", r.store.Identity().Incarnation, "reissued", e.How.Fork, "err", err)
				r.step(Reincarnated{ID: e.ID, Identity: r.store.Identity(), Err: err})
			}
		}
	}
}

// The Handler's side: what the bus delivers.

var _ Handler = (*Replicator)(nil)

// Message queues a stream message and holds the stream back while too much
// waits for the disk.
func (r *Replicator) Message(ctx context.Context, at Cursor, realm string, origin resource.ID, data []byte) error {
	for {
		r.mu.Lock()
		full, changed := r.core.Backlog() >= maxBacklog, r.changed
		r.mu.Unlock()
		if !full {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
	r.step(Message{At: at, Realm: realm, Origin: origin, Data: data})
	return nil
}

// Heartbeat takes in another member's heartbeat.
func (r *Replicator) Heartbeat(_ resource.ID, data []byte) { r.step(Heard{Data: data}) }

// Serve answers another member's request.
func (r *Replicator) Serve(ctx context.Context, verb string, data []byte) ([]byte, error) {
	return r.resp.Serve(ctx, verb, data)
}

// Resume tells where the stream was left.
func (r *Replicator) Resume() Cursor {
	c, err := LoadCursor(r.store)
	if err == nil {
		return c
	}
	r.log.Warn("stream cursor does not read, starting over", "err", err)
	return Cursor{}
}

// Transport takes in a change of the transport's state.
func (r *Replicator) Transport(t Transport) {
	r.mu.Lock()
	was := r.core.transport
	r.mu.Unlock()
	if was.Connected != t.Connected || was.Stream != t.Stream || was.Reason != t.Reason {
		r.log.Info("transport changed", "connected", t.Connected, "stream", t.Stream, "reason", t.Reason, "url", t.URL)
	}
	r.step(TransportChanged{Transport: t})
}

func (r *Replicator) locked(fn func(*Core)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn(r.core)
}

// Guard refuses local writes while the stamp that would be issued lies too far
// ahead of the fleet's reference.
func (r *Replicator) Guard(ts hlc.Timestamp) error {
	ref := r.reference.Load()
	if ref == nil {
		return nil // nobody was heard yet
	}
	if ref.cloned {
		return errCloned()
	}
	return guard(ref.at.Add(r.clock.Mono()-ref.asOf), ref.sure, ref.limit, r.clock.Wall(), ts)
}

// refer keeps the reference for the guard; r.mu is held.
func (r *Replicator) refer() {
	at, sure := r.core.reference()
	r.reference.Store(&reference{at: at, asOf: r.core.now.Mono, sure: sure, limit: r.core.cfg.MaxClockOffset, cloned: r.core.past.cloned})
}
