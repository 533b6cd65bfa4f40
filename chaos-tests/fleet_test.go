// Package chaos drives real processes, real NATS and real disks through
// faults, and holds the fleet to its promises from what clients were told.
//
// TestAcceptance is part of every test run. The faults that need root, network
// namespaces, a tracer or FUSE stand behind the build tag chaos (make chaos).
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftless.dev/client"
	"driftless.dev/store/bolt"
)

var (
	writes = flag.Int("writes", 4000, "writes of the acceptance run")
	outage = flag.Duration("outage", 5*time.Second, "how long NATS is away in it")
)

// binaries is the folder that TestMain builds the programs into, once.
var binaries string

// program is one to be built: its package and build tags.
type program struct{ name, pkg, tags string }

func TestMain(m *testing.M) {
	if bolt.RunVerifier() {
		return // this process was started to look at a file, and has
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "driftless-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	for _, p := range append([]program{
		{"driftless-node", "driftless.dev/cmd/node", ""},
		{"driftless", "driftless.dev/cmd/driftless", ""},
		{"nats-server", "github.com/nats-io/nats-server/v2", ""},
	}, furtherPrograms()...) {
		if out, err := exec.Command("go", "build", "-tags", p.tags, "-o", filepath.Join(dir, p.name), p.pkg).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", p.name, err, out)
			return 1
		}
	}
	return m.Run()
}

// node is a member as a process.
type node struct {
	*process
	data, url string
	join      string   // NATS, "" for the node that hosts it
	listen    string   // where it hosts it
	further   []string // arguments
	client    *client.Client
}

// start starts the process with what its fields say now.
func (n *node) start() {
	n.t.Helper()
	n.args = append([]string{"--name", n.name, "--data", n.data, "--http", n.url[len("http://"):], "--fleet", fleetName, "--sync-interval", "3s"}, n.further...)
	if socket, ok := strings.CutPrefix(n.url, "unix://"); ok {
		n.args[5] = "unix:" + socket
	}
	if n.join != "" {
		n.args = append(n.args, "--join", n.join)
	} else {
		n.args = append(n.args, "--nats-listen", n.listen)
	}
	n.launch()
}

// ready waits until the node has caught up with the fleet.
func (n *node) ready(within time.Duration) {
	n.t.Helper()
	eventually(n.t, within, n.name+" is ready", func(ctx context.Context) error { return n.client.Readyz(ctx) })
}

// fleet is nodes as processes, over a NATS server of its own or over the one
// that the first node hosts.
type fleet struct {
	t     *testing.T
	nats  *process // nil when the first node hosts it
	nodes []*node
}

const fleetName = "chaos"

// options say how a fleet is made.
type options struct {
	names  []string
	hosted bool // the first node hosts NATS
	// prepare may change processes before they are started.
	prepare func(*fleet)
}

func newFleet(t *testing.T, o options) *fleet {
	t.Helper()
	f := &fleet{t: t}
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	sockets := shortDir(t)
	for i, name := range o.names {
		n := &node{process: newProcess(t, name, "driftless-node"), data: filepath.Join(t.TempDir(), name), join: "nats://" + addr, listen: addr}
		if o.hosted && i == 0 {
			n.join = ""
		}
		n.url = "unix://" + filepath.Join(sockets, name)
		var err error
		if n.client, err = client.New(client.Options{Node: n.url}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.client.Close)
		f.nodes = append(f.nodes, n)
	}
	if !o.hosted {
		host, port, _ := strings.Cut(addr, ":")
		f.nats = newProcess(t, "nats", "nats-server", "-a", host, "-p", port, "-js", "-sd", filepath.Join(t.TempDir(), "js"))
	}
	if o.prepare != nil {
		o.prepare(f)
	}
	if f.nats != nil {
		f.nats.launch()
	}
	for _, n := range f.nodes {
		n.start()
	}
	for _, n := range f.nodes {
		n.ready(30 * time.Second)
	}
	return f
}

// freePort returns a port that nobody listens on. It is below those that the
// system gives to connections, so that none takes it while its server is away.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	t.Fatal("no port is free")
	return 0
}

// eventually asks until there is no error, and fails with the last one.
func eventually(t *testing.T, within time.Duration, what string, holds func(context.Context) error) time.Duration {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return time.Since(start)
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			t.Fatalf("not within %s: %s: %v", within, what, err)
		}
	}
}

// pause is a fault's length: the one thing that is waited for by time.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// agree waits until the command line says on every node that the fleet has
// converged.
func (f *fleet) agree(within time.Duration) time.Duration {
	f.t.Helper()
	return eventually(f.t, within, "fleet check exits 0 on every node", func(ctx context.Context) error {
		for _, n := range f.nodes {
			out, err := exec.CommandContext(ctx, filepath.Join(binaries, "driftless"), "fleet", "check", "--node", n.url).CombinedOutput()
			if err != nil {
				return errors.New(strings.TrimSpace(string(out)))
			}
		}
		return nil
	})
}
