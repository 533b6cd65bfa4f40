// Package resolve decides who wins when two versions of a record meet.
//
// Each register is joined on its own, by a total order, so the join of records
// is a product of total orders: commutative, associative, idempotent. Whatever
// the order, repetition or route in which versions arrive, every node ends
// with the same bytes. The package is pure: no clock, no context, no logging,
// no error.
package resolve

import (
	"bytes"

	"driftless.dev/mutant"
	"driftless.dev/resource"
)

// Outcome is what a merge did to a record or to one of its registers.
type Outcome uint8

const (
	// Unchanged: what came is the write that was there.
	Unchanged Outcome = iota
	// Ignored: what came is older or lower; what was there stays.
	Ignored
	// Applied: what is there now differs from what was there.
	Applied
)

// String returns the outcome's name.
func (o Outcome) String() string {
	return [...]string{"unchanged", "ignored", "applied"}[o]
}

// Result is what Merge returns.
type Result struct {
	Record  resource.Record
	Outcome Outcome
	// The registers' own outcomes.
	Desired, Deletion, Observed, Finalizers Outcome
	// Losers are the registers that lost and were not knowingly replaced: they
	// belong in the ledger.
	Losers []Loser
	// Clone tells that two different writes carried one stamp, which only two
	// instances with one incarnation id can produce.
	Clone bool
}

// Loser is a register version that lost.
type Loser struct {
	// Register is "desired", "deletion", "observed", or "finalizers/" and a key.
	Register string
	// Stamp of a finalizer is its point alone: entries have no rank and no actor.
	Stamp  resource.Stamp
	Winner resource.Stamp
	Reason Reason
	// Record is the version of the record that held the register, whole.
	Record resource.Record
}

// Reason says by which part of the order a register lost.
type Reason string

// The parts of the order, from the first to the last.
const (
	Released  Reason = "released"  // a person gave the record back meanwhile
	Outranked Reason = "outranked" // a person's write stands against automation's
	Fenced    Reason = "fenced"    // a newer holder's
	Later     Reason = "later"     // the later write stands
	Cloned    Reason = "cloned"    // one stamp, two writes
	Collected Reason = "collected" // its record had ended, and the fleet has forgotten it
	Overfull  Reason = "overfull"  // higher finalizers fill the record
)

// Same reports whether two records have one identity block (creation apart,
// which joins). Records of one id that differ here cannot be merged: the
// incoming one is quarantined.
func Same(a, b *resource.Record) bool {
	return a.ID == b.ID && a.Kind == b.Kind && a.Scope == b.Scope && a.Name == b.Name
}

// Merge joins incoming into current; a nil current means that the record is
// not known here. The two must be Same. The result shares memory with both.
func Merge(current *resource.Record, incoming *resource.Record) Result {
	if current == nil {
		return Result{
			Record: *incoming, Outcome: Applied, Desired: Applied, Finalizers: outcomeOf(len(incoming.Finalizers) > 0),
			Deletion: outcomeOf(incoming.Deletion != nil), Observed: outcomeOf(incoming.Observed != nil),
		}
	}
	m := merger{current: current, incoming: incoming, Result: Result{Record: *current}}
	m.joinCreation()
	var d *resource.Register[resource.Desired]
	d, m.Desired = join(&m, ranked("desired"), &current.Desired, &incoming.Desired)
	m.Record.Desired = *d
	m.Record.Deletion, m.Deletion = join(&m, ranked("deletion"), current.Deletion, incoming.Deletion)
	m.Record.Observed, m.Observed = join(&m, unranked("observed"), current.Observed, incoming.Observed)
	m.joinFinalizers()
	m.joinCounters()
	for _, o := range [...]Outcome{m.Desired, m.Deletion, m.Observed, m.Finalizers} {
		m.note(o)
	}
	m.undo()
	return m.Result
}

func outcomeOf(applied bool) Outcome {
	if applied {
		return Applied
	}
	return Unchanged
}

type merger struct {
	current, incoming *resource.Record
	twins             []twin
	Result
}

// note raises the record's outcome to a part's: Applied over Ignored over
// Unchanged.
func (m *merger) note(o Outcome) { m.Outcome = max(m.Outcome, o) }

func (m *merger) joinCreation() {
	if compareCreation(m.incoming.Creation, m.current.Creation) < 0 {
		m.Record.Creation = m.incoming.Creation
		m.note(Applied)
	}
}

func compareCreation(a, b resource.Creation) int {
	if c := a.Point().Compare(b.Point()); c != 0 {
		return c
	}
	if a.Actor != b.Actor {
		return int(a.Actor) - int(b.Actor)
	}
	return bytes.Compare(a.Origin[:], b.Origin[:])
}

func (m *merger) joinCounters() {
	if m.incoming.SyncVersion > m.current.SyncVersion {
		m.Record.SyncVersion = m.incoming.SyncVersion
		m.note(Applied)
	}
	if m.incoming.Version > m.current.Version {
		m.Record.Version = m.incoming.Version
		m.note(Applied)
	}
	if m.incoming.Fence.Compare(m.current.Fence) > 0 {
		m.Record.Fence = m.incoming.Fence
		m.note(Applied)
	}
}

// join keeps the register with the higher stamp; between equal stamps the
// higher digest, which only a cloned instance can bring about. Of one write
// with two signatures the higher one is kept, absent being the lowest.
func join[V any](m *merger, by rule, cur, in *resource.Register[V]) (*resource.Register[V], Outcome) {
	switch {
	case in == nil && cur == nil:
		return nil, Unchanged
	case in == nil:
		return cur, Ignored
	case cur == nil:
		return in, Applied
	}
	curDigest, inDigest := cur.Digest(), in.Digest()
	if curDigest == inDigest {
		if bytes.Compare(in.Signature, cur.Signature) > 0 {
			return in, Applied
		}
		return cur, Unchanged
	}
	c := by.compare(in.Stamp, cur.Stamp)
	if in.Stamp.Point() == cur.Stamp.Point() {
		m.Clone = true
	}
	if mutant.NoTieBreak && by.tied(in.Stamp, cur.Stamp) {
		c = -1
	}
	if c == 0 {
		c = bytes.Compare(inDigest[:], curDigest[:])
	}
	won, lost, held, outcome := cur, in, m.incoming, Ignored
	if c > 0 {
		won, lost, held, outcome = in, cur, m.current, Applied
	}
	if won.SameContent(lost) {
		m.twins = append(m.twins, twin{by.register, lost.Stamp, held})
	} else {
		m.lose(by, won.Context, lost.Stamp, won.Stamp, held)
	}
	return won, outcome
}
