package bolt_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"driftless.dev/store"
	"driftless.dev/store/bolt"
	berrors "go.etcd.io/bbolt/errors"
)

// D1: on a full disk writes fail with ErrNoSpace and change nothing, reads and
// a restart go on, and writes resume when there is space. Needs root to mount.
func TestEngine_DiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("mount a small disk, as root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(disk, "data", "store.db")
	e := open(t, path, small())
	n := fill(t, e)
	if n == 0 {
		t.Fatal("nothing fitted")
	}
	if got := count(t, e, store.BucketRecords); got != n {
		t.Errorf("%d records while full, want %d", got, n)
	}

	closed(t, e) // a restart on a full disk
	sound(t, path)
	e = open(t, path, small())
	if got := count(t, e, store.BucketRecords); got != n {
		t.Errorf("%d records after a restart while full, want %d", got, n)
	}
	n = fill(t, e) // the restart has freed a few pages

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	more := fill(t, e)
	if more < n+8 {
		t.Errorf("%d records fit with a MiB more space, %d before", more, n)
	}
	closed(t, e)
	sound(t, path)
	if got := count(t, open(t, path, small()), store.BucketRecords); got != more {
		t.Errorf("%d records at the end, want %d", got, more)
	}
}

func TestOpenEngine_DiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4k"); err != nil {
		t.Fatalf("mount a small disk, as root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	if _, err := bolt.OpenEngine(filepath.Join(disk, "store.db"), small()); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("open on a full disk: %v, want ErrNoSpace", err)
	}
}

func TestSpaceError(t *testing.T) {
	refused := func(errno error) error { return &fs.PathError{Op: "write", Path: "store.db", Err: errno} }
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"no space for a page", refused(syscall.ENOSPC), true},
		{"no quota for a page", refused(syscall.EDQUOT), true},
		{"larger than allowed", berrors.ErrMaxSizeReached, true},
		{"a page is lost", refused(syscall.EIO), false},
		{"no space found at sync", syscall.ENOSPC, false},
		{"a sync is lost", syscall.EIO, false},
	} {
		got := bolt.SpaceError(c.err)
		if errors.Is(got, store.ErrNoSpace) != c.want || !errors.Is(got, c.err) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
