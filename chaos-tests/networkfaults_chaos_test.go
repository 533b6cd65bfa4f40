//go:build chaos

package chaos

import (
	"strings"
	"time"
)

func networkFaults() []scenario {
	return []scenario{
		{name: "cut", fault: "network cut of a node, both ways", rows: "N4", short: true, run: cutLinks("input", "output")},
		{name: "cut-oneway", fault: "network cut of a node, outgoing alone", rows: "N5", short: true, run: cutLinks("output")},
		{name: "black-hole", fault: "network cut for longer than NATS pings take to notice", rows: "N6", run: blackHole},
		{name: "loss", fault: "30 % of a node's packets lost (packets)", rows: "N1", short: true, run: loss},
		{name: "conn-kill", fault: "TCP connection killed", rows: "N7", short: true, run: killConnections},
		{name: "slow-link", fault: "bandwidth of a node 64 kbit/s (packets over it)", rows: "N9", run: slowLink},
		{name: "delay", fault: "messages delayed up to 2 s (messages)", rows: "N2", short: true, run: shaped(2*time.Second, false, 0)},
		{name: "reorder", fault: "messages overtaken (messages)", rows: "N2", short: true, run: shaped(500*time.Millisecond, true, 0)},
		{name: "repeat", fault: "messages delivered twice (messages)", rows: "N3", short: true, run: shaped(100*time.Millisecond, false, 30)},
	}
}

func cutLinks(hooks ...string) func(*round) {
	return func(r *round) {
		w := r.newNetworked()
		for i := range r.times(1, 6) {
			n := r.fleet.nodes[i%len(r.fleet.nodes)]
			r.under(func() { r.cut(w, n, r.lasting(5*time.Second, 15*time.Second), hooks...) })
		}
		r.verify()
	}
}

// cut counts as injected when it dropped something.
func (r *round) cut(w *network, n *node, d time.Duration, hooks ...string) {
	r.t.Helper()
	w.drop(n, "", hooks...)
	pause(r.t, d)
	if w.heal(n) > 0 {
		r.injected++
	}
}

// blackHole cuts without a word for longer than two pings of 20 s go without
// an answer: the node must have noticed by then.
func blackHole(r *round) {
	w := r.newNetworked()
	n := r.fleet.nodes[2]
	r.under(func() {
		w.drop(n, "", "input", "output")
		pause(r.t, 70*time.Second)
		info, err := n.client.Node(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if info.NATS.Connected {
			r.t.Error("N6: after 70 s without a packet the node thinks that it is connected")
		}
		if w.heal(n) > 0 {
			r.injected++
		}
	})
	r.verify()
}

func loss(r *round) {
	w := r.newNetworked()
	n := r.fleet.nodes[1]
	for range r.times(1, 4) {
		r.under(func() {
			w.drop(n, "numgen random mod 100 < 30", "input", "output")
			pause(r.t, r.lasting(5*time.Second, 15*time.Second))
			r.injected += w.heal(n)
		})
	}
	r.verify()
}

func killConnections(r *round) {
	w := r.newNetworked()
	for range r.times(1, 4) {
		r.under(func() {
			for i := range r.times(6, 15) {
				r.injected += w.killConnections(r.fleet.nodes[i%len(r.fleet.nodes)])
				pause(r.t, 500*time.Millisecond)
			}
		})
	}
	r.verify()
}

// slowLink gives a node the bandwidth of an old modem. tbf is in the kernel,
// netem is not.
func slowLink(r *round) {
	w := r.newNetworked()
	n := r.fleet.nodes[2]
	tc := append(w.in(n.name), "tc")
	r.under(func() {
		sh(r.t, "", append(tc, strings.Fields("qdisc add dev eth0 root tbf rate 64kbit burst 4kb latency 400ms")...)...)
		pause(r.t, 20*time.Second)
		text := sh(r.t, "", append(tc, "-s", "qdisc", "show", "dev", "eth0")...)
		r.injected += overlimits(text)
		sh(r.t, "", append(tc, "qdisc", "del", "dev", "eth0", "root")...)
	})
	r.verify()
}

// shaped has everything that NATS sends to the nodes delayed, reordered or
// repeated.
func shaped(most time.Duration, reorder bool, repeat int) func(*round) {
	return func(r *round) {
		var proxies []*proxy
		r.newFleet(options{prepare: func(f *fleet) {
			for _, n := range f.nodes {
				p := newProxy(r.t, strings.TrimPrefix(n.join, "nats://"))
				n.join = "nats://" + p.listener.Addr().String()
				proxies = append(proxies, p)
			}
		}})
		for range r.times(1, 4) {
			r.under(func() {
				for _, p := range proxies {
					p.shape(most, reorder, repeat)
				}
				pause(r.t, r.lasting(6*time.Second, 15*time.Second))
				for _, p := range proxies {
					p.shape(0, false, 0)
				}
			})
		}
		for _, p := range proxies {
			counter := &p.delayed
			switch {
			case reorder:
				counter = &p.overtaken
			case repeat > 0:
				counter = &p.repeated
			}
			r.injected += int(counter.Load())
		}
		r.verify()
	}
}
