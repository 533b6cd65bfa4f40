//go:build mutant_no_tie_break

package mutant

const active = "no_tie_break"
