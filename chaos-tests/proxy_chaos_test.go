//go:build chaos

package chaos

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between a node and NATS. What NATS sends it can delay, reorder
// and repeat message by message: the kernel here has nothing for it, and within
// one TCP connection it could not anyway.
type proxy struct {
	listener net.Listener
	target   string
	// most is the longest delay in ns; each message has its own. With reorder
	// one may overtake another, and repeat is how many of a hundred come twice.
	most, repeat                 atomic.Int64
	reorder                      atomic.Bool
	delayed, overtaken, repeated atomic.Int64

	wg    sync.WaitGroup
	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

// shape sets what is done from now on; the zero values pass everything.
func (p *proxy) shape(most time.Duration, reorder bool, repeat int) {
	p.most.Store(int64(most))
	p.reorder.Store(reorder)
	p.repeat.Store(int64(repeat))
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", p.target)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		p.conns[c], p.conns[up] = true, true
		p.mu.Unlock()
		p.wg.Go(func() {
			_, _ = io.Copy(up, c) // either end may go at any time
			up.Close()
		})
		p.wg.Go(func() {
			p.carry(c, bufio.NewReaderSize(up, 1<<20))
			c.Close()
			up.Close()
		})
	}
}

// frame reads one protocol line, and with it the payload of a message.
func frame(r *bufio.Reader) (b []byte, message bool, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, false, err
	}
	words := strings.Fields(string(line))
	if len(words) == 0 || words[0] != "MSG" && words[0] != "HMSG" {
		return line, false, nil
	}
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return nil, false, fmt.Errorf("size of message: %w", err)
	}
	payload := make([]byte, size+2)
	_, err = io.ReadFull(r, payload)
	return bytes.Join([][]byte{line, payload}, nil), true, err
}

// carry hands on what NATS sends. Lines that are no messages keep their place.
func (p *proxy) carry(to net.Conn, from *bufio.Reader) {
	var (
		mu     sync.Mutex
		newest int64
		timers sync.WaitGroup
		seq    int64
		due    time.Time
	)
	defer timers.Wait()
	send := func(n int64, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		if n < newest {
			p.overtaken.Add(1)
		}
		newest = max(newest, n)
		_, _ = to.Write(b) // a connection that is gone ends the reads too
	}
	for {
		b, message, err := frame(from)
		if err != nil {
			return
		}
		seq++
		n, at := seq, time.Now()
		if most := p.most.Load(); message && most > 0 {
			at = at.Add(time.Duration(rand.Int64N(most)))
			p.delayed.Add(1)
		}
		if !p.reorder.Load() && at.Before(due) {
			at = due // in order
		}
		due = at
		copies := 1
		if message && rand.Int64N(100) < p.repeat.Load() {
			copies = 2
			p.repeated.Add(1)
		}
		wait := time.Until(at)
		if wait <= 0 && copies == 1 && p.most.Load() == 0 {
			send(n, b)
			continue
		}
		for range copies {
			timers.Add(1)
			time.AfterFunc(wait, func() {
				defer timers.Done()
				send(n, b)
			})
		}
	}
}
