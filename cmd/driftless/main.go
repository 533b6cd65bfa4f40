// Command driftless reads, writes and watches over a fleet.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"driftless.dev/cli"
)

// version is set by the build.
var version = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, os.Args[1:], cli.Config{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Version: version,
		Terminal: terminal(os.Stderr), Demo: runDemo,
	}))
}

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
