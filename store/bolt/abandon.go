//go:build unix && !solaris && !aix

package bolt

import (
	"errors"
	"os"
	"syscall"
)

// abandon closes a file behind bbolt's back. The memory map stays, and with it
// the open file, so the lock is given up first for another engine to have it.
func abandon(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
