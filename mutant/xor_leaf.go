//go:build mutant_xor_leaf

package mutant

const active = "xor_leaf"
