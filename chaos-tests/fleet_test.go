// Package chaos drives real processes, real NATS and real disks through
// faults, and holds the fleet to its promises from what clients were told.
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"driftless.dev/client"
	"driftless.dev/store/bolt"
)

var (
	writes = flag.Int("writes", 4000, "writes of the acceptance run")
	outage = flag.Duration("outage", 5*time.Second, "how long NATS is away in it")
)

// binaries are built once, by TestMain.
var binaries string

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
	for name, pkg := range map[string]string{
		"driftless-node": "driftless.dev/cmd/node", "driftless": "driftless.dev/cmd/driftless", "nats-server": "github.com/nats-io/nats-server/v2",
	} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	return m.Run()
}

// process is a program under test, with the arguments to start it again by.
type process struct {
	t    *testing.T
	name string
	args []string
	log  *os.File
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

func newProcess(t *testing.T, label, program string, args ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), label+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: label, args: append([]string{filepath.Join(binaries, program)}, args...), log: log}
	t.Cleanup(func() {
		p.kill()
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			lines := strings.Split(string(text), "\n")
			t.Logf("last lines of %s:\n%s", label, strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	})
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		p.err = cmd.Wait()
		close(done)
	}(p.cmd, p.done)
}

// kill ends the process as a power cut of the process would.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // one that is gone already is fine
	<-p.done
	p.cmd = nil
}

// stop ends the process in order and expects it to say so.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatalf("stop %s: %v", p.name, err)
	}
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("%s does not end on SIGTERM", p.name)
	}
	if p.err != nil {
		p.t.Errorf("%s ended with %v", p.name, p.err)
	}
	p.cmd = nil
}

// freePort returns a port that nobody listens on now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// node is a member as a process.
type node struct {
	*process
	data   string
	url    string
	client *client.Client
}

// cluster is a NATS server and nodes that join it, each a process.
type cluster struct {
	t     *testing.T
	nats  *process
	nodes []*node
}

const fleetName = "chaos"

func newCluster(t *testing.T, names ...string) *cluster {
	t.Helper()
	port := freePort(t)
	c := &cluster{t: t}
	c.nats = newProcess(t, "nats", "nats-server", "-a", "127.0.0.1", "-p", fmt.Sprint(port), "-js", "-sd", filepath.Join(t.TempDir(), "js"))
	c.nats.start()
	for _, name := range names {
		n := &node{data: filepath.Join(t.TempDir(), name)}
		addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
		n.url = "http://" + addr
		n.process = newProcess(t, name, "driftless-node", "--name", name, "--data", n.data, "--http", addr, "--fleet", fleetName,
			"--join", fmt.Sprintf("nats://127.0.0.1:%d", port), "--sync-interval", "3s")
		var err error
		if n.client, err = client.New(client.Options{Node: n.url}); err != nil {
			t.Fatal(err)
		}
		n.start()
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		c.eventually(20*time.Second, n.name+" is ready", func(ctx context.Context) error { return n.client.Readyz(ctx) })
	}
	return c
}

// eventually asks until there is no error, and fails with the last one.
func (c *cluster) eventually(within time.Duration, what string, holds func(context.Context) error) time.Duration {
	c.t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
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
			c.t.Fatalf("not within %s: %s: %v", within, what, err)
		}
	}
}

// agree waits until the command line says that the fleet has converged.
func (c *cluster) agree(within time.Duration) time.Duration {
	c.t.Helper()
	return c.eventually(within, "fleet check exits 0 on every node", func(ctx context.Context) error {
		for _, n := range c.nodes {
			out, err := exec.CommandContext(ctx, filepath.Join(binaries, "driftless"), "fleet", "check", "--node", n.url).CombinedOutput()
			if err != nil {
				return errors.New(strings.TrimSpace(string(out)))
			}
		}
		return nil
	})
}
