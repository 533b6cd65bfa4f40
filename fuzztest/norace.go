//go:build !race

package fuzztest

// raceFactor is 1 without the race detector.
const raceFactor = 1
