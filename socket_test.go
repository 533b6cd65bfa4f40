package driftless_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"driftless.dev"
)

// openOn opens a node whose API is at an address.
func openOn(t *testing.T, addr string) (*driftless.Node, error) {
	t.Helper()
	m := newMember(t, "a", func(c *driftless.Config) { c.HTTP, c.NATS.Listen = addr, "-" })
	n, err := driftless.Open(t.Context(), m.cfg)
	if err == nil {
		t.Cleanup(func() { _ = n.Close() })
	}
	return n, err
}

// A socket is its owner's alone, replaces one that was left behind, and goes
// with the node; nothing else is left beside it.
func TestOpen_Socket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	n, err := openOn(t, "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("socket: %v, %v", info.Mode(), err)
	}
	if n.Addr() != path {
		t.Errorf("address %s, want %s", n.Addr(), path)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if _, err := openOn(t, "unix:"+path); err == nil {
		t.Error("a second node took a socket that is in use")
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 0 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

// What is no socket is not deleted, and a socket that another process put in
// place of the node's stays when the node goes.
func TestOpen_SocketSparesWhatIsNotItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := path + "-link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link, filepath.Dir(path)} {
		if _, err := openOn(t, "unix:"+p); err == nil {
			t.Errorf("a node took %s", p)
		}
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	mine := filepath.Join(t.TempDir(), "t")
	n, err := openOn(t, "unix:"+mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", mine)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	c, err := net.DialTimeout("unix", mine, time.Second)
	if err != nil {
		t.Fatalf("the other's socket went with the node: %v", err)
	}
	_ = c.Close()
}
