//go:build chaos

package chaos

import (
	"flag"
	"slices"
	"testing"
	"time"

	"driftless.dev/chaos-tests/history"
)

var (
	roundFlag  = flag.String("round", "short", "short (CI) or full (make chaos)")
	reportFlag = flag.String("report", "", "file to write the summary to, as JSON, and beside it as text")
)

// scenario is one fault: what it is called, which rows of the fault matrix it
// holds, whether CI's short round has it, and what it does.
type scenario struct {
	name, fault, rows string
	short             bool
	run               func(*round)
	// pending says what the product lacks for it: it fails until that is there.
	pending string
}

// scenarios are all faults, in the order of the summary.
func scenarios() []scenario {
	return slices.Concat(processFaults(), natsFaults(), networkFaults(), diskFaults(), clockFaults(), buildFaults(), identityFaults())
}

// TestChaos runs every fault of the round. A fault that was not injected once
// fails, and so does a fleet that breaks a promise.
func TestChaos(t *testing.T) {
	if *roundFlag != "short" && *roundFlag != "full" {
		t.Fatalf("-round %q: want short or full", *roundFlag)
	}
	rep := &report{Round: *roundFlag}
	t.Run("faults", func(t *testing.T) {
		for _, s := range scenarios() {
			if !s.short && *roundFlag == "short" {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				if *roundFlag == "short" {
					t.Parallel() // most wait; the full round is for figures
				}
				r := newRound(t, s)
				t.Cleanup(func() { rep.add(r.row(t.Failed())) })
				if s.pending != "" {
					t.Fatalf("pending: %s", s.pending)
				}
				s.run(r)
				if r.injected == 0 {
					t.Error("the fault was not injected once: the run shows nothing")
				}
			})
		}
	})
	rep.finish(t, *reportFlag)
}

// round is one fault under way.
type round struct {
	t     *testing.T
	s     scenario
	full  bool
	began time.Time
	rec   *history.Recorder
	load  *load
	fleet *fleet
	// registers says which keys are judged as one.
	registers func(key string) bool

	injected int
	lost     int
	agreed   []time.Duration
}

func newRound(t *testing.T, s scenario) *round {
	rec := history.NewRecorder()
	return &round{t: t, s: s, full: *roundFlag == "full", began: time.Now(), rec: rec, load: &load{t: t, rec: rec}, registers: isRegister}
}

// seq is the round's place in the table, for names that must differ.
func (r *round) seq() int {
	return slices.IndexFunc(scenarios(), func(s scenario) bool { return s.name == r.s.name })
}

// times is how often the round does something.
func (r *round) times(short, full int) int {
	if r.full {
		return full
	}
	return short
}

// lasting is how long something lasts in this round.
func (r *round) lasting(short, full time.Duration) time.Duration {
	if r.full {
		return full
	}
	return short
}

// newFleet makes the round's fleet, with the workload's kinds known everywhere.
func (r *round) newFleet(o options) *fleet {
	r.t.Helper()
	if o.names == nil {
		o.names = []string{"a", "b", "c"}
	}
	r.fleet = newFleet(r.t, o)
	registerKinds(r.t, r.fleet.nodes[0])
	r.fleet.settle(time.Minute)
	return r.fleet
}

// under has the fleet written to while inject does its harm and undoes it, then
// waits until the fleet agrees.
func (r *round) under(inject func()) {
	r.t.Helper()
	stop := r.load.start(r.fleet.nodes)
	pause(r.t, 500*time.Millisecond)
	inject()
	healed := time.Now()
	stop()
	r.fleet.settle(2 * time.Minute)
	r.agreed = append(r.agreed, time.Since(healed))
}

// verify holds the fleet to its promises: what its nodes answer, then what is
// in their files. The nodes are stopped then.
func (r *round) verify() {
	r.t.Helper()
	states := r.fleet.states()
	ops := r.rec.Ops()
	problems := history.Check(ops, states)
	more, judged := history.Linearizable(ops, r.registers, 30*time.Second)
	if judged == 0 {
		r.t.Error("no call on a register was judged")
	}
	r.tell(append(problems, more...))
	if history.Count(ops).Acked == 0 {
		r.t.Error("no write was acknowledged: the run shows nothing")
	}
	for _, n := range r.fleet.nodes {
		n.stop()
		found, err := n.sound()
		if err != nil || len(found) > 0 {
			r.t.Errorf("P9: the store of %s: %v %v", n.name, found, err)
		}
	}
}

// tell fails with the problems, the first ones in words.
func (r *round) tell(problems []history.Problem) {
	r.t.Helper()
	for i, p := range problems {
		if p.Lost {
			r.lost++
		}
		if i < 10 {
			r.t.Error(p.Text)
		}
	}
	if len(problems) > 10 {
		r.t.Errorf("and %d further problems", len(problems)-10)
	}
}
