package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// put replaces labels, annotations and spec; finalizers and owner references
// that the body leaves out stay, and its status is not looked at.
func (c *call) put() error {
	t, err := c.target()
	if err != nil {
		return err
	}
	r, given, err := c.document(t)
	if err != nil {
		return err
	}
	given.Status = false
	return c.write(store.Write{Op: store.OpPut, ID: t.id, Resource: r, Given: &given}, t)
}

// create is for a name that is free, or one to be generated.
func (c *call) create() error {
	sc, err := c.scope()
	if err != nil {
		return err
	}
	r, given, err := c.document(target{word: c.r.PathValue("kind"), scope: sc})
	if err != nil {
		return err
	}
	if c.r.Header.Get("If-Match") != "" {
		return malformed("If-Match: a create has nothing to match")
	}
	given.Status = false
	return c.write(store.Write{Op: store.OpPut, Resource: r, Given: &given, CreateOnly: true}, target{})
}

// putStatus writes the status alone.
func (c *call) putStatus() error {
	t, err := c.target()
	if err != nil {
		return err
	}
	r, given, err := c.document(t)
	if err != nil {
		return err
	}
	if !given.Status {
		return fmt.Errorf("%w: status: is required, null clears it", resource.ErrInvalid)
	}
	w := t.address(store.OpStatus)
	w.Resource = resource.Resource{Status: r.Status}
	return c.write(w, t)
}

// remove is DELETE.
func (c *call) remove() error {
	switch c.query.Get("strength") {
	case "":
		if !c.query.Has("strength") {
			return c.act(store.OpDelete)
		}
	case resource.Delete.String():
		return c.act(store.OpDelete)
	case resource.Teardown.String():
		c.op = "teardown"
		return c.act(store.OpTeardown)
	}
	return malformed("query: strength is teardown or delete")
}

func (c *call) teardown() error { return c.act(store.OpTeardown) }
func (c *call) destroy() error  { return c.act(store.OpDestroy) }
func (c *call) release() error  { return c.act(store.OpRelease) }
func (c *call) claim() error    { return c.act(store.OpClaim) }

// act is a write that has no body.
func (c *call) act(op store.Op) error {
	t, err := c.target()
	if err != nil {
		return err
	}
	if err := c.noBody(); err != nil {
		return err
	}
	return c.write(t.address(op), t)
}

// write completes a write from headers and query, makes it, waits as asked and
// answers.
func (c *call) write(w store.Write, t target) error {
	o, err := c.options(&w)
	if err != nil {
		return err
	}
	out, err := c.perform(w, t, o.mustExist)
	if err != nil {
		return err
	}
	if o.concern.Level != LevelLocal && !w.DryRun {
		ctx, cancel := context.WithTimeout(c.r.Context(), o.timeout)
		defer cancel()
		c.w.Header().Set(headerWaitResult, c.cfg.Node.Wait(ctx, o.concern, out).String())
	}
	return c.written(&out)
}

// maxAttempts bounds the retries of a write that must find a record, whatever
// its digest.
const maxAttempts = 16

// perform makes the write. One that must find a record pins the digest it
// finds, so that a deletion in between cannot turn it into a create.
func (c *call) perform(w store.Write, t target, mustExist bool) (out store.Written, _ error) {
	if !mustExist {
		return c.store().Write(c.r.Context(), w)
	}
	var last error
	for range maxAttempts {
		cur, err := c.read(t)
		if errors.Is(err, resource.ErrNotFound) {
			return out, &refusal{http.StatusPreconditionFailed, fleet.CodeConflict, "If-Match: *: the record does not exist"}
		}
		if err != nil {
			return out, err
		}
		w.IfDigest = cur.Digest
		if out, last = c.store().Write(c.r.Context(), w); !errors.Is(last, resource.ErrConflict) {
			return out, last
		}
	}
	return out, last
}

// written answers with what a write came to. A dry run's answer looks like the
// real one's.
func (c *call) written(out *store.Written) error {
	h := c.w.Header()
	c.describe(&out.Resource)
	h.Set(headerSeq, strconv.FormatUint(out.Seq, 10))
	h.Set(headerHLC, out.HLC.String())
	status := http.StatusOK
	if out.Created {
		status = http.StatusCreated
		h.Set("Location", pathOf(&out.Resource))
	}
	return c.resource(status, &out.Resource)
}
