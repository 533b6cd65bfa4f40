// Package metrics is what a node tells Prometheus.
//
// Counters of the API are counted here as requests end. Everything else is
// read from a Source when it is scraped, so that a figure is kept in one place
// and cannot drift from what the node does.
//
// The rules: base units, timestamps and not ages, strings in _info series,
// and every value of an enumerated label is there from the first scrape, at
// 0, so that rate() sees the first event. No label takes a value that a client
// or a peer chooses.
package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Source is asked once for each scrape. It must be cheap and safe for
// concurrent use.
type Source interface {
	Sample() Sample
}

// Config names what a set is about.
type Config struct {
	// Version and Revision are the build's.
	Version, Revision, GoVersion string
	// NodeID is the instance id, Name for people, Fleet the fleet's name.
	NodeID, Name, Fleet string
	// Ops and Results are the values of the labels of driftless_writes_total.
	Ops, Results []string
}

// Set is a node's metrics and the registry that gathers them. It is safe for
// concurrent use.
type Set struct {
	*prometheus.Registry
	writes   *prometheus.CounterVec
	requests *prometheus.HistogramVec
}

// New makes a set that reads src.
func New(cfg Config, src Source) *Set {
	s := &Set{
		Registry: prometheus.NewRegistry(),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "driftless_writes_total", Help: "Writes that callers of this node asked for, by operation and result.",
		}, []string{"op", "result"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "driftless_http_request_duration_seconds", Help: "Time from a request's headers to the end of its answer, waits included.",
			// A bound of exactly 1 exists: the objective is stated in it.
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"route", "method", "code"}),
	}
	for _, op := range cfg.Ops {
		for _, result := range cfg.Results {
			s.writes.WithLabelValues(op, result)
		}
	}
	s.MustRegister(
		s.writes, s.requests, newSampler(src),
		info("driftless_build_info", "What is running.", prometheus.Labels{"version": cfg.Version, "revision": cfg.Revision, "goversion": cfg.GoVersion}),
		// Not "instance": Prometheus has that name for what it scrapes.
		info("driftless_node_info", "Who this node is.", prometheus.Labels{"node_id": cfg.NodeID, "name": cfg.Name, "fleet": cfg.Fleet}),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return s
}

func info(name, help string, labels prometheus.Labels) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
	g.Set(1)
	return g
}

// Wrote counts a write.
func (s *Set) Wrote(op, result string) { s.writes.WithLabelValues(op, result).Inc() }

// Served observes a request. route is a pattern, never a path.
func (s *Set) Served(route, method string, code int, took time.Duration) {
	s.requests.WithLabelValues(route, method, strconv.Itoa(code)).Observe(took.Seconds())
}
