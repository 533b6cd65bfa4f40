package sim_test

// ciSeeds is what a plain test run does; the race detector makes each of them
// some fifteen times as slow.
func ciSeeds() uint64 {
	if raceEnabled {
		return 25
	}
	return 500
}

// regressions are the seeds that once showed a fault; they run first.
func regressions() []uint64 { return []uint64{205, 1245} }
