// Package netcut is a TCP link that can be cut and healed: the demo and the
// tests put one between a node and NATS.
package netcut

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Link carries connections from an address of its own to a target.
type Link struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	broken bool
	conns  map[net.Conn]bool
}

// New listens on a loopback port for connections to target, host:port.
func New(target string) (*Link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for link to %s: %w", target, err)
	}
	return &Link{listener: l, target: target, conns: map[net.Conn]bool{}}, nil
}

// Addr is where to connect to.
func (p *Link) Addr() string { return p.listener.Addr().String() }

// Cut drops every connection and refuses new ones.
func (p *Link) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	for c := range p.conns {
		c.Close()
	}
}

// Heal ends a cut.
func (p *Link) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = false
}

// Run carries until ctx ends.
func (p *Link) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	context.AfterFunc(ctx, func() {
		p.listener.Close()
		p.Cut()
	})
	defer cancel()
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		wg.Go(func() { p.carry(ctx, c) })
	}
}

// keep enters a connection among those that a cut drops, unless the link is
// cut.
func (p *Link) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.broken {
		p.conns[c] = true
	}
	return !p.broken
}

// drop closes a connection for good.
func (p *Link) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Link) carry(ctx context.Context, c net.Conn) {
	defer p.drop(c)
	if !p.keep(c) {
		return
	}
	up, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer p.drop(up)
	if !p.keep(up) {
		return // cut during the dial
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, _ = io.Copy(up, c) // a cut link ends it, as it should
		up.Close()
	})
	_, _ = io.Copy(c, up)
	c.Close()
}
