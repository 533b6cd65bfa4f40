package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Trace expands options to steps: a function of the seed. Every round draws
// time, writes and faults from sources of its own, so that a run without one
// fault has the other steps all the same.
func (o Options) Trace() []Step {
	t := &tracer{o: o, waits: chance(o.Seed, "waits"), ops: chance(o.Seed, "ops"), mix: drawMix(o)}
	for _, f := range faults() {
		t.faults = append(t.faults, faultSource{f, chance(o.Seed, string(f))})
	}
	for range o.Rounds {
		t.round()
	}
	return t.steps
}

type tracer struct {
	o          Options
	waits, ops *rand.Rand
	faults     []faultSource
	mix        mix
	serial     int
	steps      []Step
}

type faultSource struct {
	fault Fault
	rng   *rand.Rand
}

func (t *tracer) add(s Step) { t.steps = append(t.steps, s) }

func (t *tracer) round() {
	if t.waits.IntN(6) > 0 {
		t.add(Step{Do: DoWait, For: time.Duration(1+t.waits.IntN(1200)) * time.Millisecond})
	}
	for range t.ops.IntN(4) {
		t.write()
	}
	for _, f := range t.faults {
		if f.rng.IntN(t.every(f.fault)) == 0 {
			t.disturb(f.fault, f.rng)
		}
	}
	// What was stopped or parted comes back at some time in any run.
	if t.waits.IntN(8) == 0 {
		t.add(Step{Do: DoStart, Node: t.waits.IntN(t.o.Nodes)})
	}
	if t.waits.IntN(12) == 0 {
		t.add(Step{Do: DoHeal})
	}
}

// every is how many rounds a fault waits for its turn, on average.
func (t *tracer) every(f Fault) int {
	switch f {
	case Crash, Cut:
		return 12
	case Restore:
		return 10
	case ClockSkew, Clone, Away, Rollback, Recreate:
		return 30
	}
	return 20
}

// write adds a write, or a burst: several nodes at one moment at one address.
func (t *tracer) write() {
	rng := t.ops
	op := t.mix.draw(rng, t.o)
	node, burst := rng.IntN(t.o.Nodes), rng.IntN(7) == 0
	for i := range t.o.Nodes {
		// Drawn for every node, so that the mix does not depend on their number.
		if at := (node + i) % t.o.Nodes; i == 0 || burst && rng.IntN(2) == 0 {
			t.serial++
			o := op
			o.Serial = t.serial
			t.add(Step{Do: DoWrite, Node: at, Op: &o})
		}
	}
}

func (t *tracer) disturb(f Fault, rng *rand.Rand) {
	n, p, r, far := rng.IntN(t.o.Nodes), rng.IntN(t.o.Nodes), rng.IntN(8), time.Duration(rng.Int64N(int64(2*clockOffset)))
	if !t.o.Has(f) {
		return
	}
	one := func(v Verb) { t.add(Step{Do: v, Node: n}) }
	switch f {
	case Cut:
		t.add(Step{Do: DoCut, Node: n, Peer: p})
	case Isolate:
		one(DoIsolate)
	case CutStream:
		one(DoCutStream)
	case Purge:
		one(DoPurge)
	case Recreate:
		one(DoRecreate)
	case Rollback:
		t.add(Step{Do: DoRollback, N: 1 + r})
	case Truncate:
		t.add(Step{Do: DoTruncate, N: 1 + r})
	case Crash:
		one(DoCrash)
	case CommitLost:
		one(DoDieLost)
	case CommitDead:
		one(DoDieDone)
	case CommitFails:
		one(DoFailDisk)
	case DiskFull:
		t.add(Step{Do: DoFill, Node: n, N: r % 2})
	case DiskSlow:
		t.add(Step{Do: DoSlow, Node: n, For: time.Duration(r) * 300 * time.Millisecond})
	case ClockStep:
		t.add(Step{Do: DoStepClock, Node: n, For: far/4 - clockOffset/4})
	case ClockSkew:
		t.add(Step{Do: DoStepClock, Node: n, For: clockOffset + far})
	case ClockDrift:
		t.add(Step{Do: DoDrift, Node: n, N: 40 * (r - 4)})
	case Freeze:
		if one(DoFreeze); r > 3 {
			t.add(Step{Do: DoWait, For: far})
		}
		one(DoThaw)
	case Snapshots:
		one(DoSnapshot)
	case LateKinds:
		t.kinds(n, r)
	case Restore:
		if r < 4 {
			one(DoBackup)
		} else {
			one(DoRestore)
		}
	case Clone:
		one(DoClone)
	case Away:
		one(DoAway)
		t.add(Step{Do: DoWait, For: far})
	}
}

// kinds lets the late kind come and go.
func (t *tracer) kinds(node, r int) {
	deed := ServeKind
	if r == 0 {
		deed = DropKind
	}
	t.add(Step{Do: DoWrite, Node: node, Op: &Op{Do: deed, By: "human", Kind: lateKind}})
}

// mix is how likely a run does what.
type mix struct {
	deeds   []Deed
	authors []string
}

// controllers are the automated holders of records.
func controllers() []string { return []string{"ctl-a", "ctl-b"} }

func drawMix(o Options) (m mix) {
	rng := chance(o.Seed, "mix")
	for _, d := range []Deed{CAS, Create, Status, Delete, Delete, Teardown, Destroy, Release, Claim, Finalize, Unfinal, Child} {
		for range rng.IntN(4) {
			m.deeds = append(m.deeds, d)
		}
	}
	for range len(m.deeds)/2 + 3 {
		m.deeds = append(m.deeds, Put)
	}
	m.authors = []string{"agent"}
	for _, who := range append(controllers(), "human", "human", "agent") {
		for range rng.IntN(3) {
			m.authors = append(m.authors, who)
		}
	}
	return m
}

// The kinds of the simulated fleet: ids of their own, ids of names, and one
// that comes late.
const (
	noteKind = "Note"
	pageKind = "Page"
	lateKind = "Memo"
)

func (m mix) draw(rng *rand.Rand, o Options) Op {
	op := Op{
		Do: m.deeds[rng.IntN(len(m.deeds))], By: m.authors[rng.IntN(len(m.authors))],
		Kind: []string{noteKind, pageKind, noteKind, pageKind, lateKind}[rng.IntN(5)],
		Name: fmt.Sprint("r", rng.IntN(o.Names)), Key: rng.IntN(3),
	}
	if rng.IntN(2) == 0 {
		op.Scope = fmt.Sprint("p", rng.IntN(2))
	}
	large, crowd := rng.IntN(1200) == 0, rng.IntN(60) == 0
	switch {
	case op.Kind == lateKind && !o.Has(LateKinds):
		op.Kind = noteKind
	case op.Do == Release:
		op.By = "human"
	case op.Do == Claim && !slices.Contains(controllers(), op.By):
		op.By = controllers()[op.Key%2]
	case op.Do == Put && large:
		op.Do = Large
	case op.Do == Put && crowd:
		op.Do = Crowd
	}
	return op
}
