//go:build mutant_incarnation_reused

package mutant

const active = "incarnation_reused"
