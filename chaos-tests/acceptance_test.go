package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftless.dev/client"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/wire"
)

const (
	itemVersion = "item.example.dev/v1"
	records     = 1000
)

// acked is a write that a node acknowledged.
type acked struct {
	id    string
	stamp resource.Point
	node  string
}

// TestAcceptance_P1_P5_WritesUnderFaults writes through three nodes at once,
// conflicting edits of the same thousand records, while one node is killed and
// started again and NATS is away: the roots are equal soon after, and every
// acknowledged write is present, knowingly replaced, or in a ledger because it
// was outranked or came earlier. (-writes 20000 -outage 20s is the full run.)
func TestAcceptance_P1_P5_WritesUnderFaults(t *testing.T) {
	c := newFleet(t, options{names: []string{"a", "b", "c"}})
	c.createRecords()
	w := &writers{c: c, total: int64(*writes), span: 2**outage + 10*time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run()
	}()
	w.at(0.2)
	c.nodes[1].kill()
	w.at(0.25)
	c.nodes[1].start()
	w.at(0.4)
	c.nats.kill()
	pause(t, *outage)
	c.nats.launch()
	<-done
	took := c.agree(15 * time.Second)
	t.Logf("%d writes acknowledged, %d refused as outranked, %d unanswered; equal roots on all three %s after the last",
		len(w.acked), w.refused.Load(), w.unanswered.Load(), took.Round(10*time.Millisecond))
	if len(w.acked) < *writes/2 {
		t.Errorf("only %d of %d writes were acknowledged: the run shows little", len(w.acked), *writes)
	}
	c.verify(w.acked)
}

// createRecords makes the kind and the records on the first node, and waits
// until all have them.
func (c *fleet) createRecords() {
	c.t.Helper()
	ctx := c.t.Context()
	kind, err := resource.KindResource(resource.Kind{
		APIVersion: itemVersion, Name: "Item", Plural: "items",
		Schema: []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`),
	}, resource.Scope{})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.nodes[0].client.Put(ctx, kind); err != nil {
		c.t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for i := range cap(errs) {
		wg.Go(func() {
			for n := i; n < records; n += cap(errs) {
				if _, err := c.nodes[0].client.Put(ctx, item(n, 0)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		c.t.Fatal(err)
	}
	c.agree(30 * time.Second)
}

func item(n, value int) resource.Resource {
	return resource.Resource{
		APIVersion: itemVersion, Kind: "Item", Name: fmt.Sprintf("item-%04d", n), Scope: resource.Scope{Project: fmt.Sprint("p", n%3)},
		Spec: fmt.Appendf(nil, `{"n":%d}`, value),
	}
}

// writers spread their writes over a span, so that the faults fall into it.
type writers struct {
	c     *fleet
	total int64
	span  time.Duration

	begun               atomic.Int64
	refused, unanswered atomic.Int64
	mu                  sync.Mutex
	acked               []acked
}

const writersPerNode = 4

func (w *writers) run() {
	var wg sync.WaitGroup
	pace := w.span * time.Duration(len(w.c.nodes)*writersPerNode) / time.Duration(w.total)
	for i, n := range w.c.nodes {
		for j := range writersPerNode {
			wg.Go(func() { w.writer(n, rand.New(rand.NewPCG(uint64(i), uint64(j))), pace) })
		}
	}
	wg.Wait()
}

func (w *writers) writer(n *node, rng *rand.Rand, pace time.Duration) {
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	for {
		value := w.begun.Add(1) // no two writes say the same
		if value > w.total {
			return
		}
		<-ticks.C
		call := client.Call{}
		if rng.IntN(50) == 0 {
			call.Actor = "human"
		}
		ctx, cancel := context.WithTimeout(w.c.t.Context(), 5*time.Second)
		out, err := n.client.With(call).Put(ctx, item(rng.IntN(records), int(value)))
		cancel()
		switch {
		case err == nil:
			w.mu.Lock()
			w.acked = append(w.acked, acked{id: out.Resource.ID, stamp: out.Resource.DesiredStamp.Point(), node: n.name})
			w.mu.Unlock()
		case errors.Is(err, resource.ErrOutranked):
			w.refused.Add(1)
		default:
			w.unanswered.Add(1)
		}
	}
}

// at waits until a share of the writes has begun.
func (w *writers) at(share float64) {
	w.c.t.Helper()
	eventually(w.c.t, w.span+time.Minute, fmt.Sprintf("%.0f %% of the writes", 100*share), func(context.Context) error {
		if n := w.begun.Load(); float64(n) < share*float64(w.total) {
			return fmt.Errorf("%d of %d", n, w.total)
		}
		return nil
	})
}

// verify stops the nodes, opens their stores and accounts for every
// acknowledged write.
func (c *fleet) verify(all []acked) {
	c.t.Helper()
	a := account{t: c.t, final: map[string]string{}, lost: map[string]bool{}, contexts: map[string][]resource.Context{}}
	var root string
	for _, n := range c.nodes {
		n.stop()
		s := a.open(n)
		if super := s.Summary().Super.String(); root == "" {
			root = super
		} else if super != root {
			c.t.Errorf("P2: %s holds root %s, another %s", n.name, super, root)
		}
		a.read(n.name, s)
		if err := s.Close(); err != nil {
			c.t.Error(err)
		}
	}
	missing := 0
	for _, w := range all {
		if !a.accounts(w) {
			if missing++; missing <= 10 {
				c.t.Errorf("P5: write %s to %s on %s is neither present, nor knowingly replaced, nor in a ledger", w.stamp, w.id, w.node)
			}
		}
	}
	c.t.Logf("all %d acknowledged writes accounted for: %d records, %d versions in ledgers, root %s", len(all)-missing, len(a.final), len(a.lost), root[:16])
}

// account is what the stores hold, for the oracle.
type account struct {
	t        *testing.T
	final    map[string]string
	lost     map[string]bool
	contexts map[string][]resource.Context
}

func (a *account) open(n *node) *store.Store {
	a.t.Helper()
	e, err := bolt.OpenEngine(filepath.Join(n.data, "driftless.db"), bolt.Options{})
	if err != nil {
		a.t.Fatal(err)
	}
	fleet, err := wire.NewFleet(fleetName, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	s, err := store.Open(e, store.Config{Wall: time.Now, Secret: fleet.Key})
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

func (a *account) read(name string, s *store.Store) {
	a.t.Helper()
	problems, err := s.Check()
	if err != nil || len(problems) > 0 {
		a.t.Errorf("P9: check of %s: %v %v", name, problems, err)
	}
	ledger, err := s.Ledger(1 << 20)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, l := range ledger {
		a.lost[l.Record.ID.String()+l.Stamp.Point().String()] = true
	}
	for last, end := uint64(0), s.Head().Seq; last < end; {
		last, err = s.Entries(last, 1000, func(e store.Entry) error {
			id := e.Record.ID.String()
			a.final[id] = e.Record.Desired.Stamp.Point().String()
			a.contexts[id] = append(a.contexts[id], e.Record.Desired.Context)
			return nil
		})
		if err != nil {
			a.t.Fatal(err)
		}
	}
}

func (a *account) accounts(w acked) bool {
	if a.final[w.id] == w.stamp.String() || a.lost[w.id+w.stamp.String()] {
		return true
	}
	for _, c := range a.contexts[w.id] {
		if c.Knows(w.stamp) {
			return true
		}
	}
	return false
}
