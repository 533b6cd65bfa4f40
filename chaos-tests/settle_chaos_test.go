//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"time"

	"driftless.dev/chaos-tests/history"
)

// settle waits until every node says that the fleet has converged.
func (f *fleet) settle(within time.Duration) {
	f.t.Helper()
	eventually(f.t, within, "every node says that the fleet has converged", func(ctx context.Context) error {
		for _, n := range f.nodes {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			view, err := n.client.FleetCheck(ctx)
			cancel()
			if err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			if !view.Converged || len(view.Members) != len(f.nodes) {
				return fmt.Errorf("%s: %d members: %s", n.name, len(view.Members), view.Reason)
			}
		}
		return nil
	})
}

// states reads all nodes, again when one moved meanwhile.
func (f *fleet) states() (out []history.State) {
	f.t.Helper()
	eventually(f.t, time.Minute, "all nodes answer for one root", func(ctx context.Context) error {
		out = nil
		for _, n := range f.nodes {
			s, err := n.state(ctx)
			if err != nil {
				return fmt.Errorf("read %s: %w", n.name, err)
			}
			out = append(out, s)
		}
		for _, n := range f.nodes {
			info, err := n.client.Node(ctx)
			if err != nil {
				return err
			}
			if info.SuperRoot != out[0].Root {
				return fmt.Errorf("%s has root %s, %s had %s", n.name, info.SuperRoot, out[0].Node, out[0].Root)
			}
		}
		return nil
	})
	return out
}

// answers waits until the node serves, which is before it has looked for peers.
func (n *node) answers(within time.Duration) {
	n.t.Helper()
	eventually(n.t, within, n.name+" answers", func(ctx context.Context) error { return n.client.Healthz(ctx) })
}

// starts tells whether the node comes to serve, or ends instead.
func (n *node) starts(within time.Duration) (serves bool) {
	n.t.Helper()
	eventually(n.t, within, n.name+" serves or ends", func(ctx context.Context) error {
		if n.ended(0) {
			return nil
		}
		err := n.client.Healthz(ctx)
		serves = err == nil
		return err
	})
	return serves
}

// alive checks that one node hears another as it should.
func (r *round) alive(at, of *node) {
	r.t.Helper()
	view, err := at.client.Fleet(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range view.Members {
		if m.Name == of.name && m.State != "alive" {
			r.t.Errorf("%s is %s to %s", m.Name, m.State, at.name)
		}
	}
}
