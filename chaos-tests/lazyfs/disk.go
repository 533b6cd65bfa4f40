package main

import (
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// disk is a file tree in memory that knows of every file and directory what
// would survive a power cut. A file's bytes are durable once the file has been
// synced, its name once the directory has. Renames are durable at once: nothing
// that is tested here rests on one.
type disk struct {
	mu   sync.Mutex
	root *dir
	ino  uint64
	dead bool // the power is off: every call fails
	lies bool // a sync says that it is done, and does nothing
	// syncs and lost count what was asked for and what cuts took away, in
	// sectors.
	syncs, lost int
}

type node interface{ number() uint64 }

type dir struct {
	ino           uint64
	live, durable map[string]node
}

type file struct {
	ino           uint64
	live, durable []byte
	pending       []span // written or cut off since the last sync, in order
}

// span is where a write went; one that only made the file longer is empty.
type span struct{ from, to int64 }

func (d *dir) number() uint64  { return d.ino }
func (f *file) number() uint64 { return f.ino }

func newDisk() *disk {
	d := &disk{}
	d.root = d.newDir()
	return d
}

func (d *disk) next() uint64 {
	d.ino++
	return d.ino
}

func (d *disk) newDir() *dir {
	return &dir{ino: d.next(), live: map[string]node{}, durable: map[string]node{}}
}

// do runs fn under the disk's lock, unless the power is off.
func (d *disk) do(fn func() syscall.Errno) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return syscall.EIO
	}
	return fn()
}

func (f *file) write(data []byte, off int64) {
	end := off + int64(len(data))
	if end > int64(len(f.live)) {
		f.live = append(f.live, make([]byte, end-int64(len(f.live)))...)
	}
	copy(f.live[off:], data)
	f.pending = append(f.pending, span{off, end})
}

// truncate sets the length. Bytes that are cut off count as written: they are
// zero when the file grows again.
func (f *file) truncate(size int64) {
	was := int64(len(f.live))
	if size <= was {
		f.live = f.live[:size:size]
	} else {
		f.live = append(f.live, make([]byte, size-was)...)
	}
	f.pending = append(f.pending, span{size, was})
}

func (d *disk) syncFile(f *file) {
	d.syncs++
	if d.lies || len(f.pending) == 0 {
		return
	}
	if len(f.live) < len(f.durable) {
		f.durable = f.durable[:len(f.live):len(f.live)]
	} else {
		f.durable = append(f.durable, make([]byte, len(f.live)-len(f.durable))...)
	}
	for _, s := range f.pending {
		if end := min(s.to, int64(len(f.live))); s.from < end {
			copy(f.durable[s.from:end], f.live[s.from:end])
		}
	}
	f.pending = nil
}

func (d *disk) syncDir(at *dir) {
	d.syncs++
	if !d.lies {
		at.durable = maps.Clone(at.live)
	}
}

// cut turns the power off: from now on nothing is read, written or synced.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// restore turns it on again over what survived: what was synced, and of the
// rest each sector that keep says.
func (d *disk) restore(keep func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restoreDir(d.root, keep)
	d.dead = false
}

func (d *disk) restoreDir(at *dir, keep func() bool) {
	at.live = maps.Clone(at.durable)
	for _, n := range at.live {
		switch n := n.(type) {
		case *dir:
			d.restoreDir(n, keep)
		case *file:
			d.lost += n.restore(keep)
		}
	}
}

// restore makes the file what survived of it and returns how many sectors did
// not. A file that was growing has the length of the last sector that made it.
func (f *file) restore(keep func() bool) (lost int) {
	survived := append([]byte(nil), f.durable...)
	for _, s := range f.pending {
		end := min(s.to, int64(len(f.live)))
		for from := s.from; from < end; {
			to := min((from/sector+1)*sector, end)
			if keep() {
				if int64(len(survived)) < to {
					survived = append(survived, make([]byte, to-int64(len(survived)))...)
				}
				copy(survived[from:to], f.live[from:to])
			} else {
				lost++
			}
			from = to
		}
	}
	f.live, f.durable, f.pending = survived, append([]byte(nil), survived...), nil
	return lost
}

// never keeps nothing that was not synced; some keeps a random part.
func never() bool { return false }

func some(seed uint64) func() bool {
	rng := rand.New(rand.NewPCG(seed, 0))
	share := rng.Float64() // some cuts take nearly all, some nearly nothing
	return func() bool { return rng.Float64() < share }
}
