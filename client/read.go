package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// Get returns the live resource of an address. kind is any of its words:
// name, plural or alias, alone or followed by a dot and its group.
func (c *Client) Get(ctx context.Context, kind string, scope resource.Scope, name string) (resource.Resource, error) {
	return read[resource.Resource](ctx, c, request{method: http.MethodGet, path: namePath(kind, scope, name)})
}

// GetByID returns the live resource of an id.
func (c *Client) GetByID(ctx context.Context, id string) (resource.Resource, error) {
	return read[resource.Resource](ctx, c, request{method: http.MethodGet, path: idPath(id)})
}

// GetResolved returns the most specific live resource of a name: in the scope
// itself or in a wider one.
func (c *Client) GetResolved(ctx context.Context, kind string, scope resource.Scope, name string) (resource.Resource, error) {
	return read[resource.Resource](ctx, c, request{method: http.MethodGet, path: namePath(kind, scope, name), query: url.Values{"resolve": {"true"}}})
}

// Query asks for a kind's live resources.
type Query struct {
	Kind     string
	Scope    *resource.Scope // nil for every scope
	Selector string
	// Name, when set, keeps resources of that name alone.
	Name string
}

func (q Query) request(query url.Values) request {
	path := "/v1/resources/" + url.PathEscape(q.Kind)
	if q.Scope != nil {
		path = kindPath(q.Kind, *q.Scope)
	}
	if q.Selector != "" {
		query.Set("selector", q.Selector)
	}
	if q.Name != "" {
		query.Set("name", q.Name)
	}
	return request{method: http.MethodGet, path: path, query: query}
}

// pageSize is how many items a listing asks for at a time.
const pageSize = 500

// List returns what a query finds, by scope, name and id.
func (c *Client) List(ctx context.Context, q Query) ([]resource.Resource, error) {
	var out []resource.Resource
	for r, err := range c.All(ctx, q) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// All iterates over what a query finds, page by page. It ends with the first
// error. Writes meanwhile may show or not.
func (c *Client) All(ctx context.Context, q Query) iter.Seq2[resource.Resource, error] {
	return pages[resource.Resource](ctx, c, q.request)
}

// pages iterates over a listing, page by page.
func pages[T any](ctx context.Context, c *Client, of func(query url.Values) request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for next := ""; ; {
			query := url.Values{"limit": {strconv.Itoa(pageSize)}}
			if next != "" {
				query.Set("continue", next)
			}
			page, err := read[fleet.List[T]](ctx, c, of(query))
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if next = page.Continue; next == "" {
				return
			}
		}
	}
}

// Keys returns the addresses of a kind's live resources, without reading
// them. The query's selector cannot be used.
func (c *Client) Keys(ctx context.Context, q Query) ([]resource.Key, error) {
	page, err := read[fleet.List[fleet.Key]](ctx, c, q.request(url.Values{"keys": {"true"}}))
	if err != nil {
		return nil, err
	}
	out := make([]resource.Key, 0, len(page.Items))
	for _, k := range page.Items {
		sc, err := resource.ParseScope(k.Scope)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		out = append(out, resource.Key{Kind: k.Kind, Scope: sc, Name: k.Name})
	}
	return out, nil
}
