package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"

	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// refusal is an error that the API itself answers with.
type refusal struct {
	status int
	code   string
	detail string
}

func (e *refusal) Error() string { return e.detail }

// malformed refuses a request whose path, query or headers do not read.
func malformed(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fleet.CodeInvalid, fmt.Sprintf(format, args...)}
}

const internalDetail = "the node failed to answer; its log says more"

// verdict is what an error means to a client.
type verdict struct {
	err    error
	status int
	code   string
}

// verdicts maps errors to codes. One code has one status, save that invalid is
// 422 for a body and 400 for the rest of a request, and that a failed
// precondition is 412 whether it says conflict or exists.
func verdicts() []verdict {
	return []verdict{
		{resource.ErrNotFound, http.StatusNotFound, fleet.CodeNotFound},
		{resource.ErrExists, http.StatusConflict, fleet.CodeExists},
		{resource.ErrConflict, http.StatusConflict, fleet.CodeConflict},
		{resource.ErrOutranked, http.StatusConflict, fleet.CodeOutranked},
		{resource.ErrFenced, http.StatusConflict, fleet.CodeFenced},
		{resource.ErrOwnerConflict, http.StatusConflict, fleet.CodeOwner},
		{resource.ErrInUse, http.StatusConflict, fleet.CodeInUse},
		{resource.ErrParked, http.StatusConflict, fleet.CodeParked},
		{resource.ErrAmbiguous, http.StatusConflict, fleet.CodeAmbiguous},
		{resource.ErrTooLarge, http.StatusRequestEntityTooLarge, fleet.CodeTooLarge},
		{resource.ErrInvalid, http.StatusUnprocessableEntity, fleet.CodeInvalid},
		{store.ErrNoSpace, http.StatusInsufficientStorage, fleet.CodeNoSpace},
		{store.ErrMoved, http.StatusServiceUnavailable, fleet.CodeUnavailable},
		{store.ErrFailed, http.StatusServiceUnavailable, fleet.CodeUnavailable},
		{store.ErrClosed, http.StatusServiceUnavailable, fleet.CodeUnavailable},
		{store.ErrCompacted, http.StatusGone, fleet.CodeExpired},
		{store.ErrDamaged, http.StatusInternalServerError, fleet.CodeDamaged},
		{store.ErrNotAhead, http.StatusConflict, fleet.CodeConflict},
		{store.ErrUnconfirmed, http.StatusServiceUnavailable, fleet.CodeUnconfirmed},
		{context.DeadlineExceeded, http.StatusGatewayTimeout, fleet.CodeTimeout},
		{context.Canceled, http.StatusServiceUnavailable, fleet.CodeUnavailable},
	}
}

// statusOf is a code's status, for codes that Config.Codes gives.
func statusOf(code string) int {
	for _, v := range verdicts() {
		if v.code == code {
			return v.status
		}
	}
	switch code {
	case fleet.CodeForbidden:
		return http.StatusForbidden
	case fleet.CodeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusServiceUnavailable // the node's own parts, such as its clock
}

// problemOf is an error as the client sees it.
func (c *call) problemOf(err error) fleet.Problem {
	if e, ok := errors.AsType[*refusal](err); ok {
		return newProblem(e.status, e.code, e.detail)
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, fleet.CodeTooLarge, fmt.Sprintf("the body is over %d bytes", e.Limit))
	}
	for sentinel, code := range c.cfg.Codes {
		if errors.Is(err, sentinel) {
			return newProblem(statusOf(code), code, err.Error())
		}
	}
	for _, v := range verdicts() {
		if errors.Is(err, v.err) {
			p := newProblem(c.refine(v), v.code, err.Error())
			if e, ok := errors.AsType[*store.OwnerConflictError](err); ok {
				p.Owner = e.Owner
			}
			return p
		}
	}
	return newProblem(http.StatusInternalServerError, fleet.CodeInternal, internalDetail)
}

// refine is a verdict's status for this request.
func (c *call) refine(v verdict) int {
	switch {
	case v.err == resource.ErrInvalid && !c.route.body:
		return http.StatusBadRequest
	case v.err == resource.ErrConflict && c.r.Header.Get("If-Match") != "",
		v.err == resource.ErrExists && c.r.Header.Get("If-None-Match") != "":
		return http.StatusPreconditionFailed
	}
	return v.status
}

func newProblem(status int, code, detail string) fleet.Problem {
	return fleet.Problem{Type: "https://driftless.dev/problems/" + code, Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// writeProblem answers with a problem, and nothing of what was prepared for an
// answer.
func (c *call) writeProblem(p fleet.Problem) {
	h := c.w.Header()
	for _, prepared := range []string{"ETag", "Location", headerSeq, headerHLC, headerEpoch} {
		h.Del(prepared)
	}
	if p.Owner != "" {
		h.Set(headerOwner, p.Owner)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	body, err := jsonv2.Marshal(p, jsonv2.Deterministic(true))
	if err != nil {
		body = []byte(`{}`) // a struct of strings: it cannot fail
	}
	h.Set("Content-Type", "application/problem+json")
	c.w.WriteHeader(p.Status)
	_, _ = c.w.Write(append(body, '\n')) // a client that is gone needs no answer
}
