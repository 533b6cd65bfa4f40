package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
)

// watch looks at the stream behind the consumer's back. A consumer can fall
// silent on a healthy connection, for more reasons than its client knows. An
// error ends the tail, which is then made again from the handler's place.
func (t *tail) watch(ctx context.Context) error {
	ticker := time.NewTicker(t.bus.cfg.Tuning.Watch)
	defer ticker.Stop()
	var progress stall
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := t.inspect(ctx, &progress); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// stall is what the watch remembers between two looks.
type stall struct {
	received uint64 // messages received at the last look
	settled  uint64 // the consumer has nothing for us up to this stream sequence
	looks    int    // in a row, with something waiting and nothing received
}

func (t *tail) inspect(ctx context.Context, last *stall) error {
	ctx, cancel := context.WithTimeout(ctx, t.bus.cfg.Tuning.API)
	defer cancel()
	at := t.at.Load() // before the look, or a message in between reads as a rollback
	info, err := t.stream.Info(ctx)
	switch {
	case errors.Is(err, js.ErrStreamNotFound):
		return errGone
	case err != nil:
		return fmt.Errorf("look at stream: %w", err)
	case info.Created.UnixNano() != t.created:
		return errRecreated
	case info.State.LastSeq < at:
		return errRollback
	}
	received := t.received.Load()
	waiting := info.State.LastSeq > max(at, last.settled)
	if !waiting || t.busy.Load() || received != last.received {
		last.received, last.looks = received, 0
		return nil
	}
	// The end of the stream may have been deleted: ask the consumer what it has.
	behind, err := t.behind(ctx, received)
	if err != nil {
		return err
	}
	if !behind {
		last.settled, last.looks = info.State.LastSeq, 0
		return nil
	}
	// One look may fall between a message's storing and its arrival.
	if last.looks++; last.looks < 2 {
		return nil
	}
	return errStalled
}

// behind reports whether the consumer has messages that have not reached us,
// sent or not.
func (t *tail) behind(ctx context.Context, received uint64) (bool, error) {
	info, err := t.consumer.Info(ctx)
	switch {
	case errors.Is(err, js.ErrConsumerNotFound):
		return false, errGone
	case err != nil:
		return false, fmt.Errorf("look at consumer: %w", err)
	}
	return info.NumPending > 0 || info.Delivered.Consumer > received, nil
}

// diagnose tells a consumer that is gone, which means that its server was
// restarted or the stream deleted, from one that is only out of reach.
func (t *tail) diagnose(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, t.bus.cfg.Tuning.API)
	defer cancel()
	if _, err := t.consumer.Info(ctx); errors.Is(err, js.ErrConsumerNotFound) || errors.Is(err, js.ErrStreamNotFound) {
		return fmt.Errorf("%w: %w", errGone, cause)
	}
	return fmt.Errorf("read consumer: %w", cause)
}
