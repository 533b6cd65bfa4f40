package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"sync/atomic"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"driftless.dev/replicate"
)

// Why a tail ends, and is made again.
var (
	errAgain     = errors.New("message to be delivered again")
	errGap       = errors.New("message lost on the way")
	errGone      = errors.New("consumer is gone")
	errRecreated = errors.New("stream was recreated")
	errRollback  = errors.New("stream was rolled back")
	errStalled   = errors.New("consumer stalled")
)

const (
	// readAhead bounds the messages that nats.go holds for us, and readBytes
	// what the server puts into one answer.
	readAhead = 64
	readBytes = 32 * replicate.MaxFrame
	// idleConsumer is when the server drops the consumer of a node that is gone.
	idleConsumer = 2 * time.Minute
)

// tail reads one incarnation of the stream, in order and without a gap, from one
// place until something is wrong with it.
type tail struct {
	*session
	stream   js.Stream
	consumer js.Consumer
	created  int64

	received  atomic.Uint64 // consumer sequence: one per message received
	at        atomic.Uint64 // stream sequence of the last message dealt with
	delivered atomic.Uint64 // messages that the handler took
	busy      atomic.Bool   // the handler is at work
}

// follow keeps a tail on the stream until ctx ends. Nothing that goes wrong with
// the stream ends the session: heartbeats and requests go on.
func (s *session) follow(ctx context.Context) error {
	wait := s.bus.newBackoff()
	for {
		began := time.Now()
		t, fresh, err := s.openTail(ctx)
		if err == nil {
			s.report.streamUp(s.target, fresh)
			err = t.run(ctx)
			s.bus.restarted = s.bus.restarted || errors.Is(err, errGone)
			if t.delivered.Load() > 0 || time.Since(began) > s.bus.cfg.Tuning.BackoffMax {
				wait.Reset()
			}
		} else if ctx.Err() == nil {
			s.report.connected(s.target, s.streamReason(err, began))
		}
		if !pause(ctx, wait.NextBackOff()) {
			return nil
		}
		s.bus.stats.rebuilds.Add(1)
		s.bus.log.Debug("stream to be opened again", slog.Any("err", err))
	}
}

// openTail finds the handler's place in the stream and puts a consumer there.
// fresh reports what Transport.Fresh does.
func (s *session) openTail(ctx context.Context) (t *tail, fresh bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*s.bus.cfg.Tuning.API)
	defer cancel()
	stream, err := s.openStream(ctx)
	if err != nil {
		return nil, false, err
	}
	t = &tail{session: s, stream: stream, created: stream.CachedInfo().Created.UnixNano()}
	cursor := s.handler.Resume()
	start, rolledBack, err := place(ctx, stream, cursor)
	if err != nil {
		return nil, false, err
	}
	if t.consumer, err = s.newConsumer(ctx, stream, start); err != nil {
		return nil, false, err
	}
	t.at.Store(start - 1)
	// The stream may have been replaced between the look and the consumer. From
	// here on it cannot be: a consumer goes with its stream.
	info, err := stream.Info(ctx)
	if err == nil && info.Created.UnixNano() != t.created {
		err = errRecreated
	}
	if err != nil {
		return nil, false, fmt.Errorf("open stream: %w", err)
	}
	if s.bus.created == 0 {
		s.bus.created = cursor.Created
	}
	fresh = rolledBack || s.bus.restarted || s.bus.created != t.created
	s.bus.restarted, s.bus.created = false, t.created
	return t, fresh, nil
}

// newConsumer makes this node's consumer, which replaces the one it had.
// Acknowledgements would cost traffic for a cursor that we keep better ourselves.
func (s *session) newConsumer(ctx context.Context, stream js.Stream, start uint64) (js.Consumer, error) {
	config := js.ConsumerConfig{
		Name: s.bus.consumer, FilterSubject: s.bus.subjects.EventsFilter(),
		DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: start,
		AckPolicy: js.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: idleConsumer,
		Metadata: map[string]string{"driftless.name": s.bus.cfg.Name},
	}
	if err := stream.DeleteConsumer(ctx, config.Name); err != nil && !errors.Is(err, js.ErrConsumerNotFound) {
		return nil, fmt.Errorf("replace consumer: %w", err)
	}
	consumer, err := stream.CreateConsumer(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("create consumer: %w", err)
	}
	return consumer, nil
}

// run delivers, watched, until something is wrong: the error, never nil unless
// ctx ended.
func (t *tail) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.deliver(ctx) })
	g.Go(func() error { return t.watch(ctx) })
	return g.Wait()
}

func (t *tail) deliver(ctx context.Context) error {
	messages, err := t.consumer.Messages(
		js.PullMaxMessagesWithBytesLimit(readAhead, readBytes),
		js.PullExpiry(30*time.Second), js.PullHeartbeat(5*time.Second),
		js.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return fmt.Errorf("read consumer: %w", err)
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(js.NextContext(ctx))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return t.diagnose(ctx, err)
		}
		if err := t.hand(ctx, msg); err != nil {
			return err
		}
	}
}

// hand gives one message to the handler. An error ends the tail, and the message
// is read again from the handler's place: its bytes were the handler's.
func (t *tail) hand(ctx context.Context, msg js.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	if meta.Sequence.Consumer != t.received.Add(1) {
		return errGap
	}
	t.busy.Store(true)
	defer t.busy.Store(false)
	defer t.at.Store(meta.Sequence.Stream)
	realm, origin, err := t.bus.subjects.ParseEvent(msg.Subject())
	if err != nil {
		t.skip(meta.Sequence.Stream, err)
		return nil
	}
	at := replicate.Cursor{Created: t.created, Seq: meta.Sequence.Stream, Check: check(msg.Data())}
	err = t.handler.Message(ctx, at, realm, origin, msg.Data())
	switch {
	case err == nil:
		t.delivered.Add(1)
	case errors.Is(err, replicate.ErrDisconnected), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", errAgain, err)
	default:
		t.skip(at.Seq, err)
	}
	return nil
}

// skip passes a message over for good. A hostile stream may hold any number of
// them, so the log hears of the 1st, 2nd, 4th, 8th and so on.
func (t *tail) skip(seq uint64, err error) {
	if n := t.bus.stats.skipped.Add(1); bits.OnesCount64(n) == 1 {
		t.bus.log.Warn("stream message skipped", slog.Uint64("seq", seq), slog.Uint64("skipped", n), slog.Any("err", err))
	}
}
