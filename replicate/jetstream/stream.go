package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"driftless.dev/replicate"
)

// errIncompatible says that a stream of our name cannot carry our events.
var errIncompatible = errors.New("stream not usable")

// openStream returns the fleet's stream, made if it was missing. Nodes race for
// that, and people tune streams by hand, so a stream that exists is taken as it is:
// only what this node's configuration states is changed.
func (s *session) openStream(ctx context.Context) (js.Stream, error) {
	name := s.bus.subjects.Stream()
	stream, err := s.js.Stream(ctx, name)
	if errors.Is(err, js.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, s.bus.newStream())
		if errors.Is(err, js.ErrStreamNameAlreadyInUse) {
			stream, err = s.js.Stream(ctx, name) // another node was first, with other settings
		}
	}
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("JetStream is not enabled, or not in this account or domain: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	if err := s.bus.usable(config); err != nil {
		return nil, err
	}
	if !s.bus.adjust(&config) {
		return stream, nil
	}
	changed, err := s.js.UpdateStream(ctx, config)
	if err != nil {
		// It carries events all the same.
		s.bus.log.Warn("stream keeps its old settings", slog.String("stream", name), slog.Any("err", err))
		return stream, nil
	}
	return changed, nil
}

// newStream is the stream as this node would make it.
func (b *Bus) newStream() js.StreamConfig {
	c := js.StreamConfig{
		Name:        b.subjects.Stream(),
		Description: "events of the driftless fleet " + b.cfg.Fleet,
		Subjects:    []string{b.subjects.EventsFilter()},
		// Interest and work queues drop what no consumer waits for; a node that
		// is away has none.
		Retention: js.LimitsPolicy, Discard: js.DiscardOld, Storage: js.FileStorage,
		MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		MaxConsumers: -1, // or the server's default, 1000, bounds the fleet
		MaxAge:       defaultMaxAge, MaxBytes: defaultMaxBytes, Replicas: defaultReplicas,
		Duplicates: 100 * time.Millisecond, // the least; no message ids are used
		// A direct get may be answered by a replica that lags; our cursor's
		// message would seem lost, and the whole stream be read again.
		AllowDirect: false,
	}
	b.adjust(&c)
	return c
}

// adjust sets what the configuration states, and reports whether that changed
// anything.
func (b *Bus) adjust(c *js.StreamConfig) bool {
	before := [...]int64{int64(c.MaxAge), c.MaxBytes, int64(c.Replicas)}
	if b.cfg.MaxAge > 0 {
		c.MaxAge = b.cfg.MaxAge
	}
	if b.cfg.MaxBytes > 0 {
		c.MaxBytes = b.cfg.MaxBytes
	}
	if b.cfg.Replicas > 0 {
		c.Replicas = b.cfg.Replicas
	}
	return before != [...]int64{int64(c.MaxAge), c.MaxBytes, int64(c.Replicas)}
}

// usable tells, as errIncompatible, why a stream cannot carry our events.
func (b *Bus) usable(c js.StreamConfig) error {
	fault := ""
	switch {
	case c.Retention != js.LimitsPolicy:
		fault = fmt.Sprintf("its retention is %s, want limits", c.Retention)
	case !slices.Contains(c.Subjects, b.subjects.EventsFilter()):
		fault = fmt.Sprintf("its subjects are %q, want %q among them", c.Subjects, b.subjects.EventsFilter())
	case c.Mirror != nil:
		fault = "it mirrors another stream"
	case c.Sealed:
		fault = "it is sealed"
	case c.NoAck:
		fault = "it does not acknowledge"
	case c.MaxMsgSize > 0 && c.MaxMsgSize < replicate.MaxFrame+1024:
		fault = fmt.Sprintf("its messages are at most %d bytes, want %d and headers", c.MaxMsgSize, replicate.MaxFrame)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s: %s; delete it, or choose another fleet name", errIncompatible, c.Name, fault)
}

// streamReason puts into words why the stream is not usable. A call that was
// denied only times out; the refusal came beside it.
func (s *session) streamReason(err error, since time.Time) string {
	if d := s.bus.denied.Load(); d != nil && !d.at.Before(since) {
		err = fmt.Errorf("%w (%w)", err, d.err)
	}
	return "jetstream: " + err.Error()
}
