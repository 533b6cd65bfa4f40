package api

import (
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// ledger lists what lost, page by page. A page holds at most maxPage of the
// store's bytes, whether they are shown or not: they are read.
func (c *call) ledger() error {
	q, err := c.lossQuery()
	if err != nil {
		return err
	}
	full, err := c.flag("full")
	if err != nil {
		return err
	}
	page, err := c.store().Losses(c.r.Context(), q)
	if err != nil {
		return err
	}
	names, err := c.memberNames()
	if err != nil {
		return err
	}
	out := fleet.List[jsontext.Value]{Items: []jsontext.Value{}, Continue: page.Continue}
	for i := range page.Items {
		l, err := names.loss(&page.Items[i], full)
		if err != nil {
			return err
		}
		b, err := jsonv2.Marshal(l, jsonv2.Deterministic(true))
		if err != nil {
			return err
		}
		out.Items = append(out.Items, b)
	}
	return c.json(out)
}

// lossQuery reads the query of a listing of the ledger.
func (c *call) lossQuery() (q store.LossQuery, err error) {
	q = store.LossQuery{
		Kind: c.query.Get("kind"), Name: c.query.Get("name"), Reason: c.query.Get("reason"),
		Continue: c.query.Get("continue"), Bytes: maxPage,
	}
	if q.Limit, err = c.number("limit", viewLimit, maxViewLimit); err != nil {
		return q, err
	}
	if c.query.Has("id") {
		if q.ID, err = resource.ParseID(c.query.Get("id")); err != nil {
			return q, malformed("query: %v", err)
		}
	}
	if c.query.Has("scope") {
		sc, err := resource.ParseScope(c.query.Get("scope"))
		if err != nil {
			return q, malformed("query: %v", err)
		}
		q.Scope = &sc
	}
	for _, name := range []string{"kind", "name", "reason"} {
		if c.query.Has(name) && c.query.Get(name) == "" {
			return q, malformed("query: %s is empty", name)
		}
	}
	return q, nil
}

// loss answers with one entry, whole.
func (c *call) loss() error {
	l, err := c.store().Loss(c.r.Context(), c.r.PathValue("entry"))
	if err != nil {
		return err
	}
	names, err := c.memberNames()
	if err != nil {
		return err
	}
	out, err := names.loss(&l, true)
	if err != nil {
		return err
	}
	return c.json(out)
}

// memberNames are the members' names, by instance and by incarnation.
type memberNames map[string]string

func (c *call) memberNames() (memberNames, error) {
	members, err := c.store().List(c.r.Context(), resource.MemberKind, resource.Scope{}, nil)
	if err != nil {
		return nil, err
	}
	out := memberNames{}
	for i := range members {
		var spec struct {
			Name         string   `json:"name"`
			Incarnations []string `json:"incarnations"`
		}
		if err := jsonv2.Unmarshal(members[i].Spec, &spec); err != nil {
			continue // not written by a node: it names nobody
		}
		out[members[i].Name] = spec.Name
		for _, inc := range spec.Incarnations {
			out[inc] = spec.Name
		}
	}
	return out, nil
}

// loss is an entry of the ledger as it is told.
func (n memberNames) loss(l *store.Loss, full bool) (out fleet.Loss, err error) {
	r := &l.Record
	out = fleet.Loss{
		Entry: l.Entry(), ID: r.ID.String(), Kind: r.Kind.String(), Scope: r.Scope.String(), Name: r.Name,
		Register: l.Register, Reason: string(l.Reason), HLC: l.Stamp.HLC.String(), Writer: l.Stamp.Writer.String(),
		Actor: l.Actor(), Winner: l.Winner.String(), FoundAt: l.At.Time(),
	}
	if !l.From.IsZero() {
		out.From = l.From.String()
	}
	out.FromName, out.WriterName = n[out.From], n[out.Writer]
	_, winner, _ := strings.Cut(out.Winner, "@")
	out.WinnerName = n[winner]
	if d := r.Deletion; l.Register == "deletion" && d != nil {
		out.Strength = d.Value.Strength.String()
	}
	if full {
		out.Resource, err = r.Resource().MarshalJSON()
	}
	return out, err
}
