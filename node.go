package driftless

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"driftless.dev/api"
	"driftless.dev/hlc"
	"driftless.dev/metrics"
	"driftless.dev/replicate"
	"driftless.dev/replicate/jetstream"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/wire"
)

// storeFile is the store's file in the data directory, streamDir the embedded
// server's folder.
const (
	storeFile = "driftless.db"
	streamDir = "jetstream"
)

// Node is one member of a fleet.
type Node struct {
	cfg     Config
	fleet   wire.Fleet
	log     *slog.Logger
	started time.Time

	store      *store.Store
	server     *jetstream.Server // nil when the fleet is joined by URL
	bus        *jetstream.Bus
	replicator *replicate.Replicator
	api        *api.Server
	metrics    *metrics.Set
	listener   net.Listener // nil without HTTP
	// memberHeld says why the own Member record cannot be written, for people.
	memberHeld atomic.Pointer[string]
	// reidentified ends Run: the bus, the server and the roster know the old
	// identity.
	reidentified chan struct{}
}

// Open opens a node: directory, store, NATS, API address. Nothing runs before
// Run. ctx bounds the open alone.
func Open(ctx context.Context, cfg Config) (_ *Node, err error) {
	if cfg, err = cfg.complete(); err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, log: cfg.Logger.With("node", cfg.Name), started: cfg.Clock.Wall(), reidentified: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.fleet, err = wire.NewFleet(cfg.Fleet, cfg.FleetSecret); err != nil {
		return nil, err
	}
	for _, open := range []func(context.Context) error{n.openStore, n.openServer, n.openReplication, n.openAPI} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// RunVerifier must be the first call in main of a program that sets
// Config.Verify: it returns true in the process that Open starts to look at the
// store's file, and main returns then.
func RunVerifier() bool { return bolt.RunVerifier() }

// openStore locks the directory and opens the store in it. With Verify the
// first open of an existing file happens in another process: a damaged one may
// crash or hang whoever maps it.
func (n *Node) openStore(ctx context.Context) error {
	path := filepath.Join(n.cfg.Data, storeFile)
	if n.cfg.Verify {
		if err := bolt.Verify(ctx, path); err != nil {
			return err
		}
	}
	engine, err := bolt.OpenEngine(path, bolt.Options{})
	if err != nil {
		return err
	}
	n.store, err = store.Open(engine, store.Config{
		Wall: n.cfg.Clock.Wall, Secret: n.fleet.Key, Fleet: store.Fleet{ID: n.fleet.ID, Name: n.fleet.Name},
		SnapshotEvery: uint64(max(n.cfg.SnapshotEvery, 0)), SnapshotCodec: n.cfg.SnapshotCodec,
		Guard: func(ts hlc.Timestamp) error { return n.replicator.Guard(ts) },
	})
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	return nil
}

// openServer starts the embedded NATS server, unless the fleet is joined by
// URL. The store's lock, taken before, guards its folder too.
func (n *Node) openServer(context.Context) error {
	c := n.cfg.NATS
	if !c.embedded() {
		return nil
	}
	sc := jetstream.ServerConfig{
		Name: "driftless-" + n.store.Identity().Instance.String(), StoreDir: filepath.Join(n.cfg.Data, streamDir),
		JetStream: !c.Streamless, Routes: c.Routes, LeafRemotes: c.Leaf, Domain: c.Domain, Logger: n.log,
		User: c.User, Password: c.Password, Token: c.Token,
	}
	if c.Listen == "-" {
		sc.DontListen = true
	} else {
		var err error
		if sc.Host, sc.Port, err = splitAddress("nats-listen", c.Listen); err != nil {
			return err
		}
	}
	if c.ClusterListen != "" {
		var err error
		if sc.ClusterHost, sc.ClusterPort, err = splitAddress("nats-cluster-listen", c.ClusterListen); err != nil {
			return err
		}
		sc.ClusterName = "driftless-" + n.cfg.Fleet
	}
	if ip := net.ParseIP(sc.Host); sc.Host != "localhost" && (ip == nil || !ip.IsLoopback()) && c.User == "" && c.Token == "" && !sc.DontListen {
		n.log.Warn("NATS is open to whoever reaches the address: anyone there can read and write the fleet; set --nats-user or --nats-token-file", "address", c.Listen)
	}
	var err error
	if n.server, err = jetstream.StartServer(sc); errors.Is(err, jetstream.ErrConfig) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return err
}

// splitAddress reads host:port; port 0 asks the system for a free one.
func splitAddress(field, addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%w: %s: %q is not host:port", ErrConfig, field, addr)
	}
	if port == 0 {
		port = -1
	}
	return host, port, nil
}

func (n *Node) openReplication(ctx context.Context) error {
	roster, err := n.roster(ctx)
	if err != nil {
		return err
	}
	c := n.cfg.NATS
	bc := jetstream.Config{
		Fleet: n.cfg.Fleet, Instance: n.store.Identity().Instance, Name: n.cfg.Name, Version: n.cfg.Version,
		URLs: c.Join, Context: c.Context, Creds: c.Creds, NKeyFile: c.NKey, Token: c.Token, User: c.User, Password: c.Password,
		CAFile: c.CA, CertFile: c.Cert, KeyFile: c.Key, Domain: c.Domain, Streamless: c.Streamless, Replicas: c.Replicas, Logger: n.log,
	}
	if n.server != nil {
		bc.InProcess = n.server.InProcess()
	}
	if n.bus, err = jetstream.New(bc); errors.Is(err, jetstream.ErrConfig) {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	} else if err != nil {
		return err
	}
	boot, err := drawn()
	if err != nil {
		return err
	}
	seed, err := drawn()
	if err != nil {
		return err
	}
	n.replicator, err = replicate.New(n.store, n.bus, n.cfg.Clock, replicate.Config{
		Fleet: n.fleet, Name: n.cfg.Name, Software: n.cfg.Version, Boot: boot, Seed: seed,
		SyncInterval: n.cfg.SyncInterval, MaxClockOffset: n.cfg.MaxClockOffset, Members: len(roster) - 1,
		CollectAge: n.cfg.CollectAge, CollectEvery: n.cfg.CollectEvery, Rejoin: n.cfg.Rejoin,
	}, n.log)
	return err
}

func drawn() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw nonce: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}

// Run runs the node until ctx ends or something fails that waiting does not
// cure. At the end it stops intake, hands over what is in the outbox within
// DrainTimeout, and returns; Close releases what Open took.
func (n *Node) Run(ctx context.Context) error {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, inner := errgroup.WithContext(inner)
	front, closeFront := context.WithCancel(inner)
	defer closeFront()

	g.Go(func() error { return n.store.Run(inner) })
	g.Go(func() error { return n.replicator.Run(inner) })
	g.Go(func() error { return n.keepMember(inner) })
	g.Go(func() error { return n.evict(inner) })
	g.Go(func() error { return n.trim(inner) })
	g.Go(func() error { return n.scrub(inner) })
	if n.server != nil {
		g.Go(func() error { return n.server.Run(inner) })
	}
	drained := make(chan struct{})
	g.Go(func() error {
		defer close(drained)
		if n.listener == nil {
			<-front.Done()
			return nil
		}
		return n.api.Run(front, n.listener)
	})
	g.Go(func() error {
		var why error
		select {
		case <-ctx.Done():
		case <-n.reidentified:
			why = ErrReidentified
		case <-inner.Done():
			return nil
		}
		n.log.Info("draining")
		closeFront()
		<-drained
		n.drain(inner)
		stop()
		return why
	})
	return g.Wait()
}

// drain waits until the stream has what is in the outbox, within a bound. What
// does not make it is in the log and goes out after the next start.
func (n *Node) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.DrainTimeout)
	defer cancel()
	st, _ := n.replicator.Status()
	if !st.Transport.Stream {
		return
	}
	if !n.replicator.WaitStream(ctx, n.store.Head().Seq) {
		n.log.Warn("outbox not empty at the end; it goes on after the next start", "published", st.Published, "seq", n.store.Head().Seq)
	}
}

// Close releases what Open took, in reverse order. Run must have returned.
func (n *Node) Close() error {
	var errs []error
	if n.listener != nil {
		if err := n.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if n.server != nil {
		n.server.Close()
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	return errors.Join(errs...)
}

// Store returns the node's store, for a program that embeds the node.
func (n *Node) Store() *store.Store { return n.store }

// Addr returns the API's address, "" without HTTP.
func (n *Node) Addr() string {
	if n.listener == nil {
		return ""
	}
	return n.listener.Addr().String()
}

// NATSURL returns the embedded server's URL for other nodes to join, "" when
// there is none.
func (n *Node) NATSURL() string {
	if n.server == nil {
		return ""
	}
	return n.server.ClientURL()
}
