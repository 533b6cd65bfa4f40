//go:build chaos

package main

import (
	"os"
	"strings"
	"time"

	"driftless.dev"
)

// clockFileEnv names a file with what the wall clock is off by, such as "1h"
// or "-90s". It is read at every look at the clock. Only a build for chaos
// tests has this.
const clockFileEnv = "CHAOS_CLOCK_FILE"

// nodeClock is the machine's clock, off by what the file says.
func nodeClock() driftless.Clock {
	return offsetClock{Clock: driftless.SystemClock(), file: os.Getenv(clockFileEnv)}
}

type offsetClock struct {
	driftless.Clock
	file string
}

// Wall is the machine's time and the offset. A file that cannot be read is a
// test gone wrong: better no node than one that shows nothing.
func (c offsetClock) Wall() time.Time {
	text, err := os.ReadFile(c.file)
	if err != nil {
		panic("read " + clockFileEnv + ": " + err.Error())
	}
	offset, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		panic("read " + clockFileEnv + ": " + err.Error())
	}
	return c.Clock.Wall().Add(offset)
}
