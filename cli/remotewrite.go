package cli

import (
	"context"

	"driftless.dev/client"
	"driftless.dev/resource"
)

// Put writes a record at its address, or creates one.
func (r *remote) Put(ctx context.Context, at address, want resource.Resource, o writeOptions) (written, error) {
	return r.write(o, func(c *client.Client) (client.Written, error) {
		want.Scope = at.scope
		switch {
		case at.id != "":
			return c.PutByID(ctx, at.id, want)
		case at.name == "":
			return c.Create(ctx, want)
		}
		return c.Put(ctx, want)
	})
}

// Delete asks for a record's deletion.
func (r *remote) Delete(ctx context.Context, at address, o writeOptions) (written, error) {
	return r.write(o, func(c *client.Client) (client.Written, error) { return c.Delete(ctx, at.target()) })
}

// PutStatus writes a record's status alone.
func (r *remote) PutStatus(ctx context.Context, id string, status []byte, o writeOptions) (written, error) {
	return r.write(o, func(c *client.Client) (client.Written, error) {
		return c.PutStatus(ctx, resource.Resource{ID: id, Status: status})
	})
}

// Teardown asks a record's holders to wind it up.
func (r *remote) Teardown(ctx context.Context, at address, o writeOptions) (written, error) {
	return r.write(o, func(c *client.Client) (client.Written, error) { return c.Teardown(ctx, at.target()) })
}

// Release gives a record back to automation.
func (r *remote) Release(ctx context.Context, at address, o writeOptions) (written, error) {
	return r.write(o, func(c *client.Client) (client.Written, error) { return c.Release(ctx, at.target()) })
}

// Claim takes a record for a new holder.
func (r *remote) Claim(ctx context.Context, at address, o writeOptions) (written, error) {
	return r.write(o, func(c *client.Client) (client.Written, error) { return c.Claim(ctx, at.target()) })
}

func (r *remote) write(o writeOptions, call func(*client.Client) (client.Written, error)) (written, error) {
	w, err := call(r.client.With(client.Call{
		Actor: o.actor.String(), Owner: o.owner, Epoch: o.epoch, IfMatch: o.ifMatch,
		Wait: o.wait, WaitTimeout: o.waitTimeout, DryRun: o.dryRun,
	}))
	out := written{resource: w.Resource, created: w.Created, epoch: w.Epoch}
	if w.Wait != nil {
		out.waited = waited{reached: w.Wait.Reached, wanted: w.Wait.Wanted, missing: w.Wait.Missing, superseded: w.Wait.Superseded}
	}
	return out, r.told(err)
}
