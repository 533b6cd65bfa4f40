//go:build chaos

package chaos

func identityFaults() []scenario { return nil }
