package sim

import (
	"fmt"
	"time"

	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
)

// Result is what a run that held came to.
type Result struct {
	Nodes, Acked, Ledger int
	// Virtual is the time that passed in the fleet, Agreed the part of it from
	// the heal to agreement.
	Virtual, Agreed time.Duration
	// Reached counts what the run came by, by name.
	Reached map[string]uint64
	// State is the fleet's at the end: equal runs have equal ones.
	State string
}

// run is one run under way.
type run struct {
	o       Options
	f       *loopback.Fleet
	books   *books
	clients *clients
	seen    []*nodeBook // by node
	buried  map[resource.ID]int
	reached map[string]uint64
	acked   int
	skewed  bool // some clock was over the bound
	renamed bool // the copy of a directory became a member of its own
}

// Run carries out a run. An error is always a *Failure.
func Run(o Options, schemas resource.SchemaCompiler) (Result, error) {
	steps := o.Trace()
	if o.Keep != nil {
		var kept []Step
		for _, i := range o.Keep {
			if i < len(steps) {
				kept = append(kept, steps[i])
			}
		}
		steps = kept
	}
	r := &run{o: o, books: newBooks(), clients: newClients(), buried: map[resource.ID]int{}, reached: map[string]uint64{}}
	at, err := r.all(steps, schemas)
	if err != nil {
		return Result{}, failed(o, steps, at, err)
	}
	return r.result(), nil
}

// checkEvery is after how many steps the costly invariants are checked.
const checkEvery = 12

func (r *run) all(steps []Step, schemas resource.SchemaCompiler) (at int, err error) {
	bad := r.o.world(schemas)
	calm := bad
	calm.Drop, calm.Duplicate, calm.StreamLoss, calm.StreamDuplicate, calm.MaxDelay = 0, 0, 0, 0, 50*time.Millisecond
	if r.f, err = loopback.New(r.o.Seed, calm); err != nil {
		return 0, err
	}
	if err := r.begin(); err != nil {
		return 0, err
	}
	r.f.Weather(bad)
	for i := range steps {
		if err := r.step(&steps[i]); err != nil {
			return i, err
		}
		if err := r.cheap(); err != nil {
			return i, err
		}
		if i%checkEvery == checkEvery-1 {
			if err := r.invariants(); err != nil {
				return i, err
			}
		}
	}
	if err := r.invariants(); err != nil {
		return len(steps), err
	}
	return len(steps), r.afterwards()
}

// begin registers the kinds on every node apart: they are of identity "name",
// so the fleet merges them into one. The late kind comes when it comes.
func (r *run) begin() error {
	for _, n := range r.f.Nodes() {
		r.seen = append(r.seen, newNodeBook())
		if err := r.books.catchUp(n, false); err != nil { // what it said of itself
			return err
		}
		for _, k := range kinds()[:2] {
			if err := r.write(n, &Op{Do: ServeKind, By: "agent", Kind: k.Name}); err != nil {
				return err
			}
		}
	}
	return r.form()
}

// form waits until every node has every other on its roster: what a trace
// disturbs is a fleet, unless its members are strangers, each of whom may
// collect alone.
func (r *run) form() error {
	if r.o.Has(Strangers) {
		return r.cheap()
	}
	formed := func() bool {
		for _, n := range r.f.Nodes() {
			if roster, err := n.Roster(); err != nil || len(roster.Names) < r.o.Nodes {
				return false
			}
		}
		return true
	}
	for range 120 {
		if formed() {
			return r.cheap()
		}
		r.f.Run(500*time.Millisecond, nil)
	}
	return violation("liveness", "the fleet's members do not know each other after a minute")
}

func (r *run) node(i int) *loopback.Node {
	if i >= len(r.f.Nodes()) {
		return nil
	}
	return r.f.Nodes()[i]
}

// step carries out one step; one that does not apply does nothing.
func (r *run) step(s *Step) error {
	n := r.node(s.Node)
	if n == nil {
		return nil
	}
	switch s.Do {
	case DoWait:
		r.f.Run(s.For, nil)
	case DoWrite:
		return r.write(n, s.Op)
	case DoStart:
		return r.start(n)
	case DoRestore:
		return r.restore(n)
	case DoClone:
		return r.clone(n)
	case DoAway:
		return r.away(n)
	default:
		return r.disturb(n, s)
	}
	return nil
}

func (r *run) disturb(n *loopback.Node, s *Step) error {
	f := r.f
	r.reached["fault: "+string(s.Do)]++
	switch s.Do {
	case DoCut:
		f.Cut(s.Node, s.Peer)
	case DoCutStream:
		f.CutStream(s.Node)
	case DoIsolate:
		f.Isolate(s.Node)
	case DoHeal:
		f.Heal()
	case DoCrash:
		n.Crash()
	case DoDieLost:
		n.CrashInCommit(false)
	case DoDieDone:
		n.CrashInCommit(true)
	case DoFailDisk:
		n.FailCommit()
	case DoFill:
		n.FillDisk(s.N == 0)
	case DoSlow:
		n.SlowDisk(s.For)
	case DoStepClock:
		r.skewed = r.skewed || s.For > clockOffset
		n.StepClock(s.For)
	case DoDrift:
		n.Drift(float64(s.N) / 1000)
	case DoFreeze:
		n.Freeze()
	case DoThaw:
		n.Thaw()
	case DoPurge:
		f.Purge()
	case DoRecreate:
		f.Recreate()
	case DoRollback:
		f.Rollback(s.N)
	case DoTruncate:
		f.Truncate(s.N)
	case DoBackup:
		n.Backup()
	case DoSnapshot:
		if n.Answers() {
			return r.snapshot(n)
		}
	default:
		return fmt.Errorf("step %q is not known", s.Do)
	}
	return nil
}

// snapshot is best effort: a full or dying disk may refuse it.
func (r *run) snapshot(n *loopback.Node) error {
	switch err := n.Snapshot(); {
	case err == nil:
		r.seen[n.Index()].snapshot = true
	case refusal(err) == "":
		return violation("P9", "node %d: snapshot: %v", n.Index(), err)
	}
	n.FailStop()
	return nil
}

// start brings a node back and holds it to what it acknowledged before.
func (r *run) start(n *loopback.Node) error {
	if n.Up() {
		return nil
	}
	r.reached["fault: restart"]++
	if err := n.Start(); err != nil {
		return violation("P1", "node %d does not start again: %v", n.Index(), err)
	}
	if err := r.books.catchUp(n, false); err != nil {
		return err
	}
	return r.durable(n)
}

// restore rolls a node's directory back to its backup.
func (r *run) restore(n *loopback.Node) error {
	for i := 0; !n.HasBackup(); i++ { // the next that has one
		if i == r.o.Nodes {
			return nil
		}
		n = r.f.Nodes()[(n.Index()+1)%r.o.Nodes]
	}
	n.Restore()
	r.reached["fault: restore"]++
	r.seen[n.Index()] = newNodeBook()
	r.seen[n.Index()].restored = true
	if err := n.Start(); err != nil {
		return violation("P1", "node %d does not start from its backup: %v", n.Index(), err)
	}
	if err := r.books.reread(n); err != nil {
		return err
	}
	return r.mourn()
}

func (r *run) clone(n *loopback.Node) error {
	if len(r.f.Nodes()) > r.o.Nodes {
		return nil // one at a time
	}
	r.reached["fault: clone"]++
	c, err := n.Clone()
	if err != nil {
		return violation("P1", "node %d: its copy does not start: %v", n.Index(), err)
	}
	r.seen = append(r.seen, newNodeBook())
	r.seen[c.Index()].restored = true
	return r.books.reread(c)
}

// away ends a node, and the others go on without it: a person takes it off the
// roster, and what it has not seen may be collected.
func (r *run) away(n *loopback.Node) error {
	n.Crash()
	for _, m := range r.f.Nodes() {
		if m != n && m.Answers() && m.Evict(n) == nil {
			r.reached["fault: evicted"]++
			break
		}
	}
	return nil
}

// write makes a client's write and enters what came of it.
func (r *run) write(n *loopback.Node, o *Op) error {
	if !n.Answers() {
		return nil
	}
	w, ok := r.clients.ask(n, o)
	if !ok {
		return nil
	}
	out, err := n.Write(w)
	if err != nil {
		why := refusal(err)
		if why == "" {
			return violation("unexpected", "node %d: %s %s by %s: %v", n.Index(), o.Do, o.address(), o.By, err)
		}
		r.reached["refused: "+why]++
		return nil
	}
	r.reached["done: "+string(o.Do)]++
	r.clients.heard(o, out)
	if !out.Changed {
		return nil
	}
	r.acked++
	if err := r.books.catchUp(n, true); err != nil {
		return err
	}
	if chain := r.books.chains[branch{n.Index(), out.Incarnation}]; out.OriginSeq == 0 || out.OriginSeq != uint64(len(chain)) {
		return violation("P1", "node %d acknowledged event %d, which its log does not have", n.Index(), out.OriginSeq)
	}
	return r.supersedes(n, o, out.Resource)
}
