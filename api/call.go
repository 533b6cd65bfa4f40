package api

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/resource"
)

// The headers of the protocol.
const (
	headerActor       = "Driftless-Actor"
	headerWait        = "Driftless-Wait"
	headerWaitTimeout = "Driftless-Wait-Timeout"
	headerWaitResult  = "Driftless-Wait-Result"
	headerEpoch       = "Driftless-Epoch"
	headerOwner       = "Driftless-Owner"
	headerSeq         = "Driftless-Seq"
	headerHLC         = "Driftless-HLC"
)

// parseQuery holds the query to what the route knows: a parameter that is
// misspelt, and ignored, would answer another question.
func (c *call) parseQuery() (err error) {
	if c.query, err = url.ParseQuery(c.r.URL.RawQuery); err != nil {
		return malformed("query: %v", err)
	}
	for name, values := range c.query {
		if !slices.Contains(c.route.query, name) {
			known := "none"
			if len(c.route.query) > 0 {
				known = strings.Join(c.route.query, ", ")
			}
			return malformed("query: parameter %.64q is not known here: known is %s", name, known)
		}
		if len(values) > 1 {
			return malformed("query: parameter %s is given twice", name)
		}
	}
	return nil
}

// flag reads a query parameter that is true, false or absent.
func (c *call) flag(name string) (bool, error) {
	switch v := c.query.Get(name); {
	case v == "true":
		return true, nil
	case v == "false" || !c.query.Has(name):
		return false, nil
	}
	return false, malformed("query: %s is true or false", name)
}

// number reads a query parameter from 1 to limit.
func (c *call) number(name string, otherwise, limit int) (int, error) {
	if !c.query.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(c.query.Get(name))
	if err != nil || n < 1 || n > limit {
		return 0, malformed("query: %s is a number from 1 to %d", name, limit)
	}
	return n, nil
}

// header reads a header that may be given once.
func (c *call) header(name string) (string, error) {
	values := c.r.Header.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	}
	return "", malformed("header %s is given twice", name)
}

// body reads the whole body, within MaxBody and a bounded time.
func (c *call) body() ([]byte, error) {
	ctl := http.NewResponseController(c.w)
	// The system holds deadlines against its own clock, not the node's.
	if err := ctl.SetReadDeadline(time.Now().Add(bodyTimeout)); err == nil {
		defer func() { _ = ctl.SetReadDeadline(time.Time{}) }() // a wait may follow
	}
	b, err := io.ReadAll(c.r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, err
		}
		return nil, malformed("read body: %v", err)
	}
	return b, nil
}

// noBody refuses a body where none is read: what it asks for would not happen.
func (c *call) noBody() error {
	b, err := c.body()
	if err != nil {
		return err
	}
	if len(b) > 0 {
		return malformed("%s %s takes no body", c.route.method, c.route.path)
	}
	return nil
}

// form reads the body as a resource. Text that is not JSON at all is
// malformed; JSON that is no resource is invalid.
func (c *call) form() (resource.Resource, resource.Given, error) {
	b, err := c.body()
	if err != nil {
		return resource.Resource{}, resource.Given{}, err
	}
	r, given, err := resource.ParseForm(b)
	if err != nil && !jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		err = malformed("the body is not JSON: %v", err)
	}
	return r, given, err
}

// scope reads {scope}.
func (c *call) scope() (resource.Scope, error) {
	sc, err := resource.ParseScope(c.r.PathValue("scope"))
	if err != nil {
		return resource.Scope{}, malformed("path: %v", err)
	}
	return sc, nil
}

// name reads {name}.
func (c *call) name() (string, error) {
	name := c.r.PathValue("name")
	if err := resource.ValidateName("name", name); err != nil {
		return "", malformed("path: %v", err)
	}
	return name, nil
}

// id reads {id}.
func (c *call) id() (resource.ID, error) {
	id, err := resource.ParseID(c.r.PathValue("id"))
	if err != nil {
		return resource.ID{}, malformed("path: %v", err)
	}
	return id, nil
}

// json answers 200 with a value.
func (c *call) json(v any) error {
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true))
	if err != nil {
		return err
	}
	return c.send(http.StatusOK, b)
}

// send answers with JSON bytes.
func (c *call) send(status int, b []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(b, '\n')) // a client that is gone needs no answer
	return nil
}
