//go:build mutant_ack_before_sync

package mutant

const active = "ack_before_sync"
