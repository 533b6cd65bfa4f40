//go:build mutant_key_only_leaf

package mutant

const active = "key_only_leaf"
