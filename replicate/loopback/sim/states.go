package sim

import (
	"bytes"
	"errors"

	"driftless.dev/resource"
)

// sound: every log folds to its projection, P9.
func (r *run) sound() error {
	for i, n := range r.f.Nodes() {
		problems, err := n.Store.Check()
		if err != nil || len(problems) > 0 {
			return violation("P9", "node %d: check: %v %v", i, problems, err)
		}
	}
	return nil
}

// identical: every node holds the same bytes of the same records, P2; equal
// roots over unequal records would be a lie.
func (r *run) identical() error {
	nodes := r.f.Nodes()
	for _, id := range r.books.records {
		var first []byte
		for i, n := range nodes {
			rec, err := n.Store.Record(id.String())
			var frame []byte
			switch {
			case err == nil:
				frame = rec.AppendTo(nil)
			case !errors.Is(err, resource.ErrNotFound):
				return err
			}
			if i == 0 {
				first = frame
			} else if !bytes.Equal(first, frame) {
				return violation("P2", "nodes 0 and %d agree and hold record %s differently (%d and %d bytes)", i, id, len(first), len(frame))
			}
		}
	}
	return nil
}

// joined: what the fleet ended with is the highest of everything that was
// written, register by register, P2 and the order of who wins.
func (r *run) joined() error {
	for _, id := range r.books.records {
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		here := &rec
		if errors.Is(err, resource.ErrNotFound) {
			here = nil
			r.reached["collected"]++
		} else if err != nil {
			return err
		}
		for _, v := range r.newest(id) {
			if r.books.included(here, v) || r.setAside(v) {
				continue
			}
			promise := "P5"
			if have, ok := held(&rec, v.name); ok && v.stamp.Actor == resource.Human && have.stamp.Actor != resource.Human {
				promise = "P5 person"
			}
			return violation(promise, "record %s: %s was written at %s by %s, nothing stands above it, and it is not there", v.write.record.Name, v.name, v.stamp.Point(), v.stamp.Actor)
		}
	}
	return nil
}

// newest lists the highest acknowledged version of each of a record's
// registers that nothing destroyed, in order of first writing.
func (r *run) newest(id resource.ID) (out []*version) {
	seen := map[register]bool{}
	for _, w := range r.books.known[id] {
		for _, v := range w.versions {
			if seen[v.register] {
				continue
			}
			seen[v.register] = true
			if safe, _ := highest(r.books.versions[v.register]); safe != nil {
				out = append(out, safe)
			}
		}
	}
	return out
}
