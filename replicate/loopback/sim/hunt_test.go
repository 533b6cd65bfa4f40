package sim_test

import (
	"flag"
	"testing"

	"driftless.dev/mutant"
	"driftless.dev/replicate/loopback/sim"
)

var (
	hunt      = flag.String("hunt", "", "the mutant that this build is")
	huntSeeds = flag.Uint64("hunt-seeds", 500, "within how many seeds it has to be caught")
)

// TestHunt tells after how many seeds a mutant is caught. A build that is none
// has nothing to hunt.
func TestHunt(t *testing.T) {
	if *hunt != mutant.Active {
		t.Fatalf("this build is mutant %q, not %q", mutant.Active, *hunt)
	}
	if mutant.Active == "" {
		return
	}
	compiled := sim.NewSchemas()
	for n := range *huntSeeds {
		if _, err := sim.Run(sim.Draw(n+1), compiled); err != nil {
			t.Logf("caught after %d seeds: %s", n+1, firstLine(err.Error()))
			return
		}
	}
	t.Fatalf("mutant %s lives after %d seeds", mutant.Active, *huntSeeds)
}

func firstLine(s string) string {
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
