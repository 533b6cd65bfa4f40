//go:build !(mutant_no_tie_break || mutant_xor_leaf || mutant_key_only_leaf || mutant_ack_before_sync || mutant_index_apart || mutant_clock_forgotten || mutant_clock_before_check || mutant_incarnation_reused || mutant_age_collection || mutant_cursor_off_by_one || mutant_late_reply || mutant_dedupe_by_seq)

package mutant

const active = ""
