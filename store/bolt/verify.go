package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"time"
)

const (
	// verifierEnv names the file to verify, in the environment of the child.
	verifierEnv = "DRIFTLESS_VERIFY_FILE"
	// verifyTimeout is far above what a sound file takes.
	verifyTimeout = 30 * time.Second
)

// The child's verdicts, as exit codes. Any other code, or a signal, is a crash
// over the file. 2 is the Go runtime's own.
const (
	exitLocked  = 3
	exitDamaged = 4
	exitUnknown = 5 // the file could not be opened, for no fault of its own
)

// greeting is what the child says before it looks at the file. A child that
// does not is no verifier but the program itself, run once more.
const greeting = "driftless-verifier/1\n"

var (
	// ErrNoVerifier is returned by Verify when this program's main does not call
	// RunVerifier first: the file was not looked at, and nothing is known of it.
	ErrNoVerifier = errors.New("this program's main must call RunVerifier first")
	// errNoVerdict is the cause when the child's time is up.
	errNoVerdict = errors.New("opening it does not end")
)

// Verify opens the file at path in a child process, where a damaged one can
// crash or hang nothing else, and walks it. A file that is absent or empty is
// sound: there is nothing in it to lose. The error wraps store.ErrDamaged when
// the child found damage, crashed, or gave no verdict in 30 s, and
// store.ErrLocked when another engine has the file.
//
// The child is this program again: its main must call RunVerifier first.
func Verify(ctx context.Context, path string) error {
	if err := verify(ctx, path, verifyTimeout); err != nil {
		return fmt.Errorf("verify store: %w", err)
	}
	return nil
}

func verify(ctx context.Context, path string, timeout time.Duration) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil // a start was cut short before bbolt wrote anything
	}
	return runChild(ctx, path, timeout)
}

// runChild looks at a file in a child process and returns its verdict.
func runChild(ctx context.Context, path string, timeout time.Duration, env ...string) error {
	if _, inside := os.LookupEnv(verifierEnv); inside {
		// Without this a forgotten RunVerifier is a process bomb.
		return ErrNoVerifier
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoVerdict)
	defer cancel()
	child := exec.CommandContext(ctx, program)
	child.Env = append(append(os.Environ(), verifierEnv+"="+path), env...)
	child.WaitDelay = time.Second
	var said, found bytes.Buffer
	child.Stdout, child.Stderr = &said, &found
	// Never written to: its end tells the child that this process is gone.
	if _, err := child.StdinPipe(); err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	ended := child.Run()
	if ctx.Err() == nil && !bytes.HasPrefix(said.Bytes(), []byte(greeting)) {
		return ErrNoVerifier
	}
	return verdict(ctx, path, ended, firstLine(found.Bytes()))
}

// verdict reads how the child ended.
func verdict(ctx context.Context, path string, ended error, found string) error {
	var exit *exec.ExitError
	switch {
	case ended == nil:
		return nil
	case errors.Is(context.Cause(ctx), errNoVerdict):
		return damageError(path, errNoVerdict)
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(ended, &exit):
		return fmt.Errorf("run verifier: %w", ended)
	}
	switch exit.ExitCode() {
	case exitLocked:
		return lockedError(path)
	case exitDamaged:
		return damageError(path, found)
	case exitUnknown:
		return errors.New(found)
	}
	return damageError(path, fmt.Sprintf("opening it ends with %v: %s", ended, found))
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(line[:min(len(line), 500)])
}
