package api

import (
	"net/http"
	"strconv"

	"driftless.dev/fleet"
	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
)

func (c *call) get() error {
	t, err := c.target()
	if err != nil {
		return err
	}
	resolve, err := c.flag("resolve")
	if err != nil {
		return err
	}
	c.describeHead()
	var r resource.Resource
	if resolve {
		r, err = c.store().GetResolved(c.r.Context(), t.word, t.scope, t.name)
	} else {
		r, err = c.read(t)
	}
	if err != nil {
		return err
	}
	c.describe(&r)
	if tag := c.r.Header.Get("If-None-Match"); tag != "" && tag == c.w.Header().Get("ETag") {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return c.resource(http.StatusOK, &r)
}

// describeHead says how far the log was before a read: everything up to that
// entry is in the answer.
func (c *call) describeHead() {
	c.w.Header().Set(headerSeq, strconv.FormatUint(c.store().Head().Seq, 10))
}

// describe sets the headers that tell of a record.
func (c *call) describe(r *resource.Resource) {
	h := c.w.Header()
	h.Set("ETag", `"`+r.Digest+`"`)
	h.Set(headerHLC, newest(r).String())
	if !r.Fence.IsZero() {
		h.Set(headerEpoch, r.Fence.String())
	}
}

func newest(r *resource.Resource) hlc.Timestamp {
	return max(r.DesiredStamp.HLC, r.DeletionStamp.HLC, r.ObservedStamp.HLC)
}

func (c *call) resource(status int, r *resource.Resource) error {
	b, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	return c.send(status, b)
}

func (c *call) listEverywhere() error { return c.list(nil) }

func (c *call) listScope() error {
	sc, err := c.scope()
	if err != nil {
		return err
	}
	return c.list(&sc)
}

// Bounds of a listing. Without a limit it is whole, and streamed so that
// neither side of this process holds all of it; with one, a page ends early
// rather than grow past maxPage.
const (
	maxLimit  = 1_000_000
	listChunk = 100
	maxPage   = 16 << 20
)

func (c *call) list(scope *resource.Scope) error {
	keys, err := c.flag("keys")
	if err != nil {
		return err
	}
	if keys {
		return c.listKeys(scope)
	}
	if c.query.Has("name") && c.query.Get("name") == "" {
		return malformed("query: name is empty")
	}
	limit, err := c.number("limit", 0, maxLimit)
	if err != nil {
		return err
	}
	sel, err := resource.ParseSelector(c.query.Get("selector"))
	if err != nil {
		return malformed("query: %v", err)
	}
	q := store.Query{
		Kind: c.r.PathValue("kind"), Scope: scope, Selector: sel, Name: c.query.Get("name"),
		Limit: listChunk, Continue: c.query.Get("continue"),
	}
	c.describeHead()
	return c.stream(q, limit)
}

// stream writes a listing chunk by chunk. What goes wrong after the first
// cannot be told any more, so the answer breaks off.
func (c *call) stream(q store.Query, limit int) error {
	sent, size, sep := 0, 0, `{"items":[`
	for {
		if limit > 0 {
			q.Limit = min(listChunk, limit-sent)
		}
		page, err := c.store().Query(c.r.Context(), q)
		if err != nil {
			return err
		}
		if sent == 0 {
			c.w.Header().Set("Content-Type", "application/json")
		}
		b := []byte(nil)
		for i := range page.Items {
			item, err := page.Items[i].MarshalJSON()
			if err != nil {
				return err
			}
			b = append(append(b, sep...), item...)
			sep = ","
		}
		sent, size, q.Continue = sent+len(page.Items), size+len(b), page.Continue
		last := q.Continue == "" || limit > 0 && (sent >= limit || size >= maxPage)
		if last {
			if sent == 0 {
				b = append(b, sep...)
			}
			b = append(b, `],"continue":"`+q.Continue+"\"}\n"...)
		}
		if _, err := c.w.Write(b); err != nil || last {
			return nil // a client that is gone needs no rest
		}
	}
}

func (c *call) listKeys(scope *resource.Scope) error {
	for _, other := range []string{"selector", "limit", "continue", "resolve"} {
		if c.query.Has(other) {
			return malformed("query: keys=true lists whole, without %s", other)
		}
	}
	c.describeHead()
	keys, err := c.store().ListKeys(c.r.Context(), c.r.PathValue("kind"))
	if err != nil {
		return err
	}
	out := fleet.List[fleet.Key]{Items: []fleet.Key{}}
	for _, k := range keys {
		if (scope == nil || k.Scope == *scope) && (!c.query.Has("name") || k.Name == c.query.Get("name")) {
			out.Items = append(out.Items, fleet.Key{Kind: k.Kind, Scope: k.Scope.String(), Name: k.Name})
		}
	}
	return c.json(out)
}

func (c *call) kinds() error {
	return c.json(fleet.List[resource.Kind]{Items: c.store().Registry().Kinds()})
}
