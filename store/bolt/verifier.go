package bolt

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime/debug"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	// walkLimit is the size of file up to which every page is read. Above, the
	// walk would keep a node from starting for minutes.
	walkLimit = 256 << 20
	// verifierStack ends a walk in circles before it has the machine's memory.
	verifierStack = 64 << 20
)

// RunVerifier must be the first call in the main of every program that calls
// Verify, and in the TestMain of its tests. It returns false at once in any
// process but a child of Verify. In the child it reports what it found as
// Verify expects: by exiting when that is an error, else by returning true,
// after which main must return.
func RunVerifier() bool {
	path, child := os.LookupEnv(verifierEnv)
	if !child {
		return false
	}
	fmt.Print(greeting)
	debug.SetMaxStack(verifierStack)
	go exitWithParent()
	var err error
	if to, copies := os.LookupEnv(salvageEnv); copies {
		err = salvage(path, to)
	} else {
		err = walk(path, walkLimit)
	}
	if err == nil {
		return true
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(exitCode(err))
	return true
}

func exitCode(err error) int {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return exitLocked
	case ofSystem(err):
		return exitUnknown
	}
	return exitDamaged
}

// exitWithParent keeps the child from holding the file's lock when its parent
// was killed and a new one starts.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(exitUnknown)
}

// walk opens the file for reading and looks at every page, or, beyond limit
// bytes, at the meta pages and at the edges of every bucket. It may panic,
// fault or not return.
func walk(path string, limit int64) error {
	size, err := readThrough(path, limit)
	if err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0, &bbolt.Options{
		ReadOnly: true, Timeout: defaultLockTimeout, FreelistType: bbolt.FreelistMapType,
	})
	if err != nil {
		return err
	}
	check := checkPages
	if size > limit {
		check = touchBuckets
	}
	if err := db.View(check); err != nil {
		return err
	}
	return db.Close()
}

// readThrough reads a file of up to limit bytes once from end to end. A bad
// sector is an error here and a SIGBUS later, and the walk that follows, in
// whatever order, finds its pages in memory.
func readThrough(path string, limit int64) (size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() <= limit {
		_, err = io.Copy(io.Discard, f)
	}
	if errors.Is(err, syscall.EIO) {
		return 0, fmt.Errorf("read through: %v", err) // not %w: this one is damage
	}
	return info.Size(), err
}

func checkPages(t *bbolt.Tx) error {
	var first error
	for err := range t.Check() { // to its end, or the checker waits for ever
		if first == nil {
			first = err
		}
	}
	if first != nil {
		return first // what comes next might not end
	}
	return t.ForEach(func(_ []byte, b *bbolt.Bucket) error { return b.ForEach(readValue) })
}

// readValue faults when the value does not end within the file: Check looks
// only at keys.
func readValue(_, value []byte) error {
	crc32.ChecksumIEEE(value)
	return nil
}

func touchBuckets(t *bbolt.Tx) error {
	return t.ForEach(func(_ []byte, b *bbolt.Bucket) error {
		c := b.Cursor()
		c.First()
		c.Last()
		return nil
	})
}
