package client

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"driftless.dev/resource"
)

// Put creates or updates a resource at its address: labels, annotations and
// spec are replaced. Nil finalizers and owner references stay as they are,
// empty ones clear; the status is PutStatus's.
func (c *Client) Put(ctx context.Context, r resource.Resource) (Written, error) {
	if r.Name == "" {
		return Written{}, fmt.Errorf("%w: metadata.name: is required; Create can generate one", resource.ErrInvalid)
	}
	body, err := formOf(&r)
	if err != nil {
		return Written{}, err
	}
	return c.write(ctx, http.MethodPut, namePath(kindOf(&r), r.Scope, r.Name), body)
}

// PutByID updates the record of an id.
func (c *Client) PutByID(ctx context.Context, id string, r resource.Resource) (Written, error) {
	body, err := formOf(&r)
	if err != nil {
		return Written{}, err
	}
	return c.write(ctx, http.MethodPut, idPath(id), body)
}

// Create creates a resource under a name that is free, or under GenerateName
// and its id.
func (c *Client) Create(ctx context.Context, r resource.Resource) (Written, error) {
	body, err := formOf(&r)
	if err != nil {
		return Written{}, err
	}
	return c.write(ctx, http.MethodPost, kindPath(kindOf(&r), r.Scope), body)
}

// PutStatus writes a resource's status alone, nil clears it. The resource is
// addressed by its ID when it has one, else by its name.
func (c *Client) PutStatus(ctx context.Context, r resource.Resource) (Written, error) {
	status := r.Status
	if len(status) == 0 {
		status = []byte("null")
	}
	path := namePath(kindOf(&r), r.Scope, r.Name)
	if r.ID != "" {
		path = idPath(r.ID)
	}
	return c.write(ctx, http.MethodPut, path+"/status", slices.Concat([]byte(`{"metadata":{},"status":`), status, []byte(`}`)))
}

// Target addresses a record: by ID when that is set, else by kind, scope and
// name.
type Target struct {
	ID    string
	Kind  string
	Scope resource.Scope
	Name  string
}

// At addresses a record by name.
func At(kind string, scope resource.Scope, name string) Target {
	return Target{Kind: kind, Scope: scope, Name: name}
}

// ByID addresses a record by its id.
func ByID(id string) Target { return Target{ID: id} }

func (t Target) path() string {
	if t.ID != "" {
		return idPath(t.ID)
	}
	return namePath(t.Kind, t.Scope, t.Name)
}

// Delete asks for a record's deletion: at once, or when no finalizer stands.
func (c *Client) Delete(ctx context.Context, t Target) (Written, error) {
	return c.write(ctx, http.MethodDelete, t.path(), nil)
}

// Teardown asks the record's holders to wind it up; it stays until Destroy.
func (c *Client) Teardown(ctx context.Context, t Target) (Written, error) {
	return c.act(ctx, t, "teardown")
}

// Destroy completes a teardown, once no finalizer stands.
func (c *Client) Destroy(ctx context.Context, t Target) (Written, error) {
	return c.act(ctx, t, "destroy")
}

// Release gives the record back to automation, as a person.
func (c *Client) Release(ctx context.Context, t Target) (Written, error) {
	return c.act(ctx, t, "release")
}

// Claim takes the record for a new holder, whose token is the result's Epoch.
func (c *Client) Claim(ctx context.Context, t Target) (Written, error) {
	return c.act(ctx, t, "claim")
}

func (c *Client) act(ctx context.Context, t Target, action string) (Written, error) {
	return c.write(ctx, http.MethodPost, t.path()+"/"+action, nil)
}
