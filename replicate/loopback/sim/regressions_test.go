package sim_test

// ciSeeds is what a plain test run does.
const ciSeeds = 500

// regressions are the seeds that once showed a fault; they run first.
func regressions() []uint64 { return nil }
