package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
)

// proxy stands between a node and NATS, so that the demo can cut the link.
type proxy struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	broken bool
	conns  map[net.Conn]bool
}

func newProxy(natsURL string) (*proxy, error) {
	u, err := url.Parse(natsURL)
	if err != nil {
		return nil, fmt.Errorf("parse NATS URL: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for node b: %w", err)
	}
	return &proxy{listener: l, target: u.Host, conns: map[net.Conn]bool{}}, nil
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

// cut drops every connection and refuses new ones; heal lets them through
// again.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = false
}

// run accepts until ctx ends.
func (p *proxy) run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := context.AfterFunc(ctx, func() {
		p.listener.Close()
		p.cut()
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

func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.broken {
		p.conns[c] = true
	}
	return !p.broken
}

func (p *proxy) carry(c net.Conn) {
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
