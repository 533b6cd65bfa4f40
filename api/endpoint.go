package api

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/store"
)

// call is one request on its way through the chain.
type call struct {
	*Server
	route  *route
	r      *http.Request
	w      *recorder
	query  url.Values
	caller caller
	// op is the write that is counted, empty for reads and dry runs.
	op string
}

// newMux has one pattern for each path, so that a method that a path does not
// have is told from a path that does not exist.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	paths := map[string]map[string]*route{}
	for i := range s.routes {
		rt := &s.routes[i]
		if paths[rt.path] == nil {
			paths[rt.path] = map[string]*route{}
		}
		paths[rt.path][rt.method] = rt
	}
	for p, methods := range paths {
		pattern := p
		if p == "/" {
			pattern = "/{$}"
		}
		mux.Handle(pattern, s.pick(methods))
	}
	mux.HandleFunc("/", s.unknown)
	return mux
}

// pick chooses a path's route by method.
func (s *Server) pick(methods map[string]*route) http.Handler {
	allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rt, ok := methods[method]
		if !ok {
			rt = &route{path: "other", open: true, handle: func(c *call) error {
				c.w.Header().Set("Allow", allow)
				return &refusal{http.StatusMethodNotAllowed, fleet.CodeMethod, fmt.Sprintf("%.16q is not a method of this path: it has %s", r.Method, allow)}
			}}
		}
		s.answer(rt, w, r)
	})
}

// serve keeps the mux from answering in its own words: a path that is not in
// its shortest form would be redirected, and "*" refused without a problem.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.EscapedPath(); path.Clean(p) != p || p == "*" {
		s.unknown(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	s.answer(&route{path: "other", open: true, handle: func(*call) error {
		return &refusal{http.StatusNotFound, fleet.CodeNotFound, "no such path: /openapi.json lists what there is"}
	}}, w, r)
}

// answer takes a request through its route: checks, handler, problem if any,
// count.
func (s *Server) answer(rt *route, w http.ResponseWriter, r *http.Request) {
	c := &call{Server: s, route: rt, r: r, w: &recorder{ResponseWriter: w}, op: rt.op}
	start := s.cfg.Now()
	defer func() { c.finish(recover(), max(0, s.cfg.Now().Sub(start))) }()
	h := c.w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, s.cfg.MaxBody)
	err := c.admit()
	if err == nil {
		err = rt.handle(c)
	}
	if err != nil {
		c.fail(err)
	}
}

// admit is what every request passes before its handler.
func (c *call) admit() (err error) {
	if err := c.checkHost(c.r); err != nil {
		return err
	}
	if err := c.checkOrigin(c.r); err != nil {
		return err
	}
	if c.route.path == "other" {
		return nil // whatever else it says, there is nothing here
	}
	if !c.route.open {
		if c.caller, err = c.authenticate(c.r); err != nil {
			return err
		}
	}
	return c.parseQuery()
}

// finish recovers from a panic, and counts.
func (c *call) finish(panicked any, took time.Duration) {
	err, _ := panicked.(error)
	abort := errors.Is(err, http.ErrAbortHandler)
	if panicked != nil && !abort {
		c.log.Error("request panicked", "route", c.route.path, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
		if abort = c.w.code != 0; !abort {
			c.writeProblem(newProblem(http.StatusInternalServerError, fleet.CodeInternal, internalDetail))
		}
	}
	if c.cfg.Observer != nil {
		c.cfg.Observer.Served(c.route.path, knownMethod(c.r.Method), c.w.status(), took)
		if c.op != "" {
			c.cfg.Observer.Wrote(c.op, resultOf(c.w.status()))
		}
	}
	if abort {
		panic(http.ErrAbortHandler) // the connection ends, so that nobody takes half an answer for a whole one
	}
}

// fail answers with what went wrong. What is the node's own fault is logged,
// here and nowhere else.
func (c *call) fail(err error) {
	p := c.problemOf(err)
	if p.Status >= http.StatusInternalServerError && p.Code != fleet.CodeTimeout {
		level := slog.LevelWarn
		if p.Code == fleet.CodeInternal || p.Code == fleet.CodeDamaged || errors.Is(err, store.ErrFailed) {
			level = slog.LevelError
		}
		c.log.Log(c.r.Context(), level, "request failed", "route", c.route.path, "code", p.Code, "err", err)
	}
	if c.w.code != 0 {
		panic(http.ErrAbortHandler)
	}
	c.writeProblem(p)
}
