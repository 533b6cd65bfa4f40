package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"driftless.dev/replicate/jetstream"
)

func TestServer_PortInUseSaysWhatToDo(t *testing.T) {
	s := startServer(t, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.ClientURL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(port)
	_, err = jetstream.StartServer(jetstream.ServerConfig{Port: n})
	if !errors.Is(err, jetstream.ErrServer) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"127.0.0.1:" + port, "address already in use", "--nats-listen", "--join"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestServer_DirectoryThatCannotBeWrittenIsAnError(t *testing.T) {
	_, err := jetstream.StartServer(jetstream.ServerConfig{Port: -1, JetStream: true, StoreDir: "/dev/null/x"})
	if !errors.Is(err, jetstream.ErrServer) {
		t.Errorf("got %v", err)
	}
}

func TestServer_ListensOnLoopbackAndIsHealthy(t *testing.T) {
	s := startServer(t, func(c *jetstream.ServerConfig) { c.Logger = slog.New(slog.DiscardHandler) })
	if !strings.HasPrefix(s.ClientURL(), "nats://127.0.0.1:") {
		t.Errorf("listens on %s", s.ClientURL())
	}
	startNode(t, 1, s.ClientURL()).untilStream()
	if err := s.Healthz(); err != nil {
		t.Error(err)
	}
	s.Close()
	if err := s.Healthz(); err == nil {
		t.Error("a closed server is healthy")
	}
}

func TestServer_RunEndsWithItsContext(t *testing.T) {
	s := startServer(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	other := startServer(t, nil)
	go func() { ended <- other.Run(t.Context()) }()
	other.Close()
	if err := <-ended; !errors.Is(err, jetstream.ErrServer) {
		t.Errorf("a server that ended by itself: %v", err)
	}
}

func TestServer_ConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]jetstream.ServerConfig{
		"no directory":      {JetStream: true},
		"leaf, no domain":   {JetStream: true, StoreDir: "x", LeafRemotes: []string{"nats://hub:7422"}},
		"cluster, no name":  {Routes: []string{"nats://a:6222"}},
		"bad route":         {ClusterName: "c", Routes: []string{"nats://u:s3cret@ %"}},
		"missing TLS files": {CertFile: "/nowhere/cert.pem", KeyFile: "/nowhere/key.pem"},
	} {
		if _, err := jetstream.StartServer(cfg); !errors.Is(err, jetstream.ErrConfig) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A node that knows one server of a cluster survives the loss of that one.
func TestServer_ClusterMembersAreLearnt(t *testing.T) {
	route := freePort(t)
	inCluster := func(name string, port int, routes ...string) *jetstream.Server {
		return startServer(t, func(c *jetstream.ServerConfig) {
			c.Name, c.JetStream, c.ClusterName, c.ClusterPort, c.Routes = name, false, "c", port, routes
			c.User, c.Password = "alice", "s3cret"
		})
	}
	a := inCluster("a", route)
	url := strings.Replace(a.ClientURL(), "nats://", "nats://alice:s3cret@", 1)
	n := startNode(t, 1, url, func(_ *node, c *jetstream.Config) { c.Streamless = true })
	n.until("a connection", func() bool { return n.last().Connected })
	b := inCluster("b", -1, "nats://127.0.0.1:"+strconv.Itoa(route)) // known to the client only by a's word
	other := startNode(t, 2, b.ClientURL(), func(_ *node, c *jetstream.Config) {
		c.Streamless, c.User, c.Password = true, "alice", "s3cret"
	})
	eventually(t, "the route", func() bool {
		_ = other.bus.Broadcast(other.id, nil)
		return n.heard() > 0
	})
	a.Close()
	n.until("the other server", func() bool { tr := n.last(); return tr.Connected && tr.URL == b.ClientURL() })
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
