//go:build mutant_late_reply

package mutant

const active = "late_reply"
