package driftless

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// ErrConfig is returned by Open for a configuration that no waiting cures; the
// text names the field and what to change.
var ErrConfig = errors.New("configuration invalid")

// Config is what a node is opened with. Data is required; the zero value of
// the rest works: an embedded NATS server on a loopback port that others may
// join, and no HTTP.
type Config struct {
	// Name is for people; it defaults to the host's name.
	Name string
	// Data is the directory that the node keeps everything in. It is locked
	// while the node runs.
	Data string
	// Verify looks at an existing store in a child process before it is opened
	// here, where damage could crash or hang this one. The child is this program
	// again, so its main must begin with RunVerifier.
	Verify bool
	// Fleet names the fleet; FleetSecret, when set, must be the same on every
	// member.
	Fleet       string
	FleetSecret []byte
	// HTTP is the API's address, "" for none, "unix:/path" for a socket.
	HTTP string
	// HTTPHosts are further names that callers may know the API by; requests
	// for other hosts are refused, so that no web page reaches it by DNS.
	HTTPHosts []string
	// Tokens are the bearer tokens of the API. Without any it listens on
	// loopback or a socket only.
	Tokens []Token
	// TLSCert, TLSKey and TLSClientCA are files; with the last, clients prove
	// themselves.
	TLSCert, TLSKey, TLSClientCA string
	// NATS says how the fleet is reached.
	NATS NATS

	// SyncInterval is the mean time between reconciliations with a random
	// peer, MaxClockOffset how far ahead of the fleet's clock a stamp may be.
	SyncInterval   time.Duration
	MaxClockOffset time.Duration
	// CollectAge is how old a tombstone is at least when it is collected, once
	// every member has it. Horizon is how long a member may be silent before a
	// majority of the others takes it off the roster, so that collection goes on;
	// a negative one never does. Rejoin lets a copy that is older than what the
	// fleet has collected take the fleet's state by itself.
	CollectAge time.Duration
	// CollectEvery is the mean time between two looks at whether anything can be
	// collected.
	CollectEvery time.Duration
	Horizon      time.Duration
	Rejoin       bool
	// SnapshotEvery writes a snapshot after so many events; 0 takes the
	// default, a negative number never does.
	SnapshotEvery int64
	// LogKeep is how many of the log's newest entries are kept, LogAge how long
	// an entry is. What is beyond either is trimmed, behind two snapshots and
	// what the stream may want again; without snapshots nothing is. 0 takes the
	// default of LogKeep and sets no LogAge, a negative LogKeep keeps all.
	LogKeep int64
	LogAge  time.Duration
	// LedgerKeep bounds, in bytes, the versions that lost, and so the
	// quarantine; LedgerAge how long either is kept. 0 takes the default, a
	// negative number keeps all.
	LedgerKeep int64
	LedgerAge  time.Duration
	// ScrubInterval is the time between two slow readings of the whole store;
	// 0 takes the default, a negative one never reads.
	ScrubInterval time.Duration
	// SnapshotCodec, when set, seals and opens snapshots, saved ones too.
	SnapshotCodec store.SnapshotCodec
	// DrainTimeout bounds the flush at the end.
	DrainTimeout time.Duration

	// Version is the program's, shown to people.
	Version string
	Logger  *slog.Logger
	// Clock is the node's time; nil takes the machine's.
	Clock Clock
}

// NATS says how a node reaches the fleet.
type NATS struct {
	// Join lists the URLs of servers. Without any, and without Context, the
	// node starts an embedded server.
	Join []string
	// Context names a NATS CLI context.
	Context string
	// Listen is the embedded server's address, "127.0.0.1:4222" by default; "-"
	// listens nowhere.
	Listen string
	// Streamless never uses JetStream: the fleet converges by reconciliation
	// alone.
	Streamless bool
	// At most one of Creds, NKey (files), Token and User.
	Creds, NKey, Token, User, Password string
	// CA verifies the server, Cert and Key prove the client; files.
	CA, Cert, Key string
	// Domain selects the JetStream domain; Replicas is the stream's.
	Domain   string
	Replicas int
	// ClusterListen and Routes join embedded servers into a cluster, Leaf
	// connects the embedded server to a hub.
	ClusterListen string
	Routes        []string
	Leaf          []string
}

// Token is a bearer token of the API: who it stands for and as which actors it
// may write.
type Token struct {
	Name   string
	Secret string
	Actors []resource.Actor
}

// Defaults of Config.
const (
	DefaultFleet         = "default"
	DefaultNATSListen    = "127.0.0.1:4222"
	DefaultSnapshotEvery = 100_000
	DefaultDrainTimeout  = 5 * time.Second
	DefaultHorizon       = 30 * 24 * time.Hour
	DefaultLogKeep       = 1_000_000
	DefaultLedgerKeep    = 256 << 20
	DefaultLedgerAge     = 90 * 24 * time.Hour
	DefaultScrubInterval = 24 * time.Hour
)

// complete checks a configuration and fills in its defaults.
func (c Config) complete() (Config, error) {
	if c.Data == "" {
		return c, fmt.Errorf("%w: data: a directory is needed (--data DIR)", ErrConfig)
	}
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("%w: name: %w; give one (--name NAME)", ErrConfig, err)
		}
		c.Name = name
	}
	if c.Fleet == "" {
		c.Fleet = DefaultFleet
	}
	if err := resource.ValidateName("name", c.Name); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := wire.ValidateFleet(c.Fleet); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for _, join := range c.NATS.Join {
		if u, err := url.Parse(join); err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return c, fmt.Errorf("%w: join: a NATS server's URL is nats://host:port (or tls, ws, wss)", ErrConfig)
		}
	}
	if c.NATS.embedded() && c.NATS.Listen == "" {
		c.NATS.Listen = DefaultNATSListen
	}
	if !c.NATS.embedded() && (c.NATS.ClusterListen != "" || len(c.NATS.Routes) > 0 || len(c.NATS.Leaf) > 0) {
		return c, fmt.Errorf("%w: nats: routes, cluster and leaf belong to the embedded server, which join replaces", ErrConfig)
	}
	if c.SnapshotEvery == 0 {
		c.SnapshotEvery = DefaultSnapshotEvery
	}
	if c.Horizon == 0 {
		c.Horizon = DefaultHorizon
	}
	if c.LogKeep == 0 {
		c.LogKeep = DefaultLogKeep
	}
	if c.LedgerKeep == 0 {
		c.LedgerKeep = DefaultLedgerKeep
	}
	if c.LedgerAge == 0 {
		c.LedgerAge = DefaultLedgerAge
	}
	if c.ScrubInterval == 0 {
		c.ScrubInterval = DefaultScrubInterval
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = DefaultDrainTimeout
	}
	if c.Version == "" {
		c.Version = "0.0.0-dev"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	return c, nil
}

// embedded reports whether the node runs its own server.
func (n NATS) embedded() bool { return len(n.Join) == 0 && n.Context == "" }

// redact hides a secret from whoever prints a configuration.
func (t Token) redact() string { return t.Name + ":" + strings.Repeat("*", 8) }

// String hides the secret.
func (t Token) String() string { return t.redact() }

// GoString hides the secret.
func (t Token) GoString() string { return t.redact() }

// LogValue hides the secret.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.redact()) }
