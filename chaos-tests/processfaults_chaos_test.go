//go:build chaos

package chaos

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

func processFaults() []scenario {
	return []scenario{
		{name: "kill-node", fault: "SIGKILL of a node", rows: "C1", short: true, run: killNode},
		{name: "kill-host", fault: "SIGKILL of the node that hosts NATS", rows: "C1 N10", short: true, run: killHost},
		{name: "freeze-node", fault: "SIGSTOP of a node for longer than it takes to be lost", rows: "C3", short: true, run: freezeNode},
		{name: "flap", fault: "SIGSTOP and SIGCONT of a node, a second each", rows: "N8", run: flapNode},
		{name: "descriptors", fault: "connections held until a node has no descriptor left", rows: "C5", short: true, run: noDescriptors},
		{name: "rolling", fault: "restart of every node in turn", rows: "C1", short: true, run: rolling},
	}
}

func killNode(r *round) {
	f := r.newFleet(options{})
	for range r.times(1, 5) {
		r.under(func() { r.killLoop(f.nodes[1], r.times(5, 12)) })
	}
	r.verify()
}

// killLoop kills a node again and again, each time as soon as it takes writes.
func (r *round) killLoop(n *node, kills int) {
	for range kills {
		n.ready(30 * time.Second)
		n.kill()
		r.injected++
		n.start()
	}
	n.ready(30 * time.Second)
}

func killHost(r *round) {
	f := r.newFleet(options{hosted: true})
	for range r.times(1, 5) {
		r.under(func() { r.killLoop(f.nodes[0], r.times(3, 6)) })
	}
	r.verify()
}

// lostAfter is how long a member may be silent before the others count it as
// lost: ten heartbeats of a second.
const lostAfter = 10 * time.Second

func freezeNode(r *round) {
	f := r.newFleet(options{})
	for i := range r.times(1, 4) {
		r.under(func() { r.freeze(f.nodes[i%len(f.nodes)].process, lostAfter+2*time.Second) })
	}
	r.verify()
}

func (r *round) freeze(p *process, d time.Duration) {
	p.signal(syscall.SIGSTOP)
	r.injected++
	pause(r.t, d)
	p.signal(syscall.SIGCONT)
}

// flapNode leaves no descriptor behind, on any node.
func flapNode(r *round) {
	f := r.newFleet(options{})
	r.under(func() { pause(r.t, time.Second) })
	before := r.descriptors()
	r.under(func() {
		for range 30 {
			r.freeze(f.nodes[2].process, time.Second)
			pause(r.t, time.Second)
		}
	})
	for name, n := range r.descriptors() {
		if n > before[name]+16 { // a client's idle connections
			r.t.Errorf("N8: %s has %d descriptors, %d before", name, n, before[name])
		}
	}
	r.verify()
}

// descriptors counts each node's open ones.
func (r *round) descriptors() map[string]int {
	r.t.Helper()
	out := map[string]int{}
	for _, n := range r.fleet.nodes {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.cmd.Process.Pid))
		if err != nil {
			r.t.Fatal(err)
		}
		out[n.name] = len(open)
	}
	return out
}

// noDescriptors takes all connections that a node can have. It is alive to the
// others, and takes calls again when the connections end.
func noDescriptors(r *round) {
	const limit = 64
	f := r.newFleet(options{prepare: func(f *fleet) {
		f.nodes[1].wrap = []string{"prlimit", fmt.Sprintf("--nofile=%d", limit)}
	}})
	n := f.nodes[1]
	for range r.times(1, 4) {
		r.under(func() {
			before, err := n.client.Node(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			held := r.holdAll(n, 2*limit)
			if r.descriptors()[n.name] < limit {
				r.t.Errorf("C5: %d connections leave the node some descriptors", len(held))
			} else {
				r.injected++
			}
			pause(r.t, 3*time.Second)
			r.alive(f.nodes[0], n)
			for _, c := range held {
				c.Close()
			}
			n.answers(20 * time.Second)
			after, err := n.client.Node(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			if after.Counts.Applied == before.Counts.Applied || !after.StartedAt.Equal(before.StartedAt) {
				r.t.Errorf("C5: the node applied %d events meanwhile and started at %s, %s before", after.Counts.Applied-before.Counts.Applied, after.StartedAt, before.StartedAt)
			}
		})
	}
	r.verify()
}

// holdAll connects so often and says nothing.
func (r *round) holdAll(n *node, times int) (held []net.Conn) {
	r.t.Helper()
	for range times {
		c, err := net.Dial("unix", strings.TrimPrefix(n.url, "unix://"))
		if err != nil {
			break // its backlog is full too
		}
		r.t.Cleanup(func() { c.Close() })
		held = append(held, c)
	}
	pause(r.t, 200*time.Millisecond)
	return held
}

func rolling(r *round) {
	f := r.newFleet(options{hosted: true})
	for range r.times(1, 4) {
		r.under(func() {
			for _, n := range f.nodes {
				n.stop()
				r.injected++
				n.start()
				n.ready(30 * time.Second)
			}
		})
	}
	r.verify()
}
