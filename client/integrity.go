package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"driftless.dev/fleet"
)

// Snapshot streams a snapshot file of the node's store to w. It takes as long
// as it takes, within ctx. After an error what w has is no snapshot.
func (c *Client) Snapshot(ctx context.Context, w io.Writer) error {
	var reached atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/snapshot", http.NoBody)
	if err != nil {
		return fmt.Errorf("call node: %w", err)
	}
	c.setHeaders(req, request{})
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, err, reached.Load())
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return c.unreachable(ctx, err, true)
		}
		return refused(resp, body)
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("receive snapshot: %w", err)
	}
	return nil
}

// Fsck has the node check its whole store, and with repair put right what needs
// no other member. It takes as long as it takes, within ctx.
func (c *Client) Fsck(ctx context.Context, repair bool) (fleet.Fsck, error) {
	query := url.Values{}
	if repair {
		query.Set("repair", "true")
	}
	return read[fleet.Fsck](ctx, c.patient(), request{method: http.MethodPost, path: "/v1/fsck", query: query})
}

// Repair has the node take the records that are damaged or missing there from
// a member, by name or instance id.
func (c *Client) Repair(ctx context.Context, from string) (fleet.Repair, error) {
	return read[fleet.Repair](ctx, c.patient(), request{method: http.MethodPost, path: "/v1/node/repair", query: url.Values{"from": {from}}})
}

// patient is the client without a bound on how long a call takes.
func (c *Client) patient() *Client {
	out := *c
	out.timeout = -1
	return &out
}
