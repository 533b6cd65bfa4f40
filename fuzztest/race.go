//go:build race

package fuzztest

// raceFactor loosens the bounds under the race detector, where pools keep
// nothing and every reader allocates what it otherwise reuses. They are held
// without it: make fuzz-ci runs every seed.
const raceFactor = 64
