//go:build mutant_index_apart

package mutant

const active = "index_apart"
