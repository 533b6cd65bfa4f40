//go:build !unix || solaris || aix

package bolt

import "os"

// abandon closes a file behind bbolt's back. Here the lock on it may last as
// long as the process.
func abandon(f *os.File) error { return f.Close() }
