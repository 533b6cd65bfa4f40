//go:build mutant_dedupe_by_seq

package mutant

const active = "dedupe_by_seq"
