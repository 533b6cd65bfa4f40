package jetstream

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerConfig is an embedded server. Its zero value listens on 127.0.0.1:4222
// without JetStream.
type ServerConfig struct {
	// Name is the server's identity in a cluster; keep it stable.
	Name string
	// Host is 127.0.0.1 by default: anyone who reaches the port may write, unless
	// there are credentials. Port is 4222 by default, -1 takes a free one.
	Host string
	Port int
	// DontListen serves this process only.
	DontListen bool

	// JetStream keeps streams under StoreDir.
	JetStream bool
	StoreDir  string
	// Domain names this JetStream; a leaf node needs one of its own.
	Domain string
	// SyncInterval is how long an acknowledged message may wait for the disk;
	// 10 s by default.
	SyncInterval time.Duration
	// MaxPayload bounds a message; the server's 1 MiB by default.
	MaxPayload int32

	// ClusterName with ClusterPort makes it part of a cluster, which it finds by
	// Routes (nats://host:6222).
	ClusterName, ClusterHost string
	ClusterPort              int
	Routes                   []string
	// LeafRemotes are hubs to connect to as a leaf node.
	LeafRemotes []string

	// Clients must prove one of these, when any is set. NKeys are public keys.
	User, Password, Token string
	NKeys                 []string
	// CertFile and KeyFile turn TLS on; CAFile then demands client certificates.
	CertFile, KeyFile, CAFile string

	Logger *slog.Logger
}

// options translates, and refuses what would be dangerous or useless.
func (c ServerConfig) options() (*server.Options, error) {
	if c.JetStream && c.StoreDir == "" {
		return nil, fmt.Errorf("%w: JetStream without a directory would lose the stream at each restart", ErrConfig)
	}
	if c.JetStream && len(c.LeafRemotes) > 0 && c.Domain == "" {
		return nil, fmt.Errorf("%w: a leaf node with JetStream needs a domain name of its own", ErrConfig)
	}
	opts := &server.Options{
		ServerName: c.Name, Host: c.Host, Port: c.Port, DontListen: c.DontListen,
		JetStream: c.JetStream, StoreDir: c.StoreDir, JetStreamDomain: c.Domain,
		SyncInterval: c.SyncInterval, MaxPayload: c.MaxPayload,
		Username: c.User, Password: c.Password, Authorization: c.Token,
		NoSigs: true, DisableJetStreamBanner: true, // signals are the node's
	}
	if opts.Host == "" {
		opts.Host = "127.0.0.1" // the server's own default is every address
	}
	if opts.SyncInterval <= 0 {
		opts.SyncInterval = defaultSync
	}
	for _, key := range c.NKeys {
		opts.Nkeys = append(opts.Nkeys, &server.NkeyUser{Nkey: key})
	}
	if err := c.links(opts); err != nil {
		return nil, err
	}
	return opts, c.tls(opts)
}

// links sets up what connects servers to each other.
func (c ServerConfig) links(opts *server.Options) error {
	if c.ClusterName != "" {
		opts.Cluster = server.ClusterOpts{Name: c.ClusterName, Host: c.ClusterHost, Port: c.ClusterPort}
		if opts.Cluster.Host == "" {
			opts.Cluster.Host = opts.Host
		}
	} else if len(c.Routes) > 0 || c.ClusterPort != 0 {
		return fmt.Errorf("%w: a cluster needs a name", ErrConfig)
	}
	var err error
	if opts.Routes, err = parseURLs("route", c.Routes); err != nil {
		return err
	}
	remotes, err := parseURLs("leaf remote", c.LeafRemotes)
	if err != nil {
		return err
	}
	for _, u := range remotes {
		opts.LeafNode.Remotes = append(opts.LeafNode.Remotes, &server.RemoteLeafOpts{URLs: []*url.URL{u}})
	}
	return nil
}

func (c ServerConfig) tls(opts *server.Options) error {
	if c.CertFile == "" {
		return nil
	}
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{
		CertFile: c.CertFile, KeyFile: c.KeyFile, CaFile: c.CAFile, Verify: c.CAFile != "",
	})
	if err != nil {
		return fmt.Errorf("%w: read TLS files: %w", ErrConfig, err)
	}
	opts.TLS, opts.TLSVerify, opts.TLSConfig = true, c.CAFile != "", config
	return nil
}

// parseURLs reads addresses that may hold passwords, which errors must not repeat.
func parseURLs(what string, texts []string) ([]*url.URL, error) {
	urls := make([]*url.URL, 0, len(texts))
	for i, text := range texts {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("%w: %s %d is not of the form nats://host:port", ErrConfig, what, i+1)
		}
		urls = append(urls, u)
	}
	return urls, nil
}
