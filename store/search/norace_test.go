//go:build !race

package search_test

const shallower = 0
