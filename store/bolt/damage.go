package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"

	"driftless.dev/store"
)

// damage is what a panic that began in bbolt becomes on its way up, to tell it
// from one that began in the caller's function, which is nobody's to hide.
type damage struct{ reason any }

// asDamage, deferred around calls of bbolt, marks their panics.
func asDamage() {
	switch r := recover().(type) {
	case nil:
	case damage:
		panic(r)
	default:
		panic(damage{r})
	}
}

// breakOnPanic, deferred around calls of bbolt that hold its locks, marks their
// panics, as errors that wrap store.ErrFailed too, and keeps everybody out of
// bbolt from then on.
func (e *Engine) breakOnPanic() {
	if r := recover(); r != nil {
		err := fmt.Errorf("%w: %w", store.ErrFailed, damageError(e.path, r))
		e.broken.Store(&err)
		panic(damage{err})
	}
}

// fault is the runtime's error for a memory fault that is no nil dereference.
type fault interface {
	error
	Addr() uintptr
}

// catchDamage returns the function to defer that turns marked panics into
// *err, which then wraps store.ErrDamaged.
//
// A page that the file no longer has (it was truncated) or the disk no longer
// reads is a SIGBUS to who touches it in the memory map, bbolt or a caller
// looking into a slice it was given. By default that ends the process. Until
// the returned function runs it is a panic instead, on this goroutine alone:
// slices must not be handed to others, and they end with the transaction
// anyway.
func catchDamage(err *error, path string) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		switch r := recover().(type) {
		case nil:
		case damage:
			*err = damageError(path, r.reason)
		case fault:
			*err = damageError(path, r)
		default:
			panic(r)
		}
	}
}

// damageError names the file, what was found, and what to do. What is such an
// error already stays as it is.
func damageError(path string, found any) error {
	switch f := found.(type) {
	case fault:
		found = fmt.Sprintf("memory fault at %#x", f.Addr()) // its text speaks of nil
	case error:
		if errors.Is(f, store.ErrDamaged) {
			return f
		}
	}
	return fmt.Errorf("%w: %s: %v: keep a copy of the file and move it away; "+
		"the node then starts empty and is filled by its peers", store.ErrDamaged, path, found)
}
