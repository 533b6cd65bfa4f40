//go:build mutant_clock_before_check

package mutant

const active = "clock_before_check"
