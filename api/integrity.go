package api

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/store"
)

// stall is how long a reader of a snapshot may take nothing.
const stall = time.Minute

// snapshot streams a snapshot file. What goes wrong on the way breaks the
// answer off: without its end the file is none.
func (c *call) snapshot() error {
	if err := c.noBody(); err != nil {
		return err
	}
	if !c.saving.TryLock() {
		return &refusal{http.StatusServiceUnavailable, fleet.CodeUnavailable, "another snapshot is being saved: try again when it is done"}
	}
	defer c.saving.Unlock()
	c.w.Header().Set("Content-Type", "application/octet-stream")
	_, err := c.store().Export(c.r.Context(), &stalling{c.w, http.NewResponseController(c.w)})
	return err
}

// stalling gives every write a time of its own: the whole may take any.
type stalling struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
}

func (s *stalling) Write(b []byte) (int, error) {
	// The system holds deadlines against its own clock, not the node's.
	_ = s.ctl.SetWriteDeadline(time.Now().Add(stall)) // not every writer has one
	return s.w.Write(b)
}

func (c *call) fsck() error {
	if err := c.noBody(); err != nil {
		return err
	}
	repair, err := c.flag("repair")
	if err != nil {
		return err
	}
	r, err := c.store().Fsck(c.r.Context(), repair)
	if err != nil {
		return err
	}
	return c.json(FsckView(&r))
}

func (c *call) repair() error {
	if err := c.noBody(); err != nil {
		return err
	}
	from := c.query.Get("from")
	switch {
	case c.cfg.Repair == nil:
		return &refusal{http.StatusNotFound, fleet.CodeNotFound, "this node has no members to repair from"}
	case from == "":
		return malformed("query: from names the member to take from")
	}
	out, err := c.cfg.Repair(c.r.Context(), from)
	if err != nil {
		return err
	}
	return c.json(out)
}

// FsckView is a store's report as it is told.
func FsckView(r *store.Report) fleet.Fsck {
	out := fleet.Fsck{Verdict: string(r.Soundness()), Rows: r.Rows, Faults: []fleet.Fault{}}
	for i := range r.Faults {
		f := &r.Faults[i]
		v := fleet.Fault{
			Bucket: f.Bucket.String(), Key: hex.EncodeToString(f.Key), Problem: f.Problem, Meaning: f.Meaning,
			Remedy: string(f.Remedy), Repaired: f.Repaired,
		}
		if !f.Record.IsZero() {
			v.Record = f.Record.String()
		}
		out.Faults = append(out.Faults, v)
	}
	return out
}

// SnapshotView is a snapshot's manifest as it is told.
func SnapshotView(m *store.Manifest) fleet.Snapshot {
	out := fleet.Snapshot{
		Format: int(m.Format), Fleet: m.Fleet.Name, FleetID: hex.EncodeToString(m.Fleet.ID[:]),
		Instance: m.Identity.Instance.String(), Incarnation: m.Identity.Incarnation.String(), LogID: m.Identity.LogID.String(),
		CreatedAt: m.Created.Time(), Seq: m.Head.Seq, HLC: m.Head.HLC.String(), SuperRoot: m.Super.String(),
		Records: m.Records, Ledger: m.Ledger, Quarantined: m.Quarantined, Chunks: m.Chunks,
		Realms: []fleet.Realm{}, Vector: []fleet.Position{}, Floor: []fleet.FloorEntry{},
	}
	for _, r := range m.Realms {
		out.Realms = append(out.Realms, fleet.Realm{Name: r.Realm, Root: r.Root.String(), Records: int(r.Records)})
	}
	for _, inc := range m.Vector.Incarnations() {
		p := m.Vector[inc]
		out.Vector = append(out.Vector, fleet.Position{Incarnation: inc.String(), Seq: p.Seq, HLC: p.HLC.String()})
	}
	for _, inc := range m.Floor.Incarnations() {
		out.Floor = append(out.Floor, fleet.FloorEntry{Incarnation: inc.String(), HLC: m.Floor[inc].String()})
	}
	return out
}

// DamageView is what a store knows to be damaged, up to limit rows.
func DamageView(rows []store.Damage, limit int) (out []fleet.Damage) {
	for _, d := range rows[:min(len(rows), limit)] {
		v := fleet.Damage{Bucket: d.Bucket.String(), Key: fmt.Sprintf("%x", d.Key), Reason: d.Reason}
		if !d.Record.IsZero() {
			v.Record = d.Record.String()
		}
		out = append(out, v)
	}
	return out
}
