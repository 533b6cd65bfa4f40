package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"driftless.dev"
	"driftless.dev/cli"
	"driftless.dev/netcut"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// errNotConverged ends a demo whose fleet did not agree in time.
var errNotConverged = errors.New("the fleet did not converge")

// agreeWithin bounds how long the demo waits for agreement, and for readiness.
const agreeWithin = 30 * time.Second

// demoWidth is how many columns the demo's tables take at most.
const demoWidth = 80

// demo is a fleet of three in one process: a runs the NATS server, b joins it
// through a proxy that can cut it off, c joins it directly.
type demo struct {
	opts  cli.Demo
	out   io.Writer
	nodes []*driftless.Node
	link  *netcut.Link
	show  *display
}

// runDemo starts the fleet, tells the story and ends with the verdict.
func runDemo(ctx context.Context, opts cli.Demo) (err error) {
	dir, err := os.MkdirTemp("", "driftless-demo-")
	if err != nil {
		return err
	}
	if opts.Keep {
		defer fmt.Fprintln(opts.Stdout, "data kept in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	d := &demo{opts: opts, out: opts.Stdout}
	defer func() {
		stop()
		err = errors.Join(err, g.Wait())
		for i := len(d.nodes) - 1; i >= 0; i-- {
			err = errors.Join(err, d.nodes[i].Close())
		}
	}()
	if err := d.start(ctx, g, dir); err != nil {
		return err
	}
	return d.story(ctx)
}

// start brings up the three nodes.
func (d *demo) start(ctx context.Context, g *errgroup.Group, dir string) error {
	var join string
	for _, name := range []string{"a", "b", "c"} {
		cfg := driftless.Config{
			Name: name, Data: filepath.Join(dir, name), HTTP: "127.0.0.1:0", Fleet: "demo", Version: version,
			SyncInterval: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		}
		switch name {
		case "a":
			cfg.NATS.Listen = "127.0.0.1:0"
		case "b":
			var err error
			if d.link, err = netcut.New(strings.TrimPrefix(join, "nats://")); err != nil {
				return err
			}
			g.Go(func() error { return d.link.Run(ctx) })
			cfg.NATS.Join = []string{"nats://" + d.link.Addr()}
		default:
			cfg.NATS.Join = []string{join}
		}
		n, err := driftless.Open(ctx, cfg)
		if err != nil {
			return fmt.Errorf("start node %s: %w", name, err)
		}
		if name == "a" {
			join = n.NATSURL()
		}
		d.nodes = append(d.nodes, n)
		g.Go(func() error { return n.Run(ctx) })
	}
	d.show = newDisplay(d.out, d.nodes, !d.opts.NonInteractive)
	return nil
}

// story is the demo: agree, part, write on both sides, heal, agree.
func (d *demo) story(ctx context.Context) error {
	d.say("Three nodes start: a runs an embedded NATS server, b and c join it.")
	for i := range d.nodes {
		d.say("  node %s: http://%s", d.show.names[i], d.nodes[i].Addr())
	}
	d.say("In what follows, nodes with the same dots (●) have the same root.\n")
	if _, err := d.until(ctx, "all three agree", d.agreed); err != nil {
		return err
	}
	if err := d.apply(ctx); err != nil {
		return err
	}
	if _, err := d.until(ctx, "what was applied on a and c is everywhere", d.agreed); err != nil {
		return err
	}
	d.say("\nNode b is cut off. All of them go on taking writes.")
	d.link.Cut()
	if err := d.disagree(ctx); err != nil {
		return err
	}
	if _, err := d.until(ctx, "b has parted from the others", func(context.Context) bool { return d.distinct() > 1 && !d.connected(1) }); err != nil {
		return err
	}
	d.say("\nThe link heals.")
	d.link.Heal()
	took, err := d.until(ctx, "all three agree again", func(ctx context.Context) bool {
		return d.connected(1) && d.agreed(ctx)
	})
	if err != nil {
		return err
	}
	return d.conclude(ctx, took)
}

// apply runs the real command line against two of the nodes.
func (d *demo) apply(ctx context.Context) error {
	dir := d.opts.Manifests
	for _, step := range []struct {
		node int
		args []string
	}{
		{0, []string{"apply", "-f", filepath.Join(dir, "kinds")}},
		{2, []string{"import", "crd", "-f", filepath.Join(dir, "crds")}},
		{2, []string{"apply", "-f", filepath.Join(dir, "manifests"), "--wait", "peers=2"}},
	} {
		if step.args[0] == "apply" && step.node == 2 {
			// The kinds were applied on another node: let them arrive.
			if _, err := d.until(ctx, "the kinds are known on c", d.agreed); err != nil {
				return err
			}
		}
		args := append(step.args, "--node", "http://"+d.nodes[step.node].Addr())
		d.say("\n$ driftless %s --node %s", strings.Join(step.args, " "), d.show.names[step.node])
		if code := cli.Run(ctx, args, d.cli()); code != 0 {
			return fmt.Errorf("driftless %s: exit code %d", strings.Join(step.args, " "), code)
		}
	}
	return nil
}

// cli is what surrounds the command lines that the demo runs.
func (d *demo) cli() cli.Config {
	return cli.Config{Stdout: d.out, Stderr: d.out, Version: version, Width: demoWidth}
}

// disagree writes on both sides of the cut: a person on b, automation on a.
func (d *demo) disagree(ctx context.Context) error {
	d.say("  a person on b edits skill summarise; an agent on a edits it too, later")
	edit := func(node int, actor resource.Actor, prompt string) error {
		scope := resource.Scope{Project: "atlas"}
		_, err := d.nodes[node].Store().Update(ctx, "skills", scope, "summarise", func(r *resource.Resource) error {
			r.Spec = fmt.Appendf(nil, `{"prompt":%q,"model":"small-1"}`, prompt)
			return nil
		}, store.As(actor))
		return err
	}
	if err := edit(1, resource.Human, "Five sentences. Name your sources. Never guess."); err != nil {
		return err
	}
	if err := edit(0, resource.Agent, "Three sentences."); err != nil {
		return err
	}
	d.say("  and 500 more sites appear on each side")
	for node := range 2 {
		for i := range 500 {
			r := resource.Resource{APIVersion: "fleet.example.dev/v1", Kind: "Site", Name: fmt.Sprintf("%s-%03d", d.show.names[node], i),
				Spec: fmt.Appendf(nil, `{"region":"demo","cameras":%d}`, i)}
			if _, err := d.nodes[node].Store().Put(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// conclude shows what became of the conflict, and the verdict.
func (d *demo) conclude(ctx context.Context, took time.Duration) error {
	r, err := d.nodes[0].Store().Get(ctx, "skills", resource.Scope{Project: "atlas"}, "summarise")
	if err != nil {
		return err
	}
	losses := 0
	for _, n := range d.nodes {
		l, err := n.Store().Ledger(1000)
		if err != nil {
			return err
		}
		losses = max(losses, len(l))
	}
	d.say("\nThe person's edit stands on every node:\n  %s", r.Spec)
	d.say("The agent's is not lost: %d version(s) in the ledger.", losses)
	d.say("\n$ driftless fleet check --node a")
	code := cli.Run(ctx, []string{"fleet", "check", "--node", "http://" + d.nodes[0].Addr()}, d.cli())
	if code != 0 || r.WriterActor != resource.Human || losses == 0 {
		return errNotConverged
	}
	d.say("\nAgreement %s after the heal: 3 of 3 members, one root, %d records.", took.Round(10*time.Millisecond), d.nodes[0].Info().Records)
	return nil
}
