//go:build race

package search_test

// shallower is how many steps a search leaves out: the race detector, which has
// nothing to find here, makes each some ten times as slow.
const shallower = 3
