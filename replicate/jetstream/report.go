package jetstream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"driftless.dev/replicate"
)

// reporter tells the handler and the log of each change of the transport's
// state, once, in the order in which they happened.
type reporter struct {
	handler replicate.Handler
	log     *slog.Logger

	// mu is held while the handler is told, or two reports could cross.
	mu    sync.Mutex
	state replicate.Transport
}

func (r *reporter) disconnected(t target, err error) {
	r.set(replicate.Transport{Reason: reason(t, err), URL: t.shown()})
}

func (r *reporter) connected(t target, why string) {
	r.set(replicate.Transport{Connected: true, Reason: why, URL: t.shown()})
}

func (r *reporter) streamUp(t target, fresh bool) {
	r.set(replicate.Transport{Connected: true, Stream: true, Fresh: fresh, URL: t.shown()})
}

func (r *reporter) set(next replicate.Transport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next == r.state {
		return
	}
	r.state = next
	r.state.Fresh = false // said once
	level := slog.LevelInfo
	if next.Reason != "" && !next.Connected {
		level = slog.LevelWarn
	}
	r.log.Log(context.Background(), level, "transport changed",
		slog.Bool("connected", next.Connected), slog.Bool("stream", next.Stream), slog.Bool("fresh", next.Fresh),
		slog.String("url", next.URL), slog.String("reason", next.Reason))
	r.handler.Transport(next)
}

// newBackoff is the jittered wait between attempts: half to one and a half of
// an interval that doubles, so that a fleet does not come back as one.
func (b *Bus) newBackoff() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: b.cfg.Tuning.BackoffMin, MaxInterval: b.cfg.Tuning.BackoffMax,
		RandomizationFactor: 0.5, Multiplier: 2,
	}
}

// pause waits, and reports whether ctx still runs.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
