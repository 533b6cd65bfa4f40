// Command driftless-node runs one member of a fleet.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"

	"driftless.dev"
)

// version is set by the build.
var version = "0.1.0-dev"

func main() {
	if driftless.RunVerifier() {
		return // this process was started to look at a file, and has
	}
	if os.Getenv("GOGC") == "" {
		// A node's live memory is small beside what passes through it: collect
		// less often. GOMEMLIMIT still bounds it.
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// gcPercent is the garbage collector's target unless GOGC says otherwise.
const gcPercent = 400

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	err := start(ctx, args, environ, stdout, stderr)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, pflag.ErrHelp):
		return exitOK
	}
	fmt.Fprintln(stderr, "error:", err)
	if errors.Is(err, errUsage) || errors.Is(err, driftless.ErrConfig) {
		return exitUsage
	}
	return exitFailed
}

func start(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	f := flags()
	f.SetOutput(stderr)
	f.Usage = func() { usage(stdout, f) }
	switch err := f.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errUsage, err)
	case f.NArg() > 0:
		return fmt.Errorf("%w: %q: settings are flags (--help lists them)", errUsage, f.Arg(0))
	}
	if v, _ := f.GetBool("version"); v {
		_, err := fmt.Fprintln(stdout, "driftless-node", version)
		return err
	}
	s, err := load(f, environ)
	if err != nil {
		return err
	}
	if v, _ := f.GetBool("print-config"); v {
		return s.print(stdout)
	}
	logger, err := s.logger()
	if err != nil {
		return err
	}
	cfg, err := s.config(version, logger)
	if err != nil {
		return err
	}
	cfg.Clock = nodeClock()
	n, err := driftless.Open(ctx, cfg)
	if err != nil {
		return err
	}
	logger.Info("node open", "node", cfg.Name, "http", n.Addr(), "nats", n.NATSURL(), "fleet", cfg.Fleet, "instance", n.Store().Identity().Instance)
	return errors.Join(n.Run(ctx), n.Close())
}

func usage(w io.Writer, f *pflag.FlagSet) {
	fmt.Fprintf(w, `driftless-node runs one member of a fleet: it keeps all records, takes writes at
any time and converges with the others over NATS.

Usage:
  driftless-node --data DIR [flags]

A first node runs its own NATS server; others join it:
  driftless-node --name a --data ./a
  driftless-node --name b --data ./b --http 127.0.0.1:7118 --join nats://127.0.0.1:4222

Every flag may also be a key of the --config file, or an environment variable
(--nats-listen is DRIFTLESS_NATS_LISTEN). Flags win over the environment, the
environment over the file.

Flags:
%s
Exit codes: 0 ended in order, 1 failed, 2 settings that cannot be.
`, f.FlagUsages())
}
