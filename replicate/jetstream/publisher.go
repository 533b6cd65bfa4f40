package jetstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"driftless.dev/replicate"
)

// publisher puts messages on the stream, in order, with a bounded number in
// flight. Each message taken ends in exactly one call of its done: whoever
// removes it from pending makes the call.
//
// No Nats-Msg-Id is set: after a purge or a rollback the stream would
// acknowledge a repeat as a duplicate and not store it.
type publisher struct {
	stream string
	window int
	// queue never blocks a sender: it holds the window, and what is in it is
	// pending.
	queue chan *nats.Msg

	mu      sync.Mutex
	pending map[*nats.Msg]func(error)
	closed  bool
}

func newPublisher(stream string, window int) *publisher {
	return &publisher{
		stream: stream, window: window,
		queue: make(chan *nats.Msg, window), pending: make(map[*nats.Msg]func(error), window),
	}
}

// options make JetStream report to this publisher. nats.go would wait for ever
// for an ack without a timeout. It calls the error handler of a timeout with its
// own lock held, so nothing here may call into it.
func (p *publisher) options(timeout time.Duration) []js.JetStreamOpt {
	return []js.JetStreamOpt{
		js.WithPublishAsyncTimeout(timeout),
		js.WithPublishAsyncMaxPending(p.window),
		js.WithPublishAsyncAckHandler(func(_ js.JetStream, msg *nats.Msg, _ *js.PubAck) { p.settle(msg, nil) }),
		js.WithPublishAsyncErrHandler(func(_ js.JetStream, msg *nats.Msg, err error) {
			p.settle(msg, fmt.Errorf("publish: %w", err))
		}),
	}
}

// submit takes a message, or calls done with an error at once.
func (p *publisher) submit(msg *nats.Msg, done func(error)) {
	if err := p.take(msg, done); err != nil {
		done(err)
	}
}

func (p *publisher) take(msg *nats.Msg, done func(error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("publish: %w", replicate.ErrDisconnected)
	}
	if len(p.pending) >= p.window {
		return fmt.Errorf("publish: %w: %d messages in flight already", replicate.ErrDisconnected, p.window)
	}
	p.pending[msg] = done
	p.queue <- msg
	return nil
}

// run sends what was taken until ctx ends.
func (p *publisher) run(ctx context.Context, stream js.JetStream) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg := <-p.queue:
			// A retry inside nats.go would overtake the messages behind it.
			if _, err := stream.PublishMsgAsync(msg, js.WithExpectStream(p.stream), js.WithRetryAttempts(0)); err != nil {
				p.settle(msg, fmt.Errorf("publish: %w", err))
			}
		}
	}
}

// settle calls the message's done, unless that was done.
func (p *publisher) settle(msg *nats.Msg, err error) {
	p.mu.Lock()
	done, ok := p.pending[msg]
	delete(p.pending, msg)
	p.mu.Unlock()
	if ok {
		done(err)
	}
}

// close takes nothing more, and settles all that is pending. An ack that comes
// later finds nothing to settle.
func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	left := p.pending
	p.pending = nil
	p.mu.Unlock()
	for _, done := range left {
		done(fmt.Errorf("publish: %w", replicate.ErrDisconnected))
	}
}
