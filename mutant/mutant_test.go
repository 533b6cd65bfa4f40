package mutant_test

import (
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var names = flag.String("mutants", "key_only_leaf dedupe_by_seq", "which mutants to hunt, by name")

// within is how many seeds the simulation may take for a mutant, from its first
// seed on.
const within = 500

// TestMutants_AreCaught builds the simulation around each mutant and lets it
// run: one that lives through all the seeds shows that nobody would notice if
// the code were broken that way.
func TestMutants_AreCaught(t *testing.T) {
	for name := range strings.FieldsSeq(*names) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			bin := filepath.Join(t.TempDir(), "sim.test")
			build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", "mutant_"+name, "-o", bin, "driftless.dev/replicate/loopback/sim")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			hunt := exec.CommandContext(ctx, bin, "-test.run", "TestHunt", "-test.v", "-hunt", name, "-hunt-seeds", "500")
			out, err := hunt.CombinedOutput()
			caught := regexp.MustCompile(`caught after (\d+) seeds?: .*`).Find(out)
			if err != nil || caught == nil {
				t.Fatalf("it lived through %d seeds: %v\n%s", within, err, out)
			}
			t.Logf("%s", caught)
		})
	}
}
