package resolve

import "driftless.dev/resource"

// rule is the order of one register's stamps, and the reason it gives.
type rule struct {
	register string
	compare  func(a, b resource.Stamp) int
	reason   func(lost, won resource.Stamp) Reason
}

func ranked(register string) rule { return rule{register, resource.Stamp.Compare, rankedReason} }

// tied reports whether the writer alone tells two stamps apart.
func (r rule) tied(a, b resource.Stamp) bool {
	a.Writer, b.Writer = resource.ID{}, resource.ID{}
	return r.compare(a, b) == 0
}

func unranked(register string) rule {
	return rule{register, resource.Stamp.CompareObserved, unrankedReason}
}

// lose reports a register that lost, unless the winner's writer had it in
// view.
func (m *merger) lose(by rule, winner resource.Context, lost, won resource.Stamp, held *resource.Record) {
	if winner.Knows(lost.Point()) {
		return
	}
	m.Losers = append(m.Losers, Loser{Register: by.register, Stamp: lost, Winner: won, Reason: by.reason(lost, won), Record: *held})
}

// twin is a register that lost to one of the same content, and so has lost
// nothing yet: what it says still stands.
type twin struct {
	register string
	stamp    resource.Stamp
	held     *resource.Record
}

// undo reports what desired and deletion lost to each other: a put that stands
// in a tombstone whose deletion did not know of it, or a deletion that a put
// took back without having known of it. Both registers stay in the record, and
// that alone would be a silent loss. A twin shares the fate of what replaced
// it, unless its own version had come to that already.
func (m *merger) undo() {
	r := &m.Record
	if r.Deletion == nil {
		return
	}
	by, undone := ranked("deletion"), r.Deletion.Stamp
	winner, context := r.Desired.Stamp, r.Desired.Context
	if r.Requested() {
		by, undone = ranked("desired"), r.Desired.Stamp
		winner, context = r.Deletion.Stamp, r.Deletion.Context
	}
	together := undone.Point() == winner.Point() // one write stamped both
	if !together && (m.Desired == Applied || m.Deletion == Applied) {
		m.lose(by, context, undone, winner, r)
	}
	for _, t := range m.twins {
		if t.register == by.register && t.held.Requested() != r.Requested() {
			m.lose(by, context, t.stamp, winner, t.held)
		}
	}
}

func rankedReason(lost, won resource.Stamp) Reason {
	person := lost.Actor == resource.Human
	switch {
	case won.Point() == lost.Point():
		return Cloned
	case won.Release > lost.Release:
		return Released
	case won.Actor == resource.Human && !person:
		return Outranked
	case won.Epoch.Compare(lost.Epoch) > 0 && !person:
		return Fenced
	default:
		return Later
	}
}

func unrankedReason(lost, won resource.Stamp) Reason {
	switch {
	case won.Point() == lost.Point():
		return Cloned
	case won.Release > lost.Release:
		return Released
	case won.Epoch.Compare(lost.Epoch) > 0:
		return Fenced
	default:
		return Later
	}
}
