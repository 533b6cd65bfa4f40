//go:build mutant_cursor_off_by_one

package mutant

const active = "cursor_off_by_one"
