package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"driftless.dev"
)

// display shows the nodes' state: live in a terminal, in plain lines
// elsewhere.
type display struct {
	out   io.Writer
	nodes []*driftless.Node
	names []string
	live  bool
	drawn int // lines of the last picture, to draw over
}

func newDisplay(out io.Writer, nodes []*driftless.Node, live bool) *display {
	d := &display{out: out, nodes: nodes, live: live}
	for _, n := range nodes {
		d.names = append(d.names, n.Info().Name)
	}
	return d
}

// lines is the picture of this moment: nodes of one root share a letter.
func (d *display) lines() []string {
	letters := map[string]string{}
	out := []string{"  node  link  root               records  log"}
	for i, n := range d.nodes {
		info := n.Info()
		if letters[info.SuperRoot] == "" {
			letters[info.SuperRoot] = strings.Repeat("●", len(letters)+1)
		}
		link := "up"
		if !info.NATS.Connected {
			link = "CUT"
		}
		out = append(out, fmt.Sprintf("  %-4s  %-4s  %s %-4s  %7d  %d", d.names[i], link, info.SuperRoot[:12], letters[info.SuperRoot], info.Records, info.Seq))
	}
	return out
}

// draw puts the picture over the last one.
func (d *display) draw() {
	if !d.live {
		return
	}
	if d.drawn > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA", d.drawn)
	}
	lines := d.lines()
	for _, l := range lines {
		fmt.Fprintf(d.out, "\x1b[2K%s\n", l)
	}
	d.drawn = len(lines)
}

// settle leaves the last picture standing; without a terminal it prints the
// only one.
func (d *display) settle() {
	if d.live {
		d.draw()
		d.drawn = 0
		return
	}
	for _, l := range d.lines() {
		fmt.Fprintln(d.out, l)
	}
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// refresh is how often the picture is drawn and the condition looked at.
const refresh = 100 * time.Millisecond

// until draws until a condition holds, and fails with the name of it when it
// does not in time.
func (d *demo) until(ctx context.Context, what string, holds func(context.Context) bool) (time.Duration, error) {
	clock := driftless.SystemClock()
	ticks := time.NewTicker(refresh)
	defer ticks.Stop()
	for {
		d.show.draw()
		if holds(ctx) {
			d.show.settle()
			d.say("  %s (%s)", what, clock.Mono().Round(10*time.Millisecond))
			return clock.Mono(), nil
		}
		if clock.Mono() > agreeWithin {
			d.show.settle()
			return 0, fmt.Errorf("%w: not within %s: %s", errNotConverged, agreeWithin, what)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ticks.C:
		}
	}
}

// agreed asks every node for its verdict: each must have heard from all.
func (d *demo) agreed(ctx context.Context) bool {
	if d.distinct() != 1 {
		return false
	}
	for _, n := range d.nodes {
		f, err := n.Fleet(ctx, true)
		if err != nil || !f.Converged || len(f.Members) != len(d.nodes) {
			return false
		}
	}
	return true
}

func (d *demo) distinct() int {
	roots := map[string]bool{}
	for _, n := range d.nodes {
		roots[n.Info().SuperRoot] = true
	}
	return len(roots)
}

func (d *demo) connected(i int) bool { return d.nodes[i].Info().NATS.Connected }
