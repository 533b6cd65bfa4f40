package sim

import (
	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
)

// noteParked counts records whose kind is not known on a node, and their
// showing when it comes.
func (r *run) noteParked(n *loopback.Node) error {
	rows, err := n.Store.Parked(1)
	if err != nil {
		return err
	}
	book := r.seen[n.Index()]
	if now := len(rows) > 0; now != book.parked {
		book.parked = now
		if now {
			r.reached["parked entered"]++
		} else {
			r.reached["parked left"]++
		}
	}
	return nil
}

// noteReturn counts tombstones that came to life again.
func (r *run) noteReturn(n *loopback.Node, id resource.ID, live, known bool) {
	book := r.seen[n.Index()]
	if live && book.dead[id] {
		r.reached["returned from the dead"]++
	}
	book.dead[id] = known && !live
}

// rebuilt: a projection made anew from the newest snapshot and the log behind
// it is the one there is, P9.
func (r *run) rebuilt() error {
	for i, n := range r.f.Nodes() {
		if err := r.noteQuarantine(n); err != nil {
			return err
		}
		conflicts, err := n.Store.Conflicts()
		if err != nil {
			return err
		}
		r.reached["name conflict"] += uint64(len(conflicts))
		if !r.seen[i].snapshot {
			continue
		}
		root, err := n.Rebuild()
		if err != nil {
			return violation("P9", "node %d: rebuild from the snapshot: %v", i, err)
		}
		if root != n.Store.Summary().Super {
			return violation("P9", "node %d: what is rebuilt from the snapshot and the log is another state", i)
		}
		r.reached["snapshot used"]++
	}
	return nil
}

// noteQuarantine counts what was refused once and is in the state now.
func (r *run) noteQuarantine(n *loopback.Node) error {
	rows, err := n.Store.QuarantineList(1 << 10)
	if err != nil {
		return err
	}
	for i := range rows {
		refused, err := resource.DecodeRecord(rows[i].Frame)
		if err != nil {
			return violation("P10", "node %d: a record in quarantine does not read: %v", n.Index(), err)
		}
		rec, err := n.Store.Record(refused.ID.String())
		if err != nil {
			continue
		}
		in := true
		for _, v := range registersOf(&refused) {
			in = in && r.books.included(&rec, &v)
		}
		if in {
			r.reached["quarantine left"]++
		}
	}
	return nil
}
