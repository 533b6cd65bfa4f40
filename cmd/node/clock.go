//go:build !chaos

package main

import "driftless.dev"

// nodeClock is the machine's clock.
func nodeClock() driftless.Clock { return driftless.SystemClock() }
