package sim

import (
	"errors"
	"strings"

	"driftless.dev/resource"
)

// accounted is P5: every acknowledged write is there, or was knowingly
// replaced, or is in a ledger.
func (r *run) accounted() error {
	listed := map[register]map[resource.Point]bool{}
	for _, n := range r.f.Nodes() {
		rows, err := n.Store.Ledger(1 << 20)
		if err != nil {
			return err
		}
		for i := range rows {
			l := &rows[i]
			lost := []version{{register: register{l.Record.ID, l.Register}, stamp: l.Stamp}}
			if l.Reason == "collected" { // the record as a whole was set aside
				lost = registersOf(&l.Record)
			}
			r.reached["ledger: "+string(l.Reason)]++
			for _, v := range lost {
				if listed[v.register] == nil {
					listed[v.register] = map[resource.Point]bool{}
				}
				listed[v.register][v.stamp.Point()] = true
			}
		}
	}
	for _, id := range r.books.records {
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		here := &rec
		if errors.Is(err, resource.ErrNotFound) {
			here = nil
		} else if err != nil {
			return err
		}
		for _, w := range r.books.known[id] {
			for _, v := range w.versions {
				if !v.acked || v.gone || v.renamed || r.told(here, v, listed) || r.twinTold(here, v, listed) {
					continue
				}
				return violation("P5", "record %s: the write of %s at %s on node %d is not there, was not knowingly replaced and is in no ledger", w.record.Name, v.name, v.stamp.Point(), w.node)
			}
		}
	}
	return nil
}

// told reports whether somebody can find out what became of a version: it
// stands, was knowingly replaced, is listed, or ended with its record.
func (r *run) told(here *resource.Record, v *version, listed map[register]map[resource.Point]bool) bool {
	if v.replaced || listed[v.register][v.stamp.Point()] || here != nil && stands(here, v) {
		return true
	}
	if strings.HasPrefix(v.name, finalizers) {
		return r.books.included(here, v) && (!v.present || r.books.swept(v))
	}
	before := resource.Point{}
	if here != nil {
		before = here.Creation.Point()
	}
	// What was collected is told by the deletion itself; that it stood above
	// the write, and did not know of it, has to be listed like any other loss.
	ended := r.books.ended(v, before)
	return ended && (v.name == deletion || v.name == observed || v.write.deletes(v.stamp.Point()))
}

// stands reports whether a version is what its register holds and in effect:
// of desired and deletion the higher is.
func stands(r *resource.Record, v *version) bool {
	have, ok := held(r, v.name)
	if !ok {
		return false
	}
	if strings.HasPrefix(v.name, finalizers) {
		return !above(v, &have) // a finalizer's later entry says what became of it
	}
	other, rival := version{}, false
	switch v.name {
	case desired:
		other, rival = held(r, deletion)
	case deletion:
		other, rival = held(r, desired)
	}
	return have.stamp.Point() == v.stamp.Point() && (!rival || !above(&other, &have))
}

// twinTold: a version that lost to one of the same content has lost nothing.
func (r *run) twinTold(here *resource.Record, v *version, listed map[register]map[resource.Point]bool) bool {
	for _, t := range r.books.versions[v.register] {
		if t != v && t.content == v.content && r.told(here, t, listed) {
			return true
		}
	}
	return false
}
