//go:build !unix || solaris || aix

package bolt

import "fmt"

// Lock opens the store's file, which is how it is locked here.
func Lock(path string) (release func() error, err error) {
	e, err := OpenEngine(path, Options{})
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	return e.Close, nil
}
