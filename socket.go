package driftless

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// socket is a Unix socket for its owner alone. It takes its path with it when
// it closes, unless another's is there by then.
type socket struct {
	net.Listener
	path string
	made fs.FileInfo
}

// maxSocketPath is the shortest bound that a system has for a socket's path.
const maxSocketPath = 103

// listenSocket opens a socket at path in place of one that a process which is
// gone left behind; anything else there is left alone. The socket is made in a
// folder that nobody else can enter and moved when its mode is right, so there
// is no moment at which others could connect.
func listenSocket(path string) (net.Listener, error) {
	if err := vacant(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".")
	if err != nil {
		return nil, fmt.Errorf("make folder for socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what would stay is empty
	temp := filepath.Join(dir, "s")
	if len(temp) > maxSocketPath {
		return nil, fmt.Errorf("socket %s: the path is too long by %d bytes", path, len(temp)-maxSocketPath)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would unlink temp
	s := &socket{Listener: l, path: path}
	for _, step := range []func() error{
		func() error { return os.Chmod(temp, 0o600) },
		func() (err error) { s.made, err = os.Lstat(temp); return err },
		func() error { return os.Rename(temp, path) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(fmt.Errorf("place socket: %w", err), l.Close())
		}
	}
	return s, nil
}

// vacant reports, as an error, what stands at a socket's path and is not one
// left behind.
func vacant(path string) error {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is there and is no socket: choose another path or remove it", path)
	}
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("socket %s is in use", path), c.Close())
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil // whoever listened is gone
	}
	return fmt.Errorf("socket %s may be in use: %w", path, err)
}

// Addr is where the socket is, not where it was made.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close implements net.Listener.
func (s *socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err
	}
	if info, statErr := os.Lstat(s.path); statErr == nil && os.SameFile(info, s.made) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}
