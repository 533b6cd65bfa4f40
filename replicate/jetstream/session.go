package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/sync/errgroup"

	"driftless.dev/replicate"
)

const (
	// heartbeatQueue bounds the heartbeats that wait, each way. Losing one is
	// what heartbeats are made for.
	heartbeatQueue = 256
	// callQueue bounds the requests that wait for a worker; MaxFrame each.
	callQueue = 32
)

// errLost ends a session whose connection has ended.
var errLost = errors.New("connection lost")

// session is the life of one connection, from greeting to loss. Nothing of it
// is used again afterwards.
type session struct {
	bus     *Bus
	nc      *nats.Conn
	js      js.JetStream
	target  target
	handler replicate.Handler
	report  *reporter

	publisher *publisher
	incoming  chan *nats.Msg     // heartbeats of others
	outgoing  chan *nats.Msg     // heartbeats of ours
	calls     chan micro.Request // requests to us
}

// serve runs a session until the connection is lost, which is the error, or ctx
// ends. nc is closed when it returns.
func (b *Bus) serve(ctx context.Context, nc *nats.Conn, closed <-chan struct{}, t target, h replicate.Handler, report *reporter) error {
	defer nc.Close()
	s := &session{
		bus: b, nc: nc, target: t, handler: h, report: report,
		publisher: newPublisher(b.subjects.Stream(), b.cfg.Tuning.Window),
		incoming:  make(chan *nats.Msg, heartbeatQueue),
		outgoing:  make(chan *nats.Msg, heartbeatQueue),
		calls:     make(chan micro.Request, callQueue),
	}
	service, err := s.subscribe()
	if err != nil {
		return err
	}
	defer func() { _ = service.Stop() }() // of no use to a connection that is gone
	// Connected means heard: the server knows the subscriptions.
	if err := s.flush(ctx); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	b.session.Store(s)
	defer func() {
		b.session.Store(nil)
		s.publisher.close()
	}()
	why := "stream not open yet"
	if b.cfg.Streamless {
		why = ""
	}
	report.connected(t, why)
	return s.run(ctx, closed)
}

func (s *session) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.bus.cfg.Tuning.Dial)
	defer cancel()
	return s.nc.FlushWithContext(ctx)
}

// subscribe puts up what answers to others: heartbeats, requests, and the
// acknowledgements of the stream.
func (s *session) subscribe() (micro.Service, error) {
	c := s.bus.cfg
	if _, err := s.nc.ChanSubscribe(s.bus.subjects.HeartbeatFilter(), s.incoming); err != nil {
		return nil, fmt.Errorf("subscribe heartbeats: %w", err)
	}
	opts := append(s.publisher.options(c.Tuning.Ack), js.WithDefaultTimeout(c.Tuning.API))
	var err error
	if c.Domain == "" {
		s.js, err = js.New(s.nc, opts...)
	} else {
		s.js, err = js.NewWithDomain(s.nc, c.Domain, opts...)
	}
	if err != nil {
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return s.offer()
}

// run holds the session's goroutines. The first error ends them all.
func (s *session) run(ctx context.Context, closed <-chan struct{}) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-closed:
			return s.whyLost()
		}
	})
	g.Go(func() error { return s.receiveHeartbeats(ctx) })
	g.Go(func() error { return s.sendHeartbeats(ctx) })
	for range s.bus.cfg.Tuning.Workers {
		g.Go(func() error { return s.work(ctx) })
	}
	if !s.bus.cfg.Streamless {
		g.Go(func() error { return s.publisher.run(ctx, s.js) })
		g.Go(func() error { return s.follow(ctx) })
	}
	return g.Wait()
}

func (s *session) whyLost() error {
	if err := s.nc.LastError(); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return errLost
}

func (s *session) receiveHeartbeats(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg, ok := <-s.incoming:
			if !ok {
				return nil
			}
			origin, err := s.bus.subjects.ParseHeartbeat(msg.Subject)
			if err != nil {
				s.bus.log.Debug("heartbeat ignored", slog.Any("err", err))
				continue
			}
			s.handler.Heartbeat(origin, msg.Data)
		}
	}
}

// sendHeartbeats has a goroutine of its own, since a write to a link that
// swallows everything blocks until the link is given up.
func (s *session) sendHeartbeats(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg := <-s.outgoing:
			if err := s.nc.PublishMsg(msg); err != nil {
				s.bus.log.Debug("heartbeat not sent", slog.Any("err", err))
			}
		}
	}
}
