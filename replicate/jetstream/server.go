package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

// ErrServer is returned when the embedded server does not start, or ended by
// itself.
var ErrServer = errors.New("embedded NATS server failed")

const (
	// startTimeout bounds the start, recovery of the streams not included.
	startTimeout = 10 * time.Second
	// defaultSync is how much an acknowledged message may wait for the disk. The
	// server's own default is two minutes.
	defaultSync = 10 * time.Second
)

// Server is a nats-server in this process.
type Server struct {
	server  *server.Server
	listens bool
}

// StartServer starts a server and waits until it takes connections; its streams
// may still be recovering. The caller closes it.
//
// HAZARD: nothing locks StoreDir. Two servers on one directory both start, and
// destroy each other's streams. The node opens its bbolt file first, whose lock
// covers the whole data directory.
func StartServer(cfg ServerConfig) (*Server, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrServer, err)
	}
	log := &serverLog{log: slog.New(slog.DiscardHandler)}
	if cfg.Logger != nil {
		log.log = cfg.Logger.With(slog.String("part", "nats-server"))
	}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	if err := awaitStart(s, log); err != nil {
		s.Shutdown()
		s.WaitForShutdown()
		return nil, explain(err, opts)
	}
	return &Server{server: s, listens: !opts.DontListen}, nil
}

func awaitStart(s *server.Server, log *serverLog) error {
	for deadline := time.Now().Add(startTimeout); ; {
		ready := s.ReadyForConnections(100 * time.Millisecond)
		if text := log.failure(); text != "" {
			return fmt.Errorf("%w: %s", ErrServer, text)
		}
		if ready {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: not ready after %s", ErrServer, startTimeout)
		}
	}
}

// explain adds the next step to what people run into first.
func explain(err error, opts *server.Options) error {
	if !strings.Contains(err.Error(), "address already in use") {
		return err
	}
	address := net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port))
	return fmt.Errorf("%w; if another node or nats-server has %s, choose another address with --nats-listen, or use that server with --join nats://%s",
		err, address, address)
}

// ClientURL is where clients connect, "" when the server does not listen.
func (s *Server) ClientURL() string {
	if !s.listens {
		return ""
	}
	return s.server.ClientURL()
}

// InProcess connects a client in this process without the network.
func (s *Server) InProcess() nats.InProcessConnProvider { return s.server }

// Healthz tells what is wrong with the server, JetStream included: a stream whose
// disk failed stands still until the server is restarted, and says so only here.
func (s *Server) Healthz() error {
	status := s.server.Healthz(nil)
	if status.Error != "" {
		return fmt.Errorf("%w: %s", ErrServer, status.Error)
	}
	return nil
}

// Run waits until ctx ends and closes the server, or until the server has ended
// by itself, which is an error.
func (s *Server) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		<-ctx.Done()
		s.server.Shutdown()
		return nil
	})
	g.Go(func() error {
		s.server.WaitForShutdown()
		if ctx.Err() == nil {
			return fmt.Errorf("%w: it ended by itself", ErrServer)
		}
		return nil
	})
	return g.Wait()
}

// Close ends the server and waits for its files to be closed. It may be called
// again, and while Run runs, which then reports that the server ended.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
