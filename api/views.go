package api

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// Bounds of the listings that cannot be continued. They end early rather than
// grow past maxPage.
const (
	viewLimit    = 200
	maxViewLimit = 5000
)

// view answers with what read returns, at most limit of it.
//
// NB: maxPage bounds the answer; what read holds at once only the store can
// bound by bytes.
func view[A, B any](c *call, read func(limit int) ([]A, error), form func(A) (B, error)) error {
	limit, err := c.number("limit", viewLimit, maxViewLimit)
	if err != nil {
		return err
	}
	rows, err := read(limit + 1) // one more tells whether there is more
	if err != nil {
		return err
	}
	out := fleet.List[jsontext.Value]{Items: []jsontext.Value{}, Truncated: len(rows) > limit}
	size := 0
	for _, row := range rows[:min(len(rows), limit)] {
		item, err := form(row)
		if err != nil {
			return err
		}
		b, err := jsonv2.Marshal(item, jsonv2.Deterministic(true))
		if err != nil {
			return err
		}
		if size += len(b); size > maxPage && len(out.Items) > 0 {
			out.Truncated = true
			break
		}
		out.Items = append(out.Items, b)
	}
	return c.json(out)
}

func (c *call) conflicts() error {
	all := func(int) ([]store.NameConflict, error) { return c.store().Conflicts() }
	return view(c, all, func(n store.NameConflict) (fleet.NameConflict, error) {
		out := fleet.NameConflict{Kind: n.Kind, Scope: n.Scope.String(), Name: n.Name, Holder: claimOf(&n.Holder)}
		for i := range n.Others {
			out.Others = append(out.Others, claimOf(&n.Others[i]))
		}
		return out, nil
	})
}

func claimOf(r *resource.Resource) fleet.Claim {
	return fleet.Claim{ID: r.ID, Origin: r.OriginInstanceID, CreatedAt: r.CreatedAt, Digest: r.Digest}
}

func (c *call) parked() error {
	return view(c, c.store().Parked, func(r resource.Resource) (resource.Resource, error) { return r, nil })
}

func (c *call) quarantine() error {
	return view(c, c.store().QuarantineList, func(q store.Quarantined) (fleet.Quarantined, error) {
		out := fleet.Quarantined{From: q.From.String(), Reason: q.Reason, HLC: q.At.String(), At: q.At.Time(), Size: len(q.Frame)}
		if r, err := resource.DecodeRecord(q.Frame); err == nil {
			out.ID, out.Kind, out.Scope, out.Name = r.ID.String(), r.Kind.String(), r.Scope.String(), r.Name
		}
		return out, nil
	})
}
