//go:build chaos

package chaos

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What moves a node's clock is in the build for tests and not in production's.
func TestChaos_ProductionHasNoClockFile(t *testing.T) {
	for name, want := range map[string]bool{"driftless-node": false, "clocked-node": true} {
		text, err := os.ReadFile(filepath.Join(binaries, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(text, []byte("CHAOS_CLOCK_FILE")); got != want {
			t.Errorf("%s names the clock file: %t", name, got)
		}
	}
}
