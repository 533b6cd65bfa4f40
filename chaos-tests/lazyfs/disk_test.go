package main

import (
	"bytes"
	"syscall"
	"testing"
)

// entry makes a file that is durable, name and bytes.
func entry(t *testing.T, d *disk, name string, data []byte) *file {
	t.Helper()
	f := &file{ino: d.next()}
	d.root.live[name] = f
	f.write(data, 0)
	d.syncFile(f)
	d.syncDir(d.root)
	return f
}

func always() bool { return true }

// What was synced survives every cut; what was not survives as sectors.
func TestDisk_SyncedSurvives(t *testing.T) {
	old, fresh := bytes.Repeat([]byte{1}, 3*sector), bytes.Repeat([]byte{2}, 2*sector)
	for name, c := range map[string]struct {
		keep func() bool
		want []byte
		lost int
	}{
		"nothing else is kept": {never, old, 2},
		"all is kept":          {always, append(append([]byte{}, old[:sector]...), fresh...), 0},
	} {
		d := newDisk()
		f := entry(t, d, "f", old)
		f.write(fresh, sector)
		d.cut()
		d.restore(c.keep)
		if !bytes.Equal(f.live, c.want) || !bytes.Equal(f.durable, c.want) || d.lost != c.lost {
			t.Errorf("%s: %d bytes, lost %d sectors", name, len(f.live), d.lost)
		}
	}
}

// A random part is torn between sectors and never within one.
func TestDisk_TornAtSectors(t *testing.T) {
	mixed := 0
	for seed := range uint64(50) {
		d := newDisk()
		f := entry(t, d, "f", bytes.Repeat([]byte{1}, 8*sector))
		f.write(bytes.Repeat([]byte{2}, 8*sector), 0)
		d.restore(some(seed))
		kinds := map[byte]bool{}
		for at := 0; at < len(f.live); at += sector {
			s := f.live[at : at+sector]
			if !bytes.Equal(s, bytes.Repeat(s[:1], sector)) {
				t.Fatalf("seed %d: sector at %d is torn within", seed, at)
			}
			kinds[s[0]] = true
		}
		if len(kinds) == 2 {
			mixed++
		}
	}
	if mixed < 10 {
		t.Errorf("only %d of 50 cuts tore the write", mixed)
	}
}

// A name is durable with its directory, whatever was synced of the file.
func TestDisk_NameWithoutDirectorySync(t *testing.T) {
	d := newDisk()
	kept := entry(t, d, "kept", []byte("x"))
	f := &file{ino: d.next()}
	d.root.live["gone"] = f
	f.write([]byte("x"), 0)
	d.syncFile(f)
	delete(d.root.live, "kept")
	d.cut()
	d.restore(always)
	if d.root.live["gone"] != nil || d.root.live["kept"] != kept {
		t.Errorf("after the cut the directory has %v", d.root.live)
	}
}

// A disk that lies keeps nothing, and one without power does nothing.
func TestDisk_LiesAndDead(t *testing.T) {
	d := newDisk()
	f := entry(t, d, "f", []byte("old"))
	d.lies = true
	f.write([]byte("new"), 0)
	d.syncFile(f)
	d.cut()
	if d.do(func() syscall.Errno { return 0 }) == 0 {
		t.Error("a call was carried out without power")
	}
	d.restore(never)
	if string(f.live) != "old" {
		t.Errorf("a lying disk kept %q", f.live)
	}
}

// A file that is cut off or grows is as long as what survived.
func TestDisk_Lengths(t *testing.T) {
	d := newDisk()
	f := entry(t, d, "f", bytes.Repeat([]byte{1}, 2*sector))
	f.truncate(sector)
	f.truncate(4 * sector)
	d.syncFile(f)
	f.truncate(9 * sector)
	d.restore(never)
	want := append(bytes.Repeat([]byte{1}, sector), make([]byte, 3*sector)...)
	if !bytes.Equal(f.live, want) {
		t.Errorf("%d bytes survived, want %d with a hole after the first sector", len(f.live), len(want))
	}
}

func TestDisk_Orders(t *testing.T) {
	d := newDisk()
	for order, ok := range map[string]bool{"cut": true, "restore drop": true, "restore torn 7": true, "lie on": true, "restore torn": false, "restore torn x": false, "burn": false, "": false} {
		var words []string
		for _, w := range bytes.Fields([]byte(order)) {
			words = append(words, string(w))
		}
		if _, err := d.order(words); (err == nil) != ok {
			t.Errorf("%q: %v", order, err)
		}
	}
}
