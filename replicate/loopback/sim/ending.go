package sim

import (
	"fmt"
	"time"

	"driftless.dev/resource"
)

// collected reports whether a version went with a record that was collected:
// its highest deletion stands above everything else that was written.
func (r *run) collected(id resource.ID, v *version) bool {
	d, _ := highest(r.books.versions[register{id, deletion}])
	w, _ := highest(r.books.versions[register{id, desired}])
	return d != nil && w != nil && !rankedAbove(w.stamp, d.stamp) && (v == d || v.name == observed || v.name != desired && v.name != deletion)
}

// collectedRightly: a record that no node holds any more was dead.
func (r *run) collectedRightly(id resource.ID) error {
	d, _ := highest(r.books.versions[register{id, deletion}])
	w, _ := highest(r.books.versions[register{id, desired}])
	switch {
	case w == nil:
		return nil // all of it was destroyed, or nobody was told of it
	case d == nil || rankedAbove(w.stamp, d.stamp):
		return violation("P5", "record %s is nowhere and was not deleted", w.write.record.Name)
	}
	r.reached["collected"]++
	return nil
}

// result sums up a run that held.
func (r *run) result() Result {
	res := Result{Nodes: len(r.f.Nodes()), Acked: r.acked, Virtual: r.f.Now(), Agreed: time.Duration(r.reached["agreed"]), Reached: r.reached}
	delete(r.reached, "agreed")
	for _, n := range r.f.Nodes() {
		s, c := n.Store.Summary(), n.Counters()
		res.State += fmt.Sprintf("%s %d %x\n", s.Super, s.Head.Seq, s.VectorDigest)
		if rows, err := n.Store.Ledger(1 << 20); err == nil {
			res.Ledger += len(rows)
		}
		r.reached["merge: applied"] += c.Applied
		r.reached["merge: ignored"] += c.Ignored
		r.reached["merge: unchanged"] += c.Unchanged
		r.reached["conflict"] += c.Conflicts
		r.reached["publish failed"] += c.PublishFailures
		r.reached["pulled"] += c.Pulled
		r.reached["pushed"] += c.Pushed
		for result, times := range c.Sessions {
			r.reached["session: "+result] += times
		}
	}
	for what, times := range r.f.Counts() {
		r.reached[what] += times
	}
	return res
}
