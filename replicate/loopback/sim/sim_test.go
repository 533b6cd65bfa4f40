package sim_test

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"driftless.dev/replicate/loopback/sim"
)

var (
	seeds  = flag.Uint64("seeds", 0, "how many seeds the simulation runs; 0 is CI's number")
	base   = flag.Uint64("base", 1, "the first seed")
	keep   = flag.String("keep", "", "the steps that are carried out, of a replay")
	off    = flag.String("off", "", "faults that are left out, of a replay")
	shrink = flag.Bool("shrink", true, "shrink what fails")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // runs are short and small: time matters, memory does not
	goleak.VerifyTestMain(m)
}

// TestSim_P2_FleetConverges drives whole fleets through faults, heals them and
// holds them to every promise that can be seen from outside. It ends with one
// line of figures.
func TestSim_P2_FleetConverges(t *testing.T) {
	if *keep != "" || *off != "" {
		replay(t)
		return
	}
	n := *seeds
	if n == 0 {
		n = ciSeeds()
	}
	var list []sim.Options
	if *seeds == 0 {
		list = append(list, regressions()...)
	}
	for s := *base; s < *base+n; s++ {
		list = append(list, sim.Draw(s))
	}
	c := sim.RunAll(list, runtime.GOMAXPROCS(0), 3)
	for i, f := range c.Failures {
		t.Errorf("%v", f)
		if i == 0 && *shrink {
			t.Errorf("shrunk:\n%v", sim.Shrink(f, sim.NewSchemas()))
		}
	}
	if missing := c.Missing(); *seeds == 0 && !raceEnabled && len(missing) > 0 {
		t.Errorf("never reached, so nothing is said about it: %s", strings.Join(missing, ", "))
	}
	if testing.Verbose() {
		t.Log(reached(c.Reached))
	}
	fmt.Println(c.String())
}

// replay repeats one run, as a failure's last line says.
func replay(t *testing.T) {
	o := sim.Draw(*base)
	for name := range strings.SplitSeq(*off, ",") {
		o = o.Without(sim.Fault(name))
	}
	if *keep != "" {
		var err error
		if o.Keep, err = sim.ParseKeep(*keep); err != nil {
			t.Fatal(err)
		}
	}
	res, err := sim.Run(o, sim.NewSchemas())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d held: %d writes, agreed %s after the heal", *base, res.Acked, res.Agreed)
}

func reached(m map[string]uint64) string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "\n  %-32s %d", name, m[name])
	}
	return b.String()
}

// TestSim_SameSeedSameRun: one seed gives one run, or a failing seed could not
// be looked at.
func TestSim_SameSeedSameRun(t *testing.T) {
	for _, seed := range []uint64{7, 8, 9} {
		var states []string
		for range 2 {
			res, err := sim.Run(sim.Draw(seed), sim.NewSchemas())
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, fmt.Sprint(res))
		}
		if states[0] != states[1] {
			t.Errorf("two runs of seed %d differ:\n%s\n%s", seed, states[0], states[1])
		}
	}
}
