//go:build chaos

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"driftless.dev/chaos-tests/history"
	"driftless.dev/client"
	"driftless.dev/resource"
)

func diskFaults() []scenario {
	return []scenario{
		{name: "disk-full", fault: "disk full, then freed", rows: "D1", short: true, run: fullDisk},
		{name: "disk-readonly", fault: "disk remounted read-only, then writable", rows: "D7", run: readOnlyDisk},
		{name: "sync-eio", fault: "EIO at the n-th fdatasync", rows: "D2", short: true, run: syncEIO},
		{name: "kill-at-sync", fault: "SIGKILL at the n-th fdatasync", rows: "C2", short: true, run: killAt("fdatasync")},
		{name: "kill-at-fsync", fault: "SIGKILL at the n-th fsync", rows: "C2", run: killAt("fsync")},
		{name: "kill-at-write", fault: "SIGKILL at the n-th pwrite64", rows: "C2", short: true, run: killAt("pwrite64")},
		{name: "sync-slow", fault: "every fdatasync takes 0.3 s longer", rows: "D8", short: true, run: slowSync},
		{name: "power-cut", fault: "power cut: unsynced sectors dropped or torn", rows: "D4", short: true, run: powerCut},
		{name: "power-cut-fleet", fault: "power cut of one member of a fleet", rows: "D4", run: powerCutFleet},
		{name: "power-control", fault: "power cut of a disk that lies (control: must lose)", rows: "D10", short: true, run: lyingDisk},
		{name: "bits", fault: "bit flipped at rest", rows: "D5", short: true, run: flippedBits},
	}
}

// smallDisk mounts a disk of so many MiB for the test.
func (r *round) smallDisk(mib int) string {
	r.t.Helper()
	dir := shortDir(r.t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		r.t.Fatalf("mount a small disk, as root: %v", err)
	}
	r.t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			r.t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fullDisk fills the disk of one member up. Its writes are refused with the
// reason, its reads go on, the others do not notice, and it goes on without a
// restart when there is space.
func fullDisk(r *round) {
	disk := r.smallDisk(12)
	f := r.newFleet(options{prepare: func(f *fleet) { f.nodes[1].data = filepath.Join(disk, "b") }})
	n := f.nodes[1]
	pid := n.cmd.Process.Pid
	for range r.times(1, 5) {
		r.under(func() {
			ballast := filepath.Join(disk, "ballast")
			r.fill(ballast)
			refused := r.refusedBySpace(n)
			r.injected++
			if e, _ := errors.AsType[*client.Error](refused); e == nil || e.Status != 507 || !strings.Contains(e.Detail, "space") {
				r.t.Errorf("D1: a write on a full disk: %v", refused)
			}
			if _, err := n.client.List(r.t.Context(), client.Query{Kind: itemKind}); err != nil {
				r.t.Errorf("D1: a read on a full disk: %v", err)
			}
			pause(r.t, 2*time.Second)
			if err := os.Remove(ballast); err != nil {
				r.t.Fatal(err)
			}
			eventually(r.t, 20*time.Second, "writes resume", func(context.Context) error { _, err := n.writeOne(r, "after"); return err })
		})
	}
	if n.cmd == nil || n.cmd.Process.Pid != pid {
		r.t.Error("the node was restarted")
	}
	r.verify()
}

// fill writes a file until the disk has no room.
func (r *round) fill(path string) {
	r.t.Helper()
	file, err := os.Create(path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		r.t.Fatalf("fill the disk: %v", err)
	}
}

// refusedBySpace writes until a write is refused, whose error it returns.
func (r *round) refusedBySpace(n *node) (refused error) {
	r.t.Helper()
	eventually(r.t, 20*time.Second, "a full disk refuses", func(context.Context) error {
		if _, refused = n.writeOne(r, "full"); refused == nil {
			return errors.New("the node still takes writes")
		}
		return nil
	})
	return refused
}

// writeOne creates a record of some size that nobody else writes, and enters
// it in the history.
func (n *node) writeOne(r *round, label string) (history.Op, error) {
	w := writer{load: r.load, id: int(r.load.clients.Add(1)), n: n}
	op := w.begin(history.Put, fmt.Sprintf("%s-%s-%d", label, n.name, r.rec.Value()))
	op.Value = r.rec.Value()
	rec := valued(r.t, "Item", op.Key, op.Value, 0)
	rec.Annotations = map[string]string{"padding": strings.Repeat("x", 2000)}
	ctx, cancel := context.WithTimeout(r.t.Context(), callTimeout)
	defer cancel()
	out, err := n.client.With(client.Call{IfNoneMatch: true}).Put(ctx, rec)
	return w.end(op, out, err), err
}

// readOnlyDisk makes the disk refuse every write under load. bbolt cannot tell
// what became of the commit, so the node ends; nothing is reset or lost.
func readOnlyDisk(r *round) {
	disk := r.smallDisk(64)
	f := r.newFleet(options{prepare: func(f *fleet) { f.nodes[1].data = filepath.Join(disk, "b") }})
	n := f.nodes[1]
	for range 3 {
		r.under(func() {
			// A file that is open for writing keeps the mount writable: only one
			// that is not can be remounted.
			n.kill()
			if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				r.t.Fatalf("remount: %v", err)
			}
			r.injected++
			n.start()
			if !n.ended(20 * time.Second) {
				r.t.Error("D7: the node runs on a disk that it cannot write to")
			}
			if !strings.Contains(n.said(), "read-only file system") {
				r.t.Error("D7: the node does not say why it ended")
			}
			if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, ""); err != nil {
				r.t.Fatalf("remount: %v", err)
			}
			n.start()
			n.ready(30 * time.Second)
		})
	}
	r.verify()
}

// lone is a fleet of one node without NATS: nobody can make good what it
// loses.
func (r *round) lone(prepare func(*node)) *node {
	r.t.Helper()
	f := newFleet(r.t, options{names: []string{"a"}, hosted: true, prepare: func(f *fleet) {
		n := f.nodes[0]
		n.listen, n.further = "-", []string{"--no-stream"}
		if prepare != nil {
			prepare(n)
		}
	}})
	r.fleet = f
	registerKinds(r.t, f.nodes[0])
	return f.nodes[0]
}

// whole checks after a restart that a lone node has every write that it
// acknowledged, and returns how many are gone.
func (r *round) whole(n *node) (lost int) { return r.wholeSince(n, 0) }

// wholeSince is whole for the calls of the history from one on.
func (r *round) wholeSince(n *node, first int) (lost int) {
	r.t.Helper()
	have := map[int64]bool{}
	list, err := n.client.List(r.t.Context(), client.Query{Kind: itemKind})
	if err != nil && !errors.Is(err, resource.ErrNotFound) { // the kind itself is gone
		r.t.Fatal(err)
	}
	for _, item := range list {
		have[valueOf(r.t, item)] = true
	}
	for _, op := range r.rec.Ops()[first:] {
		if op.Action == history.Put && op.Outcome == history.Acked && !have[op.Value] {
			lost++
		}
	}
	return lost
}
