//go:build chaos

package chaos

import (
	"syscall"
	"time"
)

func processFaults() []scenario {
	return []scenario{
		{name: "kill-node", fault: "SIGKILL of a node", rows: "C1", short: true, run: killNode},
		{name: "kill-host", fault: "SIGKILL of the node that hosts NATS", rows: "C1 N10", short: true, run: killHost},
		{name: "freeze-node", fault: "SIGSTOP of a node for longer than it takes to be lost", rows: "C3", short: true, run: freezeNode},
		{name: "flap", fault: "SIGSTOP and SIGCONT of a node, a second each", rows: "N8", run: flapNode},
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

func flapNode(r *round) {
	f := r.newFleet(options{})
	r.under(func() {
		for range 30 {
			r.freeze(f.nodes[2].process, time.Second)
			pause(r.t, time.Second)
		}
	})
	r.verify()
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
