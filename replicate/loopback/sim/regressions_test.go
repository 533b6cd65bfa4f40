package sim_test

import "driftless.dev/replicate/loopback/sim"

// ciSeeds is what a plain test run does; the race detector makes each of them
// some fifteen times as slow.
func ciSeeds() uint64 {
	if raceEnabled {
		return 25
	}
	return 500
}

// regressions are the runs that once showed a fault; they come first.
func regressions() []sim.Options {
	return []sim.Options{
		// Vectors at different events of one dot, after a fork, never agreed.
		sim.Draw(205).Without(sim.Clone, sim.Away),
		// A session adopted its vector in a process that was restored meanwhile.
		sim.Draw(1245).Without(sim.Clone, sim.Away),
	}
}
