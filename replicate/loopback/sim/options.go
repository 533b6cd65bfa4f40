package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
)

// Fault names a kind of disturbance that a run has or has not.
type Fault string

// The faults. A run without one finds what a run with it hides.
const (
	Drop        Fault = "drop"
	Duplicate   Fault = "duplicate"
	LongWay     Fault = "long-way" // answers come after their timeout
	Cut         Fault = "cut"
	Isolate     Fault = "isolate"
	CutStream   Fault = "cut-stream"
	StreamLoss  Fault = "stream-loss"
	StreamTwice Fault = "stream-duplicate"
	Streamless  Fault = "streamless"
	Purge       Fault = "purge"
	Recreate    Fault = "recreate"
	Rollback    Fault = "rollback"
	Truncate    Fault = "truncate"
	Crash       Fault = "crash"
	CommitLost  Fault = "commit-lost"
	CommitDead  Fault = "commit-unheard-of"
	CommitFails Fault = "commit-fails"
	DiskFull    Fault = "disk-full"
	DiskSlow    Fault = "disk-slow"
	ClockStep   Fault = "clock-step"
	ClockSkew   Fault = "clock-skew" // over the bound
	ClockDrift  Fault = "clock-drift"
	Freeze      Fault = "freeze"
	LateKinds   Fault = "late-kinds"
	Snapshots   Fault = "snapshots"
	Restore     Fault = "restore"
	Clone       Fault = "clone"
	Away        Fault = "away"      // past the horizon
	Strangers   Fault = "strangers" // the members have not heard of each other when it begins
)

// faults lists what a seed may draw.
func faults() []Fault {
	return []Fault{
		Drop, Duplicate, LongWay, Cut, Isolate, CutStream, StreamLoss, StreamTwice, Streamless, Purge, Recreate, Rollback,
		Truncate, Crash, CommitLost, CommitDead, CommitFails, DiskFull, DiskSlow, ClockStep, ClockSkew, ClockDrift, Freeze, LateKinds,
		Snapshots, Restore, Clone, Away,
	}
}

// Options is what a seed draws before its steps. Everything follows from it
// and the seed.
type Options struct {
	Seed   uint64
	Nodes  int
	Rounds int
	// Names is how many addresses of a kind there are in a scope: few names
	// meet more conflicts.
	Names  int
	Faults []Fault
	// Keep, when set, lists the steps that are carried out, for a replay of a
	// shrunk run.
	Keep []int
}

// Draw expands a seed.
func Draw(seed uint64) Options {
	o := DrawAll(seed)
	if o.Has(Away) {
		return o.Without(apart()...)
	}
	return o
}

// DrawAll expands a seed with nothing kept apart.
func DrawAll(seed uint64) Options {
	rng := chance(seed, "options")
	o := Options{Seed: seed, Nodes: 3 + rng.IntN(3), Rounds: 30 + rng.IntN(50), Names: 1 + rng.IntN(4)}
	if rng.IntN(12) == 0 {
		o.Nodes = 6 + rng.IntN(4)
	}
	share := 0.15 + 0.4*rng.Float64()
	for _, f := range faults() {
		// Each draws, whatever came of the others.
		if on := rng.Float64() < share; on && (f != Streamless || rng.IntN(3) == 0) {
			o.Faults = append(o.Faults, f)
		}
	}
	return o
}

// apart lists what is not drawn together with Away: what such runs find is open
// (docs/RELIABILITY.md, "Open").
func apart() []Fault { return []Fault{ClockSkew, Clone} }

// chance is the random source of one purpose.
func chance(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Has reports whether the run has a fault.
func (o Options) Has(f Fault) bool { return slices.Contains(o.Faults, f) }

// Without returns the options less some faults.
func (o Options) Without(fs ...Fault) Options {
	o.Faults = slices.DeleteFunc(slices.Clone(o.Faults), func(g Fault) bool { return slices.Contains(fs, g) })
	return o
}

// String is what a failing run prints.
func (o Options) String() string {
	names := make([]string, len(o.Faults))
	for i, f := range o.Faults {
		names[i] = string(f)
	}
	return fmt.Sprintf("nodes=%d rounds=%d names=%d faults=%s", o.Nodes, o.Rounds, o.Names, strings.Join(names, ","))
}

// Bounds of every simulated fleet.
const (
	syncInterval = 3 * time.Second
	clockOffset  = 10 * time.Second
	longWay      = 9 * time.Second // longer than a request waits
)

func (o Options) world(schemas resource.SchemaCompiler) loopback.Options {
	rng := chance(o.Seed, "world")
	rate := func(f Fault, most float64) float64 {
		if r := rng.Float64(); o.Has(f) { // drawn in any case
			return most * (0.1 + 0.9*r)
		}
		return 0
	}
	w := loopback.Options{
		Nodes: o.Nodes, SyncInterval: syncInterval, MaxClockOffset: clockOffset, Schemas: schemas,
		Drop: rate(Drop, 0.4), Duplicate: rate(Duplicate, 0.4), StreamLoss: rate(StreamLoss, 0.5), StreamDuplicate: rate(StreamTwice, 0.4),
		MaxDelay: time.Duration(1+rng.IntN(300)) * time.Millisecond, Streamless: o.Has(Streamless),
		CollectAge: time.Duration(1+rng.IntN(8)) * time.Second, CollectEvery: 3 * time.Second, Rejoin: rng.IntN(2) == 0,
	}
	if o.Has(LongWay) {
		w.MaxDelay = longWay
	}
	return w
}
