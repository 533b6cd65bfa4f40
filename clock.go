package driftless

import (
	"time"

	"driftless.dev/replicate"
)

// Clock is a node's time. Wall may step; Mono never steps back.
type Clock = replicate.Clock

// SystemClock returns the machine's clock, the only one in the project that
// is not injected.
func SystemClock() Clock { return systemClock{start: time.Now()} }

type systemClock struct{ start time.Time }

func (systemClock) Wall() time.Time { return time.Now() }

func (c systemClock) Mono() time.Duration { return time.Since(c.start) }

func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
