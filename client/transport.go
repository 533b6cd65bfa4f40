package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"driftless.dev/resource"
)

// maxAnswer bounds what is read of an answer. A page of a listing is far below.
const maxAnswer = 256 << 20

// request is one call to be made.
type request struct {
	method string
	path   string // escaped
	query  url.Values
	body   []byte
	// write sends what Call asks of writes.
	write bool
	// person says that the caller is one.
	person bool
	// extra is how long the node may take beside Timeout.
	extra time.Duration
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do makes a call. What is not a success is an error.
func (c *Client) do(ctx context.Context, rq request) (answer, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout+rq.extra)
		defer cancel()
	}
	target := c.base + rq.path
	if len(rq.query) > 0 {
		target += "?" + rq.query.Encode()
	}
	var reached atomic.Bool // no connection, TLS included: the call was not made
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, rq.method, target, strings.NewReader(string(rq.body)))
	if err != nil {
		return answer{}, fmt.Errorf("call node: %w", err)
	}
	c.setHeaders(req, rq)
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, c.unreachable(ctx, err, reached.Load())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, c.unreachable(ctx, err, true)
	case len(body) > maxAnswer:
		return answer{}, fmt.Errorf("%w: over %d bytes", ErrProtocol, maxAnswer)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return answer{status: resp.StatusCode, header: resp.Header, body: body}, refused(resp, body)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

func (c *Client) setHeaders(req *http.Request, rq request) {
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if c.token != "" {
		set("Authorization", "Bearer "+c.token)
	}
	if len(rq.body) > 0 {
		set("Content-Type", "application/json")
	}
	if rq.person {
		set("Driftless-Actor", resource.Human.String())
	}
	if !rq.write {
		return
	}
	set("Driftless-Actor", c.call.Actor)
	set("Driftless-Owner", c.call.Owner)
	set("Driftless-Epoch", c.call.Epoch.String())
	set("Driftless-Wait", c.call.Wait)
	if c.call.WaitTimeout > 0 {
		set("Driftless-Wait-Timeout", c.call.WaitTimeout.String())
	}
	switch c.call.IfMatch {
	case "", "*":
		set("If-Match", c.call.IfMatch)
	default:
		set("If-Match", `"`+c.call.IfMatch+`"`)
	}
	if c.call.IfNoneMatch {
		set("If-None-Match", "*")
	}
}

// read makes a call and decodes its answer.
func read[T any](ctx context.Context, c *Client, rq request) (v T, err error) {
	a, err := c.do(ctx, rq)
	if err != nil {
		return v, err
	}
	if err := jsonv2.Unmarshal(a.body, &v); err != nil {
		return v, fmt.Errorf("%w: %s: %w", ErrProtocol, rq.path, err)
	}
	return v, nil
}

// kindPath is the path of a kind's records in a scope.
func kindPath(kind string, scope resource.Scope) string {
	return "/v1/scopes/" + url.PathEscape(scope.String()) + "/resources/" + url.PathEscape(kind)
}

func namePath(kind string, scope resource.Scope, name string) string {
	return kindPath(kind, scope) + "/" + url.PathEscape(name)
}

func idPath(id string) string { return "/v1/ids/" + url.PathEscape(id) }

// kindOf names a resource's kind so that it is never ambiguous.
func kindOf(r *resource.Resource) string {
	g := r.GroupKind()
	return g.Kind + "." + g.Group
}
