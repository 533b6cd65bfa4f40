package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"driftless.dev/api"
	"driftless.dev/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A set is what the API counts with.
var _ api.Observer = (*metrics.Set)(nil)

type source func() metrics.Sample

func (s source) Sample() metrics.Sample { return s() }

func newSet(sample metrics.Sample) *metrics.Set {
	return metrics.New(metrics.Config{
		Version: "1.2.3", Revision: "abc", GoVersion: "go1.26", NodeID: "01", Name: "a", Fleet: "f", Ops: api.Ops(), Results: api.Results(),
	}, source(func() metrics.Sample { return sample }))
}

func TestLint(t *testing.T) {
	s := newSet(metrics.Sample{})
	s.Served("/v1/node", "GET", 200, time.Millisecond)
	problems, err := testutil.GatherAndLint(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every enumerated label is there before anything happened.
func TestPrecreated(t *testing.T) {
	s := newSet(metrics.Sample{})
	for name, want := range map[string]int{
		"driftless_writes_total": 8 * 4, "driftless_ready": 3, "driftless_ops_applied_total": 3, "driftless_antientropy_exchanges_total": 7,
		"driftless_members": 5, "driftless_build_info": 1, "driftless_node_info": 1, "driftless_nats_reconnects_total": 1,
		"driftless_ops_received_total": 1, "driftless_ops_rejected_total": 1, "driftless_conflicts_total": 1, "driftless_log_seq": 1,
		"driftless_outbox_pending_ops": 1, "driftless_publish_failures_total": 1, "driftless_nats_connected": 1, "driftless_merkle_root_checksum": 1, "go_goroutines": 1,
	} {
		if n, err := testutil.GatherAndCount(s, name); n != want || err != nil {
			t.Errorf("%s: %d series, want %d (%v)", name, n, want, err)
		}
	}
}

func TestSample(t *testing.T) {
	sample := metrics.Sample{
		Checks: map[string]bool{"store": true}, Received: 9, Applied: 4, Superseded: 3, Duplicate: 2, Rejected: 1, Conflicts: 7,
		Exchanges: map[string]uint64{"match": 5, "new": 1}, LogSeq: 10, PublishedSeq: 8, PublishFailures: 6, Root: [32]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		NATSConnected: true, NATSReconnects: 3, Members: map[string]int{"alive": 2, "lost": 1},
	}
	s := newSet(sample)
	s.Wrote("put", "ok")
	s.Wrote("put", "ok")
	want := `
# HELP driftless_antientropy_exchanges_total Reconciliations with another member, by result.
# TYPE driftless_antientropy_exchanges_total counter
driftless_antientropy_exchanges_total{result="error"} 0
driftless_antientropy_exchanges_total{result="forked"} 0
driftless_antientropy_exchanges_total{result="match"} 5
driftless_antientropy_exchanges_total{result="moved"} 0
driftless_antientropy_exchanges_total{result="new"} 1
driftless_antientropy_exchanges_total{result="partial"} 0
driftless_antientropy_exchanges_total{result="repaired"} 0
driftless_antientropy_exchanges_total{result="stale"} 0
# HELP driftless_members Members of the roster, by how alive they seem to this node.
# TYPE driftless_members gauge
driftless_members{state="alive"} 2
driftless_members{state="lost"} 1
driftless_members{state="self"} 0
driftless_members{state="suspect"} 0
driftless_members{state="unknown"} 0
# HELP driftless_merkle_root_checksum The first 48 bits of the super-root: nodes with different values differ.
# TYPE driftless_merkle_root_checksum gauge
driftless_merkle_root_checksum 2.81474976710655e+14
# HELP driftless_node_info Who this node is.
# TYPE driftless_node_info gauge
driftless_node_info{fleet="f",name="a",node_id="01"} 1
# HELP driftless_ops_applied_total Records from other nodes that were joined, by what came of it.
# TYPE driftless_ops_applied_total counter
driftless_ops_applied_total{outcome="applied"} 4
driftless_ops_applied_total{outcome="duplicate"} 2
driftless_ops_applied_total{outcome="superseded"} 3
# HELP driftless_outbox_pending_ops Log entries that are not known to be in the stream.
# TYPE driftless_outbox_pending_ops gauge
driftless_outbox_pending_ops 2
# HELP driftless_publish_failures_total Attempts to hand events to the stream that failed; they are repeated.
# TYPE driftless_publish_failures_total counter
driftless_publish_failures_total 6
# HELP driftless_ready Whether a condition of being ready holds.
# TYPE driftless_ready gauge
driftless_ready{check="nats"} 0
driftless_ready{check="reconciled"} 0
driftless_ready{check="store"} 1
`
	if err := testutil.GatherAndCompare(s, strings.NewReader(want), "driftless_antientropy_exchanges_total", "driftless_members", "driftless_merkle_root_checksum",
		"driftless_node_info", "driftless_ops_applied_total", "driftless_outbox_pending_ops", "driftless_publish_failures_total", "driftless_ready"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(s); err != nil || n < 50 {
		t.Errorf("%d series, %v", n, err)
	}
}

// A root's checksum tells roots apart that differ in one bit of the first 48,
// exactly, although it is a float.
func TestRootIsExact(t *testing.T) {
	for bit := range 48 {
		var root [32]byte
		for i := range 6 {
			root[i] = 0xff
		}
		a := newSet(metrics.Sample{Root: root})
		root[bit/8] ^= 1 << (bit % 8)
		b := newSet(metrics.Sample{Root: root})
		if gathered(t, a) == gathered(t, b) {
			t.Errorf("bit %d is lost", bit)
		}
	}
}

func gathered(t *testing.T, s *metrics.Set) float64 {
	t.Helper()
	families, err := s.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "driftless_merkle_root_checksum" {
			return f.Metric[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no checksum")
	return 0
}
