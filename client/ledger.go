package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// LedgerQuery asks for entries of a node's ledger: versions that lost a
// conflict. Its zero value is all of them.
type LedgerQuery struct {
	// ID, Kind, Scope, Name and Reason keep entries that have each, where set.
	ID     string
	Kind   string
	Scope  *resource.Scope
	Name   string
	Reason string
	// Full has the versions themselves in the entries.
	Full bool
}

func (q LedgerQuery) request(query url.Values) request {
	for name, value := range map[string]string{"id": q.ID, "kind": q.Kind, "name": q.Name, "reason": q.Reason} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Scope != nil {
		query.Set("scope", q.Scope.String())
	}
	if q.Full {
		query.Set("full", "true")
	}
	return request{method: http.MethodGet, path: "/v1/ledger", query: query}
}

// Ledger iterates over the ledger, page by page, by record. It ends with the
// first error.
func (c *Client) Ledger(ctx context.Context, q LedgerQuery) iter.Seq2[fleet.Loss, error] {
	return pages[fleet.Loss](ctx, c, q.request)
}

// Loss returns the entry of the ledger that a name, or the beginning of one,
// means, with the version that lost.
func (c *Client) Loss(ctx context.Context, entry string) (fleet.Loss, error) {
	return read[fleet.Loss](ctx, c, request{method: http.MethodGet, path: "/v1/ledger/" + url.PathEscape(entry)})
}
