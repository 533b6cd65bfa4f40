package api

import (
	"bytes"
	"context"
	_ "embed" // page.html
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

func (c *call) node() error { return c.json(c.cfg.Node.Info()) }

func (c *call) fleet() error { return c.fleetView(false) }

func (c *call) fleetCheck() error {
	if err := c.noBody(); err != nil {
		return err
	}
	return c.fleetView(true)
}

func (c *call) fleetView(ask bool) error {
	f, err := c.cfg.Node.Fleet(c.r.Context(), ask)
	if err != nil {
		return err
	}
	return c.json(f)
}

// Every member is asked again after a pause that grows.
const (
	firstPause = 50 * time.Millisecond
	longPause  = time.Second
)

func (c *call) collection() error { return c.json(c.cfg.Node.Collection()) }

func (c *call) rejoin() error { return c.asPerson(c.cfg.Node.Rejoin) }

func (c *call) reidentify() error { return c.asPerson(c.cfg.Node.Reidentify) }

func (c *call) repairClock() error { return c.asPerson(c.cfg.Node.RepairClock) }

// asPerson does to the node what only a person may, and answers with where it
// stands then.
func (c *call) asPerson(do func(context.Context) error) error {
	if err := c.noBody(); err != nil {
		return err
	}
	actor, err := c.actor()
	if err != nil {
		return err
	}
	if actor != resource.Human {
		return &refusal{http.StatusForbidden, fleet.CodeForbidden, "this is a person's to do: say so (Driftless-Actor: human, --as human)"}
	}
	if err := do(c.r.Context()); err != nil {
		return err
	}
	return c.json(c.cfg.Node.Info())
}

// fleetWait answers when the fleet has converged, or with the problem
// "timeout" and where the members stand then.
func (c *call) fleetWait() error {
	if until := c.query.Get("until"); c.query.Has("until") && until != "converged" {
		return malformed("query: until %.64q is not converged", until)
	}
	timeout, err := parseTimeout("query: timeout", c.query.Get("timeout"), defaultFleetWait)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), timeout)
	defer cancel()
	var f fleet.Fleet
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		// The last answer stands when the time runs out in the middle of asking.
		switch now, err := c.cfg.Node.Fleet(ctx, true); {
		case err == nil && now.Converged:
			return c.json(now)
		case err == nil:
			f = now
		case ctx.Err() == nil:
			return err
		}
		select {
		case <-ctx.Done():
			return c.notConverged(f, timeout)
		case <-time.After(pause):
		}
	}
}

func (c *call) notConverged(f fleet.Fleet, timeout time.Duration) error {
	if err := c.r.Context().Err(); err != nil {
		return err
	}
	reason := f.Reason
	if reason == "" {
		reason = "no answer"
	}
	p := newProblem(http.StatusGatewayTimeout, fleet.CodeTimeout, fmt.Sprintf("not converged after %s: %s", timeout, reason))
	p.Fleet = &f
	c.writeProblem(p)
	return nil
}

// healthz says whether the process is worth keeping: a store that has failed
// wants a restart.
func (c *call) healthz() error {
	if err := c.store().Err(); err != nil {
		return c.text(http.StatusServiceUnavailable, "failed: "+err.Error())
	}
	return c.text(http.StatusOK, "ok")
}

// readyz says whether the node has caught up with the fleet.
func (c *call) readyz() error {
	if ready, waiting := c.cfg.Node.Ready(); !ready {
		return c.text(http.StatusServiceUnavailable, "not ready: "+waiting)
	}
	return c.text(http.StatusOK, "ready")
}

func (c *call) text(status int, s string) error {
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.WriteHeader(status)
	_, _ = io.WriteString(c.w, s+"\n") // a client that is gone needs no answer
	return nil
}

func (c *call) metrics() error {
	if c.cfg.Registry == nil {
		return &refusal{http.StatusNotFound, fleet.CodeNotFound, "this node keeps no metrics"}
	}
	promhttp.HandlerFor(c.cfg.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4}).ServeHTTP(c.w, c.r)
	return nil
}

func (c *call) openAPI() error { return c.send(http.StatusOK, c.spec) }

//go:embed page.html
var pageText string

// home is a small page for a person who found the port.
func (c *call) home() error {
	var b bytes.Buffer
	if err := c.page.Execute(&b, c.cfg.Node.Info()); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(b.Bytes()) // a client that is gone needs no answer
	return nil
}
