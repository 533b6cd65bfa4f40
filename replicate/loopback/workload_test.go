package loopback_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
	"driftless.dev/store"
)

const noteVersion = "note.example.dev/v1"

// acked is a write that a node acknowledged: what the oracle holds the fleet
// to.
type acked struct {
	id    string
	stamp resource.Point
	node  int
}

// workload writes as people, agents and controllers do, on whatever node is
// up.
type workload struct {
	t      *testing.T
	f      *loopback.Fleet
	names  int
	writes int
	acked  []acked
}

// registerKinds applies the kinds on every node apart: they are of identity
// "name", so the fleet merges them into one.
func (w *workload) registerKinds() {
	for _, k := range []resource.Kind{
		{APIVersion: noteVersion, Name: "Note", Plural: "notes"},
		{APIVersion: noteVersion, Name: "Page", Plural: "pages", Identity: resource.IdentityName},
	} {
		r, err := resource.KindResource(k, resource.Scope{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, n := range w.f.Nodes() {
			if _, err := n.Write(store.Write{Op: store.OpPut, Resource: r}); err != nil {
				w.t.Fatalf("register kind: %v", err)
			}
		}
	}
}

// spec says something that no other write says; now and then it is too large
// for one message.
func (w *workload) spec() []byte {
	w.writes++
	padding := ""
	if w.f.Rand().IntN(80) == 0 {
		padding = strings.Repeat("x", 450<<10)
	}
	return fmt.Appendf(nil, `{"n":%d,"padding":%q}`, w.writes, padding)
}

func (w *workload) step() {
	rng := w.f.Rand()
	nodes := w.f.Nodes()
	i := rng.IntN(len(nodes))
	n := nodes[i]
	if !n.Up() {
		return
	}
	kind, plural := "Note", "notes"
	if rng.IntN(2) == 0 {
		kind, plural = "Page", "pages"
	}
	name := fmt.Sprint("r", rng.IntN(w.names))
	scope := resource.Scope{}
	if rng.IntN(2) == 0 {
		scope.Project = fmt.Sprint("p", rng.IntN(2))
	}
	op := store.Write{Kind: plural, Scope: scope, Name: name}
	if rng.IntN(4) == 0 {
		op.Actor = resource.Human
	}
	op.Resource = resource.Resource{
		APIVersion: noteVersion, Kind: kind, Scope: scope, Name: name,
		Spec: w.spec(),
	}
	switch rng.IntN(10) {
	case 0:
		op.Op = store.OpDelete
	case 1:
		op.Op = store.OpStatus
		op.Resource.Status = fmt.Appendf(nil, `{"at":%d}`, rng.IntN(1000))
	case 2:
		op.Op, op.Actor = store.OpRelease, resource.Human
	case 3:
		op.Op = store.OpClaim
	case 4:
		op.Resource.Finalizers = []string{fmt.Sprint("example.dev/f", rng.IntN(3))}
	}
	out, err := n.Write(op)
	if err == nil && out.Changed && op.Op == store.OpPut {
		w.acked = append(w.acked, acked{id: out.Resource.ID, stamp: out.Resource.DesiredStamp.Point(), node: i})
	}
}

// converge lets time pass until all nodes agree and cover each other's
// writes, and fails with what they hold when they do not in time.
func converge(t *testing.T, f *loopback.Fleet, within time.Duration) {
	t.Helper()
	agreed := func() bool {
		first := f.Nodes()[0].Store.Summary()
		for _, n := range f.Nodes()[1:] {
			if s := n.Store.Summary(); s.Super != first.Super || s.VectorDigest != first.VectorDigest {
				return false
			}
		}
		return true
	}
	start := f.Now()
	if f.Run(within, agreed) {
		return
	}
	for i, n := range f.Nodes() {
		s := n.Store.Summary()
		t.Logf("node %d: up %v, root %s, seq %d, vector %v", i, n.Up(), s.Super, s.Head.Seq, s.Vector)
	}
	t.Fatalf("no agreement %s after the heal", f.Now()-start)
}

// verify checks every store against its own log, and every acknowledged write
// against the fleet: it is there, or was knowingly replaced by some write (which
// may have lost in its turn), or is in a ledger.
func (w *workload) verify() {
	w.t.Helper()
	accounted := map[string]bool{}
	knows := map[string][]resource.Context{}
	note := func(r *resource.Record) {
		id := r.ID.String()
		knows[id] = append(knows[id], r.Desired.Context)
	}
	for i, n := range w.f.Nodes() {
		problems, err := n.Store.Check()
		if err != nil || len(problems) > 0 {
			w.t.Fatalf("node %d: check: %v %v", i, problems, err)
		}
		ledger, err := n.Store.Ledger(1 << 20)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, l := range ledger {
			accounted[l.Record.ID.String()+l.Stamp.Point().String()] = true
		}
		w.entries(n, note)
	}
	final := map[string]string{}
	w.entries(w.f.Nodes()[0], func(r *resource.Record) { final[r.ID.String()] = r.Desired.Stamp.Point().String() })
	for id, stamp := range final {
		accounted[id+stamp] = true
	}
	for _, a := range w.acked {
		ok := accounted[a.id+a.stamp.String()]
		for _, c := range knows[a.id] {
			ok = ok || c.Knows(a.stamp)
		}
		if !ok {
			w.t.Errorf("P5: write %s to %s on node %d is neither present, nor knowingly replaced, nor in a ledger", a.stamp, a.id, a.node)
		}
	}
}

// entries calls fn for every post-image in a node's log.
func (w *workload) entries(n *loopback.Node, fn func(*resource.Record)) {
	for last, end := uint64(0), n.Store.Head().Seq; last < end; {
		var err error
		last, err = n.Store.Entries(last, 1000, func(e store.Entry) error {
			fn(&e.Record)
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}
