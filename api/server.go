package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// ErrExposed is returned by Run for a listener that other machines reach when
// nothing authenticates callers.
var ErrExposed = errors.New("the API would be open to the network")

// Times that bound what a slow or silent client can hold. Waits are why
// writing has a long one.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	writeTimeout  = maxWait + time.Minute
	drainTimeout  = 10 * time.Second
	maxHeader     = 64 << 10
)

// Server answers the API's requests.
type Server struct {
	cfg    Config
	log    *slog.Logger
	origin *http.CrossOriginProtection
	hosts  map[string]bool
	routes []route
	mux    *http.ServeMux
	spec   []byte // the OpenAPI document
	page   *template.Template
	saving sync.Mutex // held by the one snapshot that is streamed
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.Node == nil {
		return nil, errors.New("make api server: no node")
	}
	if err := validateTokens(cfg.Tokens); err != nil {
		return nil, fmt.Errorf("make api server: %w", err)
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, log: cfg.Logger, origin: http.NewCrossOriginProtection(), hosts: map[string]bool{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, h := range cfg.Hosts {
		s.hosts[hostOf(h)] = true
	}
	var err error
	if s.page, err = template.New("page").Parse(pageText); err != nil {
		return nil, fmt.Errorf("make api server: %w", err)
	}
	s.routes = routes()
	if s.spec, err = openAPI(s.routes); err != nil {
		return nil, fmt.Errorf("make api server: %w", err)
	}
	s.mux = s.newMux()
	return s, nil
}

// Handler returns the API as a handler, for a program that serves it itself
// and then answers for who can reach it.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Run serves on ln until ctx ends, then finishes what is under way, within a
// bound. It closes ln. Waits end with ctx: what they waited for is durable
// here all the same.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	if err := s.Exposed(ln.Addr()); err != nil {
		return errors.Join(err, ln.Close())
	}
	g, ctx := errgroup.WithContext(ctx)
	srv := &http.Server{
		Handler: s.Handler(), TLSConfig: s.cfg.TLS.Clone(),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: writeTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	g.Go(func() error {
		serve := srv.Serve
		if srv.TLSConfig != nil {
			serve = func(ln net.Listener) error { return srv.ServeTLS(ln, "", "") }
		}
		if err := serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve api: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if err := srv.Shutdown(drain); err != nil {
			return errors.Join(fmt.Errorf("drain api: %w", err), srv.Close())
		}
		return nil
	})
	return g.Wait()
}

// Exposed refuses, with ErrExposed, an address that other machines reach, unless callers are
// authenticated.
func (s *Server) Exposed(addr net.Addr) error {
	switch a := addr.(type) {
	case *net.UnixAddr:
		return nil
	case *net.TCPAddr:
		if a.IP.IsLoopback() {
			return nil
		}
	}
	if len(s.cfg.Tokens) > 0 || s.mutualTLS() {
		return nil
	}
	return fmt.Errorf("%w at %s: listen on 127.0.0.1 or a Unix socket, configure tokens, or require client certificates", ErrExposed, addr)
}

func (s *Server) mutualTLS() bool {
	return s.cfg.TLS != nil && s.cfg.TLS.ClientAuth == tls.RequireAndVerifyClientCert
}
