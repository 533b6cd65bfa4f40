// Command driftless reads, writes and watches over a fleet.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"driftless.dev"
	"driftless.dev/cli"
	"driftless.dev/fleet"
)

// version is set by the build.
var version = "0.1.0-dev"

func main() {
	if driftless.RunVerifier() {
		return // this process was started to look at a file, and has
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Config{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Version: version,
		Terminal: terminal(os.Stderr), Demo: runDemo,
		Offline: func(fleet string, secret []byte) cli.Offline {
			return offline{driftless.Offline{Fleet: fleet, Secret: secret}}
		},
	}))
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// offline is what works on files, as the command line asks for it.
type offline struct{ driftless.Offline }

func (o offline) Restore(ctx context.Context, r io.ReadSeeker, data string, force, newInstance bool) (fleet.Snapshot, string, error) {
	return o.Offline.Restore(ctx, r, data, driftless.RestoreOptions{Force: force, NewInstance: newInstance})
}
