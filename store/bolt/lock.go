//go:build unix && !solaris && !aix

package bolt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes the lock of a store's file without opening it as one, which a
// damaged file may not survive. It wraps store.ErrLocked when another process
// has it.
func Lock(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(lockedError(path), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock store: %w", err), f.Close())
	}
	return f.Close, nil
}
