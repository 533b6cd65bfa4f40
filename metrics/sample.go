package metrics

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Sample is what a node knows of itself at one moment. Counts are since the
// start.
type Sample struct {
	// Checks are the conditions of being ready: store, nats, reconciled.
	Checks map[string]bool

	// Received counts records that came from other nodes. Of those that were
	// judged, Applied changed the state, Superseded lost to what was there,
	// Duplicate were there already and Rejected could not be taken.
	Received                                 uint64
	Applied, Superseded, Duplicate, Rejected uint64
	// Conflicts counts the versions that entered the ledger.
	Conflicts uint64
	// Tombstones wait for collection; Collected counts those that were. Gone
	// counts records refused because they were collected here, Held events that
	// waited for a comparison with their origin.
	Tombstones int
	Collected  uint64
	Gone, Held uint64
	// Rollbacks and Forks count how often the node's own past was not the
	// fleet's, Bootstraps how often it took a member's state for its own.
	Rollbacks, Forks, Bootstraps uint64
	// Exchanges counts reconciliations by result.
	Exchanges map[string]uint64

	// LogSeq is the end of the log, PublishedSeq up to where own events are in
	// the stream.
	LogSeq, PublishedSeq uint64
	// LogFirst is where the log begins.
	LogFirst uint64
	// Dropped counts what trimming took, by list.
	Dropped map[string]uint64
	// Scrubbed counts rows that the scrub read, DamageFound damaged rows that
	// anything came upon, and Damaged those that are not repaired.
	Scrubbed, DamageFound uint64
	Damaged               int
	// PublishFailures counts own events that the stream did not take.
	PublishFailures uint64
	// Root is the super-root.
	Root [32]byte

	NATSConnected  bool
	NATSReconnects uint64
	// Members counts the roster by state.
	Members map[string]int
}

// The values of enumerated labels. A sample may bring others.
func checks() []string { return []string{"store", "nats", "reconciled"} }
func exchanges() []string {
	return []string{"match", "repaired", "partial", "moved", "stale", "forked", "error"}
}
func members() []string { return []string{"self", "alive", "suspect", "lost", "unknown"} }
func lists() []string   { return []string{"log", "ledger", "quarantine"} }

// sampler turns samples into metrics.
type sampler struct {
	src   Source
	descs []*prometheus.Desc

	ready, received, applied, rejected, conflicts, exchanges *prometheus.Desc
	logSeq, outbox, root, connected, reconnects, members     *prometheus.Desc
	publishFailures                                          *prometheus.Desc
	tombstones, collected, gone, held, renewed, bootstraps   *prometheus.Desc
	logFirst, dropped, scrubbed, damageFound, damaged        *prometheus.Desc
}

func newSampler(src Source) *sampler {
	s := &sampler{src: src}
	s.ready = s.desc("driftless_ready", "Whether a condition of being ready holds.", "check")
	s.received = s.desc("driftless_ops_received_total", "Records that came from other nodes.")
	s.applied = s.desc("driftless_ops_applied_total", "Records from other nodes that were joined, by what came of it.", "outcome")
	s.rejected = s.desc("driftless_ops_rejected_total", "Records and messages from other nodes that could not be taken.")
	s.conflicts = s.desc("driftless_conflicts_total", "Versions that lost a conflict and are in the ledger.")
	s.tombstones = s.desc("driftless_tombstones", "Records that hold something to collect: tombstones, and removed finalizers.")
	s.collected = s.desc("driftless_tombstones_collected_total", "Records that were collected.")
	s.gone = s.desc("driftless_ops_gone_total", "Records from other nodes that had been collected here.")
	s.held = s.desc("driftless_ops_held_total", "Events that waited for a comparison with their origin.")
	s.renewed = s.desc("driftless_incarnations_renewed_total", "Times this node's own past was not the fleet's and it went on under a new incarnation.", "cause")
	s.bootstraps = s.desc("driftless_bootstraps_total", "Times this node took a member's state for its own, older one.")
	s.exchanges = s.desc("driftless_antientropy_exchanges_total", "Reconciliations with another member, by result.", "result")
	s.logSeq = s.desc("driftless_log_seq", "Sequence of the last entry of the log.")
	s.logFirst = s.desc("driftless_log_first_seq", "Sequence of the first entry of the log; what was before it was trimmed.")
	s.dropped = s.desc("driftless_trimmed_total", "Rows that trimming took, by list.", "list")
	s.scrubbed = s.desc("driftless_scrub_rows_total", "Rows that the background scrub read.")
	s.damageFound = s.desc("driftless_damage_found_total", "Damaged rows that were found.")
	s.damaged = s.desc("driftless_damaged_rows", "Damaged rows that are not repaired.")
	s.outbox = s.desc("driftless_outbox_pending_ops", "Log entries that are not known to be in the stream.")
	s.publishFailures = s.desc("driftless_publish_failures_total", "Attempts to hand events to the stream that failed; they are repeated.")
	s.root = s.desc("driftless_merkle_root_checksum", "The first 48 bits of the super-root: nodes with different values differ.")
	s.connected = s.desc("driftless_nats_connected", "Whether the connection to NATS stands.")
	s.reconnects = s.desc("driftless_nats_reconnects_total", "Times the connection to NATS came back.")
	s.members = s.desc("driftless_members", "Members of the roster, by how alive they seem to this node.", "state")
	return s
}

func (s *sampler) desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	s.descs = append(s.descs, d)
	return d
}

// Describe implements prometheus.Collector.
func (s *sampler) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *sampler) Collect(ch chan<- prometheus.Metric) {
	v := s.src.Sample()
	out := emitter{ch}
	each(v.Checks, checks(), func(check string, ok bool) { out.gauge(s.ready, number(ok), check) })
	out.counter(s.received, v.Received)
	out.counter(s.applied, v.Applied, "applied")
	out.counter(s.applied, v.Superseded, "superseded")
	out.counter(s.applied, v.Duplicate, "duplicate")
	out.counter(s.rejected, v.Rejected)
	out.counter(s.conflicts, v.Conflicts)
	out.gauge(s.tombstones, float64(v.Tombstones))
	out.counter(s.collected, v.Collected)
	out.counter(s.gone, v.Gone)
	out.counter(s.held, v.Held)
	out.counter(s.renewed, v.Rollbacks, "rollback")
	out.counter(s.renewed, v.Forks, "fork")
	out.counter(s.bootstraps, v.Bootstraps)
	each(v.Exchanges, exchanges(), func(result string, n uint64) { out.counter(s.exchanges, n, result) })
	out.gauge(s.logSeq, float64(v.LogSeq))
	out.gauge(s.logFirst, float64(v.LogFirst))
	each(v.Dropped, lists(), func(list string, n uint64) { out.counter(s.dropped, n, list) })
	out.counter(s.scrubbed, v.Scrubbed)
	out.counter(s.damageFound, v.DamageFound)
	out.gauge(s.damaged, float64(v.Damaged))
	out.gauge(s.outbox, float64(v.LogSeq-min(v.LogSeq, v.PublishedSeq)))
	out.counter(s.publishFailures, v.PublishFailures)
	// 48 bits are exact in a float64.
	out.gauge(s.root, float64(binary.BigEndian.Uint64(v.Root[:])>>16))
	out.gauge(s.connected, number(v.NATSConnected))
	out.counter(s.reconnects, v.NATSReconnects)
	each(v.Members, members(), func(state string, n int) { out.gauge(s.members, float64(n), state) })
}

// each visits the known keys and those that m has beside them, in order.
func each[V any](m map[string]V, known []string, visit func(string, V)) {
	for _, k := range known {
		visit(k, m[k])
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, k) {
			visit(k, m[k])
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// emitter sends one scrape's metrics.
type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) counter(d *prometheus.Desc, v uint64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}
