//go:build chaos

package chaos

// furtherPrograms are those that only the tests behind the build tag need.
func furtherPrograms() []program {
	return []program{
		{"clocked-node", "driftless.dev/cmd/node", "chaos"},
		{"lazyfs", "driftless.dev/chaos-tests/lazyfs", ""},
	}
}
