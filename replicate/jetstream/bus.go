package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

var _ replicate.Bus = (*Bus)(nil)

// errRunning is returned by a second Run beside the first.
var errRunning = errors.New("bus runs already")

// Bus is a replicate.Bus over NATS. Its methods are safe for concurrent use;
// they work while Run does, and say ErrDisconnected or ErrUnreachable else.
type Bus struct {
	cfg      Config
	subjects wire.Subjects
	log      *slog.Logger
	stats    counters
	// consumer names this Bus's consumer, so that each one it makes replaces
	// the last: a flapping link leaves one behind, not hundreds.
	consumer string

	running atomic.Bool
	// session is the connection in use; nil while there is none.
	session atomic.Pointer[session]
	// denied is the newest refusal of a permission, which no call returns.
	denied atomic.Pointer[denial]

	// What is known across connections. It belongs to Run and to the goroutine
	// of the session's that follows the stream, never both at once.
	discovered []target
	servers    map[string]string // server name → id, which changes at a restart
	created    int64             // the stream last opened
	restarted  bool              // a server was restarted since the last report
}

// denial is a permission refused at a time.
type denial struct {
	at  time.Time
	err error
}

// New returns a Bus that Run connects. Errors wrap ErrConfig.
func New(cfg Config) (*Bus, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	subjects, err := wire.NewSubjects(cfg.Fleet)
	if err != nil {
		return nil, err // complete has checked the name
	}
	return &Bus{
		cfg: cfg, subjects: subjects,
		log:      cfg.Logger.With(slog.String("part", "transport")),
		consumer: cfg.Instance.String() + "_" + nuid.Next(),
		servers:  make(map[string]string),
	}, nil
}

// Run implements replicate.Bus. It returns an error only when it runs already.
// Once it has returned, the handler is not called any more.
func (b *Bus) Run(ctx context.Context, h replicate.Handler) error {
	if !b.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer b.running.Store(false)
	report := &reporter{handler: h, log: b.log}
	wait := b.newBackoff()
	for {
		lived := b.round(ctx, h, report)
		if lived > b.cfg.Tuning.BackoffMax {
			wait.Reset()
		}
		if !pause(ctx, wait.NextBackOff()) {
			return nil
		}
	}
}

// round tries each server once, until one takes the connection and has lost it
// again, and tells how long it lasted.
func (b *Bus) round(ctx context.Context, h replicate.Handler, report *reporter) time.Duration {
	for _, t := range b.targets() {
		nc, closed, err := b.dial(ctx, t)
		if ctx.Err() != nil || err != nil {
			if nc != nil {
				nc.Close()
			}
			if ctx.Err() != nil {
				return 0
			}
			report.disconnected(t, err)
			continue
		}
		b.stats.connects.Add(1)
		b.recognise(nc)
		began, tlsName := time.Now(), certificateName(nc, t)
		err = b.serve(ctx, nc, closed, t, h, report)
		b.discover(nc, t, tlsName)
		if ctx.Err() == nil {
			report.disconnected(t, err)
		}
		return time.Since(began)
	}
	return 0
}

// recognise compares the server with the one of that name seen before: another
// id is another process, and what the former one acknowledged may be gone.
func (b *Bus) recognise(nc *nats.Conn) {
	name, id := nc.ConnectedServerName(), nc.ConnectedServerId()
	before, known := b.servers[name]
	// A server without a configured name is called by its id.
	b.restarted = b.restarted || known && before != id || !known && name == id && len(b.servers) > 0
	b.servers[name] = id
}

// Publish implements replicate.Bus. It never waits, neither for the network nor
// for room: with Tuning.Window messages in flight it refuses, so the caller keeps
// its own window at or below that. done may be called before Publish returns, and
// must not block. Any error means "unknown": the message may be on the stream.
func (b *Bus) Publish(realm string, origin resource.ID, data []byte, done func(error)) {
	s := b.session.Load()
	switch {
	case b.cfg.Streamless:
		done(fmt.Errorf("publish: %w: the stream is switched off", replicate.ErrDisconnected))
	case s == nil:
		done(fmt.Errorf("publish: %w", replicate.ErrDisconnected))
	default:
		s.publisher.submit(&nats.Msg{Subject: b.subjects.Event(realm, origin), Data: data}, done)
	}
}

// Broadcast implements replicate.Bus. It never waits: a heartbeat for which the
// connection has no room is dropped, with ErrDisconnected.
func (b *Bus) Broadcast(origin resource.ID, data []byte) error {
	s := b.session.Load()
	if s == nil {
		return fmt.Errorf("send heartbeat: %w", replicate.ErrDisconnected)
	}
	select {
	case s.outgoing <- &nats.Msg{Subject: b.subjects.Heartbeat(origin), Data: data}:
		return nil
	default:
		b.stats.dropped.Add(1)
		return fmt.Errorf("send heartbeat: %w: the connection does not keep up", replicate.ErrDisconnected)
	}
}

// Stats counts what the Bus has done since New; all of it only rises.
type Stats struct {
	Connects         uint64 // connections made
	ConsumerRebuilds uint64 // times the consumer was made again on a live connection
	Skipped          uint64 // stream messages passed over: unreadable subject, or refused by the handler
	Dropped          uint64 // heartbeats and requests dropped because they came faster than they were taken
}

type counters struct{ connects, rebuilds, skipped, dropped atomic.Uint64 }

// Stats returns the counters as they stand.
func (b *Bus) Stats() Stats {
	return Stats{
		Connects: b.stats.connects.Load(), ConsumerRebuilds: b.stats.rebuilds.Load(),
		Skipped: b.stats.skipped.Load(), Dropped: b.stats.dropped.Load(),
	}
}
