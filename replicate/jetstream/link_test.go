package jetstream_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"driftless.dev/replicate/jetstream"
)

// relay is a link that can be turned into a black hole: bytes are taken and
// vanish, and no connection is closed.
type relay struct {
	listener net.Listener
	black    atomic.Bool
	work     sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l}
	r.work.Add(1)
	go r.accept(to)
	t.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		for _, c := range r.conns {
			_ = c.Close()
		}
		r.mu.Unlock()
		r.work.Wait()
	})
	return r
}

func (r *relay) accept(to string) {
	defer r.work.Done()
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, in, out)
		r.mu.Unlock()
		r.work.Add(2)
		go r.pump(out, in)
		go r.pump(in, out)
	}
}

func (r *relay) pump(to, from net.Conn) {
	defer r.work.Done()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if r.black.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil && err != io.EOF {
			return
		}
	}
}

// nats.go's defaults take five minutes to notice this.
func TestBus_BlackHoledLinkIsNoticed(t *testing.T) {
	s := startServer(t, nil)
	r := startRelay(t, s.ClientURL()[len("nats://"):])
	n := startNode(t, 1, "nats://"+r.listener.Addr().String())
	n.untilStream()
	n.mustPublish("r", "before")
	r.black.Store(true)
	n.until("the loss", func() bool { return !n.last().Connected })
	if err := n.publish("r", "lost"); err == nil {
		t.Error("a publish into a black hole was acknowledged")
	}
	r.black.Store(false)
	n.untilStream()
	n.mustPublish("r", "after")
	n.untilPayloads([]string{"before", "after"})
}

// A second address is used when the first does not answer.
func TestBus_TriesAllAddresses(t *testing.T) {
	s := startServer(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	n := startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) {
		c.URLs = append(c.URLs, "nats://"+l.Addr().String())
	})
	n.untilStream()
}
