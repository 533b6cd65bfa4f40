package cli

import (
	"context"
	"io"
	"time"
)

// Exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	// ExitUsage: the command was used wrongly, or the node cannot be reached.
	ExitUsage = 2
	// ExitRepaired: fsck found damage and repaired all of it.
	ExitRepaired = 3
	// ExitInterrupted: a signal ended the command, which says nothing of its own.
	ExitInterrupted = 130
)

// Config is what surrounds a command.
type Config struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Env looks up an environment variable, "" when it is not set.
	Env func(name string) string
	// Now is the clock that ages are told by; nil is the machine's.
	Now func() time.Time
	// Version is the program's.
	Version string
	// Terminal says that a person reads Stderr: only then progress is shown.
	Terminal bool
	// Width is how many columns Stdout has; 0 is not known.
	Width int
	// Demo runs the demo fleet; nil leaves the command out.
	Demo func(ctx context.Context, d Demo) error
	// Offline works on files of a fleet, by its name and secret; nil leaves the
	// commands out that do.
	Offline func(fleet string, secret []byte) Offline
}

// Demo is what the demo command was asked for.
type Demo struct {
	// NonInteractive prints plain lines and ends by itself; a fleet that does
	// not converge is an error.
	NonInteractive bool
	// Manifests is a directory with folders kinds, crds and manifests to apply,
	// "" for the demo's own.
	Manifests string
	// Keep leaves the data directories behind.
	Keep           bool
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs one command and returns its exit code. args are those after the
// program's name.
func Run(ctx context.Context, args []string, cfg Config) int {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Env == nil {
		cfg.Env = func(string) string { return "" }
	}
	a := &app{cfg: cfg}
	defer func() {
		for _, done := range a.closers {
			done()
		}
	}()
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if !a.running {
		err = &usageError{command: cmd.CommandPath(), err: err}
	}
	return a.report(err)
}
