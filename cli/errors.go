package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// usageError is a command used wrongly.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string {
	return fmt.Sprintf("%v\nsee: %s --help", e.err, e.command)
}

func (e *usageError) Unwrap() error { return e.err }

// misuse is a usageError of a command that found out while running.
func misuse(command, format string, args ...any) error {
	return &usageError{command, fmt.Errorf(format, args...)}
}

// unreachableError is a node that did not answer: nothing was found out.
type unreachableError struct {
	target target
	err    error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("cannot reach the node at %s (%s): %v\n%s", e.target.url, e.target.from, e.err, e.target.next())
}

func (e *unreachableError) Unwrap() error { return e.err }

// fail says what failed. An unreachable node stands for itself.
func fail(what string, err error) error {
	if _, ok := errors.AsType[*unreachableError](err); ok {
		return err
	}
	return &failure{what, err}
}

// failure is what was attempted, and why it did not succeed.
type failure struct {
	what string
	err  error
}

func (e *failure) Error() string { return e.what + ": " + describe(e.err) }
func (e *failure) Unwrap() error { return e.err }

// describe is an error as people read it: what a node answered begins with the
// stable code.
func describe(err error) string {
	if p, ok := problemOf(err); ok {
		return fmt.Sprintf("[%s] %s", p.Code, p.Detail)
	}
	return err.Error()
}

// undecidedError is a question that was not answered: not the answer no.
type undecidedError struct{ error }

func (e undecidedError) Unwrap() error { return e.error }

// report prints an error, and says which exit code it is.
func (a *app) report(err error) int {
	if errors.Is(err, context.Canceled) {
		return ExitInterrupted // whoever pressed the key knows
	}
	first, rest, _ := strings.Cut(err.Error(), "\n")
	text := "error: " + clean(first) + "\n"
	for line := range strings.Lines(rest) {
		text += "  " + clean(strings.TrimRight(line, "\n")) + "\n"
	}
	fmt.Fprint(a.cfg.Stderr, text)
	if errors.Is(err, errRepaired) {
		return ExitRepaired
	}
	_, misused := errors.AsType[*usageError](err)
	_, lost := errors.AsType[*unreachableError](err)
	_, undecided := errors.AsType[undecidedError](err)
	if misused || lost || undecided {
		return ExitUsage
	}
	return ExitFailed
}

// warn prints a warning.
func (a *app) warn(format string, args ...any) {
	text := fold(clean("warning: "+fmt.Sprintf(format, args...)), a.cfg.Width)
	fmt.Fprintln(a.cfg.Stderr, text)
}

// failedLine says that one of several things failed. It is on stderr: what is
// printed stays what was done.
func (a *app) failedLine(prefix, what string, err error, where string) {
	a.note("%s%s failed: %s%s", prefix, what, describe(err), where)
}

// note tells a person what data would not.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.cfg.Stderr, clean(fmt.Sprintf(format, args...)))
}

// unanswered reports that there is no use in asking the node for more: it is
// not reached, or the command was interrupted.
func unanswered(err error) bool {
	_, lost := errors.AsType[*unreachableError](err)
	return lost || errors.Is(err, context.Canceled)
}
