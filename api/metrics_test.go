package api_test

import (
	"strings"
	"testing"

	"driftless.dev/api"
	"driftless.dev/metrics"
)

type emptySource struct{}

func (emptySource) Sample() metrics.Sample { return metrics.Sample{} }

// What clients choose is in no label.
func TestMetrics(t *testing.T) {
	set := metrics.New(metrics.Config{Ops: api.Ops(), Results: api.Results()}, emptySource{})
	e := newEnv(t, func(c *api.Config) { c.Registry, c.Observer = set, set })
	e.ok(201, "PUT", skills+"/chosen", `{"metadata":{}}`)
	e.do("GET", "/chosen", "")
	e.do("CHOSEN", "/v1/node", "")
	e.do("GET", "/v1/node", "", "Host: chosen")
	text := e.ok(200, "GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`driftless_writes_total{op="put",result="ok"} 1`,
		`driftless_http_request_duration_seconds_count{code="201",method="PUT",route="/v1/scopes/{scope}/resources/{kind}/{name}"} 1`,
		`driftless_http_request_duration_seconds_count{code="404",method="GET",route="other"} 1`,
		`driftless_http_request_duration_seconds_count{code="405",method="OTHER",route="other"} 1`,
		`driftless_http_request_duration_seconds_count{code="403",method="GET",route="/v1/node"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(strings.ToLower(text), "chosen") {
		t.Error("a client's words are labels")
	}
}
