//go:build mutant_clock_forgotten

package mutant

const active = "clock_forgotten"
