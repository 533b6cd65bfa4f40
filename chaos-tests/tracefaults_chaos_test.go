//go:build chaos

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"driftless.dev/chaos-tests/history"
)

// traced runs a process under strace, which injects into it. strace counts
// calls per thread: the n-th is the n-th of some thread. What it did is told by
// the file that is returned.
func (r *round) traced(p *process, inject string) (trace string) {
	r.t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		r.t.Fatalf("%v (apt-get install strace)", err)
	}
	call, _, _ := strings.Cut(inject, ":")
	trace = filepath.Join(r.t.TempDir(), "trace")
	p.wrap = []string{strace, "-f", "-qq", "-e", "signal=none", "-e", "trace=" + call, "-e", "inject=" + inject, "-o", trace}
	if !strings.Contains(inject, "signal=") { // with the filter strace 6.1 injects no signal
		p.wrap = append(p.wrap, "--seccomp-bpf")
	}
	p.wrap = append(p.wrap, "setpriv", "--pdeathsig", "KILL") // the program does not outlive its tracer
	return trace
}

// livesOf starts a lone node again and again, has it written to, and injects at
// the n-th call of each life, n = 1, 2, ... up to the first that no life
// reaches. Then, and after each, everything that was acknowledged is there.
func (r *round) livesOf(inject func(n int) string, after func(*node)) {
	n := r.lone(nil)
	n.stop()
	// The short round takes a few of the first calls: some of the start's, some
	// of the first commits'.
	for nth := 1; r.full || nth <= 17; nth += r.times(4, 1) {
		trace := r.traced(n.process, inject(nth))
		n.start()
		ended := r.writeUntilEnd(n)
		n.kill()
		n.wrap = nil
		if !ended {
			if r.injectedIn(trace) {
				r.t.Errorf("D2: the node goes on after a fault at call %d", nth)
			}
			if nth == 1 {
				r.t.Error("the first call was not reached")
			}
			break
		}
		r.injected++
		if after != nil {
			after(n)
		}
		n.start()
		n.answers(30 * time.Second)
		r.lost += r.whole(n)
		n.stop()
		if problems, err := n.sound(); err != nil || len(problems) > 0 {
			r.t.Errorf("P9: after a fault at call %d: %v %v", nth, problems, err)
		}
	}
	if r.lost > 0 {
		r.t.Errorf("P1: %d acknowledged writes are gone", r.lost)
	}
}

// injectedIn tells whether strace says that it made a call fail.
func (r *round) injectedIn(trace string) bool {
	r.t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(string(text), "(INJECTED)")
}

// writeUntilEnd has several clients write to a node, and tells whether the node
// ended before they were done.
func (r *round) writeUntilEnd(n *node) bool {
	const clients, each = 2, 6
	deadline := time.Now().Add(20 * time.Second)
	for n.client.Healthz(r.t.Context()) != nil {
		if n.ended(20 * time.Millisecond) {
			return true // at one of its first calls
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s neither starts nor ends", n.name)
		}
	}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				if op, err := n.writeOne(r, "traced"); err != nil && (op.Outcome == history.Unknown || op.Code == "unreachable") {
					return
				}
			}
		})
	}
	wg.Wait()
	return n.ended(time.Second)
}

// syncEIO: bbolt goes on after a sync that failed, with pages that may be lost.
// The node must not: it ends, and says why.
func syncEIO(r *round) {
	r.livesOf(func(nth int) string { return fmt.Sprintf("fdatasync:error=EIO:when=%d", nth) }, func(n *node) {
		if n.err == nil || !strings.Contains(n.said(), "input/output error") {
			r.t.Errorf("D2: after a failed sync the node ended with %v and does not say why", n.err)
		}
	})
}

func killAt(call string) func(*round) {
	return func(r *round) {
		r.livesOf(func(nth int) string { return fmt.Sprintf("%s:signal=SIGKILL:when=%d", call, nth) }, nil)
	}
}

// slowSync: a slow disk makes writes slow, and nothing else: the member is not
// lost to the others.
func slowSync(r *round) {
	f := r.newFleet(options{prepare: func(f *fleet) { r.traced(f.nodes[1].process, "fdatasync:delay_enter=300000") }})
	for range r.times(1, 4) {
		r.under(func() {
			before := history.Count(r.rec.Ops()).Acked
			began := time.Now()
			if _, err := f.nodes[1].writeOne(r, "slow"); err != nil {
				r.t.Errorf("D8: a write on a slow disk: %v", err)
			}
			if time.Since(began) >= 300*time.Millisecond {
				r.injected++
			}
			for range r.times(3, 10) {
				pause(r.t, time.Second)
				r.alive(f.nodes[0], f.nodes[1])
			}
			if history.Count(r.rec.Ops()).Acked == before {
				r.t.Error("nothing was written meanwhile")
			}
		})
	}
	f.nodes[1].kill() // a tracer's child is not ended in order by the tracer's end
	f.nodes[1].wrap = nil
	f.nodes[1].start()
	f.nodes[1].ready(30 * time.Second)
	f.settle(time.Minute)
	r.verify()
}
