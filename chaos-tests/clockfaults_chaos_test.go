//go:build chaos

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"driftless.dev/client"
	"driftless.dev/hlc"
)

func clockFaults() []scenario {
	return []scenario{
		{name: "clock-ahead", fault: "clock of a node an hour ahead", rows: "K2 K7", short: true, run: clockAhead},
		{name: "clock-back", fault: "clock of a node an hour back, across a restart too", rows: "K1 K4", short: true, run: clockBack},
		{name: "clock-jump", fault: "clock of a node jumping under load", rows: "K1 K2 K3", short: true, run: clockJump},
	}
}

// clocked makes the round's fleet of nodes that are told what their clocks are
// off by.
func (r *round) clocked() *fleet {
	r.t.Helper()
	dir := shortDir(r.t)
	f := r.newFleet(options{prepare: func(f *fleet) {
		for _, n := range f.nodes {
			n.program = filepath.Join(binaries, "clocked-node")
			n.env = []string{"CHAOS_CLOCK_FILE=" + filepath.Join(dir, n.name)}
			n.setClock(0)
		}
	}})
	for _, n := range f.nodes {
		eventually(r.t, 20*time.Second, n.name+" has heard enough clocks to tell", func(ctx context.Context) error {
			info, err := n.client.Node(ctx)
			if err == nil && !info.Clock.Sure {
				err = errors.New("not sure")
			}
			return err
		})
	}
	return f
}

// setClock moves a node's clock, whole at once.
func (n *node) setClock(offset time.Duration) {
	n.t.Helper()
	path := strings.TrimPrefix(n.env[0], "CHAOS_CLOCK_FILE=")
	if err := os.WriteFile(path+".new", []byte(offset.String()), 0o600); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		n.t.Fatal(err)
	}
}

// offset is what the node itself thinks that its clock is off by.
func (n *node) offset(ctx context.Context) (time.Duration, error) {
	info, err := n.client.Node(ctx)
	return time.Duration(info.Clock.OffsetSeconds * float64(time.Second)), err
}

// moved moves a node's clock and counts that once the node shows it.
func (r *round) moved(n *node, offset time.Duration) {
	r.t.Helper()
	n.setClock(offset)
	eventually(r.t, 20*time.Second, n.name+" sees that its clock is off by "+offset.String(), func(ctx context.Context) error {
		got, err := n.offset(ctx)
		if err == nil && (got-offset).Abs() > 5*time.Second {
			err = fmt.Errorf("it says %s", got)
		}
		return err
	})
	r.injected++
}

// undragged checks that no clock but the wrong one is ahead.
func (r *round) undragged(nodes ...*node) {
	r.t.Helper()
	for _, n := range nodes {
		info, err := n.client.Node(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		ts, err := hlc.Parse(info.HLC)
		if err != nil {
			r.t.Fatal(err)
		}
		if ahead := time.Until(ts.Time()); ahead > 2*time.Minute {
			r.t.Errorf("K7: %s was dragged %s ahead", n.name, ahead)
		}
	}
}

func clockAhead(r *round) {
	f := r.clocked()
	n := f.nodes[1]
	for range r.times(1, 3) {
		r.under(func() {
			r.moved(n, time.Hour)
			_, err := n.writeOne(r, "ahead")
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != "clock" {
				r.t.Errorf("K2: a write with the clock an hour ahead: %v", err)
			}
			pause(r.t, 3*time.Second)
			r.undragged(f.nodes[0], f.nodes[2])
			n.setClock(0)
			eventually(r.t, 20*time.Second, "writes resume", func(context.Context) error { _, err := n.writeOne(r, "right"); return err })
		})
	}
	r.verify()
}

func clockBack(r *round) {
	f := r.clocked()
	n := f.nodes[1]
	for range r.times(1, 3) {
		r.under(func() {
			r.moved(n, -time.Hour)
			if _, err := n.writeOne(r, "back"); err != nil {
				r.t.Errorf("K1: a write with the clock an hour back: %v", err)
			}
			n.kill()
			n.start()
			n.ready(30 * time.Second)
			if _, err := n.writeOne(r, "back"); err != nil {
				r.t.Errorf("K4: a write after a restart an hour back: %v", err)
			}
			pause(r.t, 2*time.Second)
			n.setClock(0)
		})
	}
	r.verify()
}

func clockJump(r *round) {
	f := r.clocked()
	n := f.nodes[2]
	jumps := []time.Duration{-time.Hour, time.Hour, -30 * time.Second, 10 * time.Minute, -24 * time.Hour, 30 * time.Second, 0}
	for range r.times(1, 3) {
		r.under(func() {
			for range r.times(5, 15) {
				n.setClock(jumps[rand.IntN(len(jumps))])
				r.injected++
				pause(r.t, 700*time.Millisecond)
			}
			r.undragged(f.nodes[0], f.nodes[1])
			n.setClock(0)
		})
	}
	r.verify()
}
