package storetest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"driftless.dev/resolve"
	"driftless.dev/resource"
)

// The oracle is the dumb one: every accepted write, sorted by a text key; the
// last one stands. It shares no code with package resolve.

// rank is the text of a stamp in the order of desired and deletion.
func rank(s resource.Stamp) string {
	person := s.Actor == resource.Human
	epoch := epochText(s.Epoch)
	if person {
		epoch = epochText(resource.Epoch{})
	}
	return fmt.Sprintf("%020d %t %s %020d %x", s.Release, person, epoch, s.HLC, s.Writer) // "false" < "true"
}

// rankObserved is the text of a stamp in the order of observed.
func rankObserved(s resource.Stamp) string {
	return fmt.Sprintf("%020d %s %020d %x", s.Release, epochText(s.Epoch), s.HLC, s.Writer)
}

func epochText(e resource.Epoch) string {
	return fmt.Sprintf("%020d %020d %x", e.Number, e.Claim.HLC, e.Claim.Writer)
}

// verdict is what the oracle says of a record.
type verdict struct {
	desired, deletion, observed string // highest ranks, "" for none
	strength                    resource.Strength
	finalizers                  map[string]resource.Finalizer
	ranks                       map[string]string // finalizer key → highest rank
}

func (v *verdict) add(r *resource.Record) {
	v.desired = max(v.desired, rank(r.Desired.Stamp))
	if r.Deletion != nil && rank(r.Deletion.Stamp) > v.deletion {
		v.deletion, v.strength = rank(r.Deletion.Stamp), r.Deletion.Value.Strength
	}
	if r.Observed != nil {
		v.observed = max(v.observed, rankObserved(r.Observed.Stamp))
	}
	for _, f := range r.Finalizers {
		text := fmt.Sprintf("%020d %x %020d %x", f.Incarnation.HLC, f.Incarnation.Writer, f.At.HLC, f.At.Writer)
		if text > v.ranks[f.Key] {
			v.ranks[f.Key], v.finalizers[f.Key] = text, f
		}
	}
}

func (v *verdict) deleted() bool {
	standing := slices.ContainsFunc(slices.Collect(maps.Values(v.finalizers)), func(f resource.Finalizer) bool { return f.Present })
	return v.deletion >= v.desired && v.strength == resource.Delete && !standing
}

// checkWinners compares what stands on the nodes with the oracle.
func (m *model) checkWinners(t failer) {
	t.Helper()
	verdicts := map[resource.ID]*verdict{}
	for i := range m.accepted {
		r := &m.accepted[i].record
		if verdicts[r.ID] == nil {
			verdicts[r.ID] = &verdict{finalizers: map[string]resource.Finalizer{}, ranks: map[string]string{}}
		}
		verdicts[r.ID].add(r)
	}
	records := m.nodes[0].state(t).records
	for id, want := range verdicts {
		r := must(resource.DecodeRecord(records[id]))(t)
		got := verdict{finalizers: map[string]resource.Finalizer{}, ranks: map[string]string{}}
		got.add(&r)
		if got.desired != want.desired || got.deletion != want.deletion || got.observed != want.observed || !maps.Equal(got.finalizers, want.finalizers) {
			t.Errorf("record %s stands as\n%+v, the oracle says\n%+v", id, got, *want)
		}
		_, err := m.nodes[0].GetByID(context.Background(), id.String())
		if (err != nil) != want.deleted() {
			t.Errorf("record %s: get says %v, the oracle deleted %v", id, err, want.deleted())
		}
	}
}

// register is one register's version, whatever its type.
type register struct {
	stamp   resource.Stamp
	context resource.Context
	value   any
}

func registers(r *resource.Record) map[string]register {
	out := map[string]register{"desired": {r.Desired.Stamp, r.Desired.Context, r.Desired.Value}}
	if r.Deletion != nil {
		out["deletion"] = register{r.Deletion.Stamp, r.Deletion.Context, r.Deletion.Value}
	}
	if r.Observed != nil {
		out["observed"] = register{r.Observed.Stamp, r.Observed.Context, r.Observed.Value}
	}
	return out
}

// checkNothingLost: each acknowledged write stands or is in a ledger, or was
// replaced by one that knew it and is not lost itself, or says the same as one
// that is not. (P5)
func (m *model) checkNothingLost(t failer) {
	t.Helper()
	safe := map[string][]register{} // by record and register: what stands, what ledgers hold
	keep := func(r *resource.Record) {
		for name, reg := range registers(r) {
			key := r.ID.String() + " " + name
			safe[key] = append(safe[key], reg)
		}
	}
	for _, frame := range m.nodes[0].state(t).records {
		r := must(resource.DecodeRecord(frame))(t)
		keep(&r)
	}
	for _, n := range m.nodes {
		for _, l := range must(n.Ledger(1 << 20))(t) {
			keep(&l.Record)
		}
	}
	written := map[string][]register{}
	for _, a := range m.accepted {
		for name, reg := range registers(&a.record) {
			if key := a.record.ID.String() + " " + name; reg.stamp.Point() == a.at {
				written[key] = append(written[key], reg)
			}
		}
	}
	for key, open := range written {
		for grew := true; grew; {
			before := len(open)
			open = slices.DeleteFunc(open, func(w register) bool {
				ok := slices.ContainsFunc(safe[key], w.savedBy)
				if ok {
					safe[key] = append(safe[key], w)
				}
				return ok
			})
			grew = len(open) < before
		}
		for _, w := range open {
			t.Errorf("%s: the write %+v at %s was lost in silence", key, w.value, w.stamp.Point())
		}
	}
}

func (r register) savedBy(by register) bool {
	return by.stamp == r.stamp || by.context.Knows(r.stamp.Point()) || reflect.DeepEqual(by.value, r.value)
}

// checkDominance: a local write wins against what it replaced, in every
// register, and knowingly; accepted, it cannot be lost to its own past. (P7)
func (m *model) checkDominance(t failer, n *node) {
	t.Helper()
	log := map[uint64]*resource.Record{}
	for _, e := range n.entries(t, 0) {
		log[e.Seq] = &e.Record
		prev := log[e.PrevSeq]
		if e.Event == nil || prev == nil {
			continue
		}
		for _, joined := range []resolve.Result{resolve.Merge(prev, &e.Record), resolve.Merge(&e.Record, prev)} {
			if !bytes.Equal(joined.Record.AppendTo(nil), e.Record.AppendTo(nil)) || len(joined.Losers) > 0 {
				t.Errorf("own write %d does not dominate what it replaced (losers %d):\n%s\n%s", e.Seq, len(joined.Losers), describe(prev), describe(&e.Record))
			}
		}
	}
}
