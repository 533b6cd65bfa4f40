package netcut_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"driftless.dev/netcut"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo serves a TCP address that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				_, _ = io.Copy(c, c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait() // no connection outlives its link
	})
	return ln.Addr().String()
}

func open(t *testing.T, target string) *netcut.Link {
	t.Helper()
	link, err := netcut.New(target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- link.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return link
}

func dial(t *testing.T, link *netcut.Link) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", link.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// carries reports whether what is sent comes back; a link that is cut ends the
// connection instead.
func carries(t *testing.T, c net.Conn) bool {
	t.Helper()
	got := make([]byte, 5)
	_, err := c.Write([]byte("hello"))
	if err == nil {
		_, err = io.ReadFull(c, got)
	}
	if n, ok := err.(net.Error); ok && n.Timeout() {
		t.Fatal("the connection neither carries nor ends")
	}
	return err == nil && string(got) == "hello"
}

// A cut drops what is connected and whoever connects; a heal lets connections
// through again, and those that were dropped stay so.
func TestLink_CutAndHeal(t *testing.T) {
	link := open(t, echo(t))
	before := dial(t, link)
	if !carries(t, before) {
		t.Fatal("a whole link does not carry")
	}
	link.Cut()
	if carries(t, before) || carries(t, dial(t, link)) {
		t.Error("a cut link carries")
	}
	link.Heal()
	if carries(t, before) || !carries(t, dial(t, link)) {
		t.Error("a healed link must carry new connections and no old ones")
	}
}

// A cut at any moment, that of the dial to the target included, leaves no
// connection: the target sees each one end.
func TestLink_CutWhileConnecting(t *testing.T) {
	link := open(t, echo(t))
	for range 200 {
		c := dial(t, link)
		link.Cut()
		if carries(t, c) {
			t.Fatal("a connection outlives the cut")
		}
		link.Heal()
		c.Close()
	}
}

// A target that is gone ends the connection, and a side that closes ends the
// other's.
func TestLink_Ends(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if carries(t, dial(t, open(t, ln.Addr().String()))) {
		t.Error("a link to nowhere carries")
	}
}
