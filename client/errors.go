package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	jsonv2 "github.com/go-json-experiment/json"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// Sentinels of the moment a call is made.
var (
	// ErrUnreachable is returned when no node answered: nothing is known of
	// what became of the call.
	ErrUnreachable = errors.New("node is unreachable")
	// ErrProtocol is returned when what answered does not speak like a node.
	ErrProtocol = errors.New("not a node's answer")
)

// Error is a refusal by a node. Its code is stable, its detail for people.
type Error struct{ fleet.Problem }

// Error is the detail, which says what is wrong and what to do about it.
func (e *Error) Error() string { return e.Detail }

// Is maps the code to resource's sentinel.
func (e *Error) Is(target error) bool {
	sentinel := sentinelOf(e.Code)
	return sentinel != nil && target == sentinel
}

func sentinelOf(code string) error {
	switch code {
	case fleet.CodeNotFound:
		return resource.ErrNotFound
	case fleet.CodeInvalid:
		return resource.ErrInvalid
	case fleet.CodeConflict:
		return resource.ErrConflict
	case fleet.CodeExists:
		return resource.ErrExists
	case fleet.CodeOutranked:
		return resource.ErrOutranked
	case fleet.CodeFenced:
		return resource.ErrFenced
	case fleet.CodeOwner:
		return resource.ErrOwnerConflict
	case fleet.CodeInUse:
		return resource.ErrInUse
	case fleet.CodeParked:
		return resource.ErrParked
	case fleet.CodeAmbiguous:
		return resource.ErrAmbiguous
	case fleet.CodeTooLarge:
		return resource.ErrTooLarge
	case fleet.CodeTimeout:
		return context.DeadlineExceeded
	}
	return nil
}

// refused reads a problem.
func refused(resp *http.Response, body []byte) error {
	var p fleet.Problem
	if err := jsonv2.Unmarshal(body, &p); err != nil || p.Code == "" {
		return fmt.Errorf("%w: %s %s: status %d", ErrProtocol, resp.Request.Method, resp.Request.URL.Redacted(), resp.StatusCode)
	}
	p.Status = resp.StatusCode
	return &Error{p}
}

// unreachable says which node did not answer, and what to do. reached: there
// was a connection, so the call may have gone out.
func (c *Client) unreachable(ctx context.Context, err error, reached bool) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the request's path
	}
	if ctx.Err() != nil {
		return fmt.Errorf("call node %s: %w", c.shown, ctx.Err())
	}
	next := "is it running there? --node or DRIFTLESS_NODE names another"
	if op, ok := errors.AsType[*net.OpError](err); reached {
		next = "the call may have been carried out: read before repeating it"
	} else if !ok || op.Op != "dial" {
		next = "nothing was sent: is it a node, with a certificate that is trusted here?"
	}
	return fmt.Errorf("%w: %s: %w: %s", ErrUnreachable, c.shown, err, next)
}
