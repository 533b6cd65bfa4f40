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
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() {
		p.listener.Close()
		p.Cut()
	})
	defer stop()
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		if !p.keep(c) {
			c.Close()
			continue
		}
		wg.Go(func() { p.carry(c) })
	}
}

func (p *Link) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.broken {
		p.conns[c] = true
	}
	return !p.broken
}

func (p *Link) carry(c net.Conn) {
	defer func() {
		c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}()
	up, err := net.Dial("tcp", p.target)
	if err != nil || !p.keep(up) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(up, c) // a cut link ends it, as it should
		up.Close()
	})
	_, _ = io.Copy(c, up)
	c.Close()
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, up)
	p.mu.Unlock()
}
