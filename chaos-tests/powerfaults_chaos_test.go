//go:build chaos

package chaos

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"driftless.dev/chaos-tests/history"
)

// lazyDisk is a disk of which a power cut takes what was not synced, in a
// process of its own.
type lazyDisk struct {
	r       *round
	path    string
	orders  io.WriteCloser
	answers *bufio.Scanner
}

func (r *round) lazyDisk() *lazyDisk {
	r.t.Helper()
	d := &lazyDisk{r: r, path: shortDir(r.t)}
	cmd := exec.Command(filepath.Join(binaries, "lazyfs"), d.path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = r.t.Output()
	var err error
	if d.orders, err = cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	d.answers = bufio.NewScanner(answers)
	r.t.Cleanup(func() {
		d.orders.Close()
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("lazyfs: %v", err)
			_ = syscall.Unmount(d.path, syscall.MNT_DETACH) // it says above why it is there
		}
	})
	if d.answer() != "mounted" {
		r.t.Fatal("lazyfs did not mount (needs root and /dev/fuse)")
	}
	return d
}

func (d *lazyDisk) answer() string {
	d.r.t.Helper()
	if !d.answers.Scan() {
		d.r.t.Fatalf("lazyfs ended: %v", d.answers.Err())
	}
	return d.answers.Text()
}

// order gives an order and returns how many sectors cuts have taken so far.
func (d *lazyDisk) order(format string, args ...any) (lost int) {
	d.r.t.Helper()
	fmt.Fprintf(d.orders, format+"\n", args...)
	var syncs int
	if text := d.answer(); !strings.HasPrefix(text, "ok ") {
		d.r.t.Fatalf("lazyfs: %s", text)
	} else if _, err := fmt.Sscanf(text, "ok syncs=%d lost=%d", &syncs, &lost); err != nil {
		d.r.t.Fatalf("lazyfs: %q: %v", text, err)
	}
	return lost
}

// outage cuts the power of a node, and gives it back over what survived.
func (d *lazyDisk) outage(n *node, rng *rand.Rand) (lost int) {
	d.order("cut")
	n.kill()
	if rng.IntN(4) == 0 {
		return d.order("restore drop")
	}
	return d.order("restore torn %d", rng.Uint64())
}

// cutUnderWrites writes to a node and cuts its power in the middle.
func (d *lazyDisk) cutUnderWrites(n *node, rng *rand.Rand) int {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if op, _ := n.writeOne(d.r, "power"); op.Outcome != history.Acked {
					return
				}
			}
		})
	}
	pause(d.r.t, time.Duration(20+rng.IntN(150))*time.Millisecond)
	lost := d.outage(n, rng)
	wg.Wait()
	return lost
}

// powerCut: whatever a cut takes of what was not synced, every acknowledged
// write is there, the file opens, and the store's check is clean.
func powerCut(r *round) {
	seed := rand.Uint64()
	r.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	d := r.lazyDisk()
	n := r.lone(func(n *node) { n.data = filepath.Join(d.path, "data") })
	sectors := 0
	for range r.times(8, 150) {
		sectors = d.cutUnderWrites(n, rng)
		r.injected++
		if problems, err := n.sound(); err != nil || len(problems) > 0 {
			r.t.Fatalf("P9: after power cut %d: %v %v", r.injected, problems, err)
		}
		n.start()
		n.answers(30 * time.Second)
		if lost := r.whole(n); lost > 0 {
			r.lost += lost
			r.t.Fatalf("P1: %d acknowledged writes are gone after power cut %d", lost, r.injected)
		}
	}
	if sectors == 0 {
		r.t.Error("no cut took a sector: the run shows nothing")
	}
	r.t.Logf("%d cuts took %d sectors", r.injected, sectors)
	n.stop()
}

func powerCutFleet(r *round) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	d := r.lazyDisk()
	f := r.newFleet(options{prepare: func(f *fleet) { f.nodes[2].data = filepath.Join(d.path, "data") }})
	for range 3 {
		r.under(func() {
			for range 5 {
				d.outage(f.nodes[2], rng)
				r.injected++
				f.nodes[2].start()
				f.nodes[2].ready(30 * time.Second)
				pause(r.t, 200*time.Millisecond)
			}
		})
	}
	r.verify()
}

// lyingDisk is the control: a disk whose syncs do nothing must be seen to lose
// acknowledged writes, or to leave a file that does not open. A checker that
// finds nothing here finds nothing anywhere.
func lyingDisk(r *round) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	caught := 0
	for range r.times(3, 15) {
		d := r.lazyDisk()
		n := r.lone(func(n *node) { n.data = filepath.Join(d.path, "data") })
		n.stop() // what is there by now is on the disk
		before := len(r.rec.Ops())
		d.order("lie on")
		n.start()
		n.answers(30 * time.Second)
		d.cutUnderWrites(n, rng)
		d.order("lie off")
		r.injected++
		n.start()
		if !n.starts(30 * time.Second) {
			caught++ // it names the damage and does not start
			continue
		}
		if lost := r.wholeSince(n, before); lost > 0 {
			r.lost += lost
			caught++
		}
		n.kill()
	}
	if caught == 0 {
		r.t.Errorf("none of %d cuts of a lying disk was noticed: the checker does not see losses", r.injected)
	}
	r.t.Logf("%d of %d cuts noticed, %d acknowledged writes seen to be gone", caught, r.injected, r.lost)
}
