//go:build chaos

package chaos

func flippedBits(r *round)       {}
func clockFaults() []scenario    { return nil }
func buildFaults() []scenario    { return nil }
func identityFaults() []scenario { return nil }
