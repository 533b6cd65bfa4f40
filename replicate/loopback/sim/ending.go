package sim

import (
	"fmt"
	"time"
)

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
		r.reached["collected: refused as gone"] += c.Gone
		r.reached["event held"] += c.Held
		r.reached["fork settled"] += c.Forks
		r.reached["rollback settled"] += c.Rollbacks
		r.reached["floor raised"] += c.FloorRaises
		r.reached["bootstrapped"] += c.Bootstraps
		r.reached["clone heard"] += c.OwnClones
		r.reached["clock repaired"] += c.ClockRepairs
		for result, times := range c.Sessions {
			r.reached["session: "+result] += times
		}
	}
	for what, times := range r.f.Counts() {
		r.reached[what] += times
	}
	return res
}
