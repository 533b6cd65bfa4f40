//go:build chaos

package chaos

func networkFaults() []scenario  { return nil }
func diskFaults() []scenario     { return nil }
func clockFaults() []scenario    { return nil }
func buildFaults() []scenario    { return nil }
func identityFaults() []scenario { return nil }
