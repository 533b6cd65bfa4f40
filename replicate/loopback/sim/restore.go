package sim

import (
	"driftless.dev/resource"
)

// mourn finds out, after a restore, which versions it destroyed the last trace
// of: those that no node holds and no ledger lists. These and no others are excepted from what is promised.
func (r *run) mourn() error {
	traces := map[register]map[resource.Point]bool{}
	trace := func(reg register, p resource.Point) {
		if traces[reg] == nil {
			traces[reg] = map[resource.Point]bool{}
		}
		traces[reg][p] = true
	}
	for _, n := range r.f.Nodes() {
		rows, err := n.Store.Ledger(1 << 20)
		if err != nil {
			return err
		}
		for i := range rows {
			trace(register{rows[i].Record.ID, rows[i].Register}, rows[i].Stamp.Point())
		}
		for _, id := range r.books.records {
			rec, err := n.Store.Record(id.String())
			if err != nil {
				continue
			}
			for _, v := range registersOf(&rec) {
				trace(v.register, v.stamp.Point())
			}
		}
	}
	for _, w := range r.books.writes {
		for _, v := range w.versions {
			if !v.gone && !traces[v.register][v.stamp.Point()] {
				v.gone = true
				r.reached["sole copy destroyed"]++
			}
		}
	}
	return nil
}
