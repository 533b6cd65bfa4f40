package driftless

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/metrics"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
)

var (
	_ api.Node       = (*Node)(nil)
	_ metrics.Source = (*Node)(nil)
)

// openAPI takes the API's address, so that it is known before anything is
// served, and makes the server.
func (n *Node) openAPI(context.Context) error {
	id := n.store.Identity().Instance.String()
	n.metrics = metrics.New(metrics.Config{
		Version: n.cfg.Version, GoVersion: runtime.Version(), NodeID: id, Name: n.cfg.Name, Fleet: n.cfg.Fleet,
		Ops: api.Ops(), Results: api.Results(),
	}, n)
	if n.cfg.HTTP == "" {
		return nil
	}
	tlsConfig, err := n.tlsConfig()
	if err != nil {
		return err
	}
	tokens := make([]api.Token, len(n.cfg.Tokens))
	for i, t := range n.cfg.Tokens {
		tokens[i] = api.Token{Name: t.Name, Hash: api.HashToken(t.Secret), Actors: t.Actors}
	}
	n.api, err = api.New(api.Config{
		Node: n, Tokens: tokens, TLS: tlsConfig, Logger: n.log, Registry: n.metrics, Observer: n.metrics,
		Codes: map[error]string{
			replicate.ErrClock: fleet.CodeClock, replicate.ErrCloned: fleet.CodeCloned, replicate.ErrUnreachable: fleet.CodeUnavailable,
			store.ErrStalePeer: fleet.CodeConflict, ErrNoMember: fleet.CodeNotFound,
		},
		Repair: n.Repair, Hosts: n.cfg.HTTPHosts,
	})
	if err != nil {
		return err
	}
	if n.listener, err = listen(n.cfg.HTTP); err != nil {
		return fmt.Errorf("listen for HTTP: %w (choose another with --http)", err)
	}
	if err := n.api.Exposed(n.listener.Addr()); err != nil {
		return fmt.Errorf("%w: http: %w", ErrConfig, err)
	}
	return nil
}

// listen opens host:port or unix:/path.
func listen(addr string) (net.Listener, error) {
	if path, unix := strings.CutPrefix(addr, "unix:"); unix {
		return listenSocket(path)
	}
	return net.Listen("tcp", addr)
}

func (n *Node) tlsConfig() (*tls.Config, error) {
	if n.cfg.TLSCert == "" && n.cfg.TLSKey == "" {
		if n.cfg.TLSClientCA != "" {
			return nil, fmt.Errorf("%w: tls-client-ca goes with tls-cert and tls-key", ErrConfig)
		}
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(n.cfg.TLSCert, n.cfg.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("%w: tls: %w", ErrConfig, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	if n.cfg.TLSClientCA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(n.cfg.TLSClientCA)
	if err != nil {
		return nil, fmt.Errorf("%w: tls-client-ca: %w", ErrConfig, err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: tls-client-ca: %s holds no certificate", ErrConfig, n.cfg.TLSClientCA)
	}
	return c, nil
}

// Wait returns when a write is where the concern wants it, or when ctx ends.
func (n *Node) Wait(ctx context.Context, concern api.Concern, w store.Written) (out api.WaitResult) {
	if !w.Changed {
		// Nothing was written, but what is there may still be on its way: wait
		// for all that this node has.
		head := n.store.Head()
		w.Seq, w.OriginSeq = head.Seq, head.Own.Seq
	}
	switch concern.Level {
	case api.LevelStream:
		out.Wanted = 1
		if n.replicator.WaitStream(ctx, w.Seq) {
			out.Reached = 1
		} else {
			out.Missing = []string{"stream"}
		}
	case api.LevelPeers, api.LevelFleet:
		roster, err := n.roster(ctx)
		if err != nil {
			n.log.Warn("roster not read", "err", err)
		}
		delete(roster, n.store.Identity().Instance)
		want := concern.Peers
		if concern.Level == api.LevelFleet {
			want = -1
		}
		waited := n.replicator.WaitPeers(ctx, w.OriginSeq, want, roster)
		out = api.WaitResult{Reached: waited.Reached, Wanted: waited.Wanted, Missing: waited.Missing}
	}
	out.Superseded = w.Changed && n.superseded(w)
	return out
}

// Sample is what the node's metrics read when they are scraped.
func (n *Node) Sample() metrics.Sample {
	rep, _ := n.replicator.Status()
	sum := n.store.Summary()
	bus := n.bus.Stats()
	c := rep.Counters
	s := metrics.Sample{
		Checks:   map[string]bool{"store": n.store.Err() == nil && n.damaged() == "", "nats": rep.Transport.Connected, "reconciled": rep.Ready},
		Received: c.Applied + c.Ignored + c.Unchanged + c.Quarantined,
		Applied:  c.Applied, Superseded: c.Ignored, Duplicate: c.Unchanged, Rejected: c.Rejected + c.Quarantined,
		Tombstones: sum.Garbage.Tombstones, Collected: sum.Garbage.Collected, Gone: c.Gone, Held: c.Held,
		Rollbacks: c.Rollbacks, Forks: c.Forks, Bootstraps: c.Bootstraps,
		Conflicts: c.Conflicts, Exchanges: c.Sessions, LogSeq: sum.Head.Seq, PublishedSeq: rep.Published, PublishFailures: c.PublishFailures, Root: sum.Super,
		LogFirst: n.store.FirstSeq(), Scrubbed: n.store.Scrubbed().Rows, DamageFound: n.store.DamageFound(), Damaged: len(n.store.Damage()),
		Dropped:       dropped(n.store.Dropped()),
		NATSConnected: rep.Transport.Connected, Members: map[string]int{"self": 1},
	}
	if bus.Connects > 0 {
		s.NATSReconnects = bus.Connects - 1
	}
	for _, p := range rep.Peers {
		s.Members[p.State.String()]++
	}
	return s
}

// superseded reports whether none of the record's registers is the write's any
// more.
func (n *Node) superseded(w store.Written) bool {
	rec, err := n.store.Record(w.Resource.ID)
	if err != nil {
		return false
	}
	return !rec.Holds(resource.Point{HLC: w.HLC, Writer: w.Incarnation})
}

func dropped(d store.Dropped) map[string]uint64 {
	return map[string]uint64{"log": d.Entries, "ledger": d.Losses, "quarantine": d.Quarantined}
}
