//go:build chaos

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"driftless.dev/client"
)

func identityFaults() []scenario {
	return []scenario{
		{name: "clone", fault: "data directory copied, both started", rows: "S2", short: true, run: cloneDirectory},
		{name: "rollback", fault: "data directory put back to an old copy", rows: "S1", short: true, run: rollBack},
	}
}

// copyData copies a stopped node's directory.
func (r *round) copyData(from, to string) {
	r.t.Helper()
	if err := os.RemoveAll(to); err != nil {
		r.t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		r.t.Fatal(err)
	}
}

// cloneDirectory starts two nodes from one directory. Both report it, the newer
// refuses writes until it is given an identity of its own, and nothing that
// either acknowledged is lost. What both wrote as one incarnation is written anew
// with other stamps, and so with other digests: a precondition that was read
// before fails after, though the value stands. Their registers are not judged.
func cloneDirectory(r *round) {
	f := r.newFleet(options{})
	r.under(func() { pause(r.t, 2*time.Second) })
	b := f.nodes[1]
	r.exempt(b)
	b.stop()
	d := r.twin(b)
	r.copyData(b.data, d.data)
	b.start()
	d.start()
	r.injected++
	stop := r.load.start([]*node{f.nodes[0], b, f.nodes[2], d})
	for _, n := range []*node{b, d} {
		eventually(r.t, 30*time.Second, n.name+" reports the clone", func(ctx context.Context) error {
			info, err := n.client.Node(ctx)
			if err == nil && !slices.ContainsFunc(info.Conditions, func(c string) bool { return strings.HasPrefix(c, "CloneSuspected") }) {
				err = fmt.Errorf("conditions %q", info.Conditions)
			}
			return err
		})
	}
	var newer *node
	eventually(r.t, 30*time.Second, "the newer one refuses writes", func(context.Context) error {
		for _, n := range []*node{b, d} {
			_, err := n.writeOne(r, "cloned")
			if e, ok := errors.AsType[*client.Error](err); ok && e.Code == "cloned" {
				newer = n
				return nil
			}
		}
		return errors.New("both take writes")
	})
	if out, err := exec.Command(filepath.Join(binaries, "driftless"), "node", "reidentify", "--node", newer.url).CombinedOutput(); err != nil {
		r.t.Fatalf("reidentify: %v: %s", err, out)
	}
	if !newer.ended(20 * time.Second) {
		r.t.Fatal("the node does not end, to be started as a member of its own")
	}
	newer.start()
	newer.ready(30 * time.Second)
	stop()
	f.nodes = append(f.nodes, d)
	healed := time.Now()
	f.settle(time.Minute)
	r.agreed = append(r.agreed, time.Since(healed))
	r.verify()
}

// exempt leaves the registers of a node, and of its twin, unjudged.
func (r *round) exempt(n *node) {
	r.registers = func(key string) bool { return isRegister(key) && !strings.HasPrefix(key, registerPrefix+n.name+"-") }
}

// twin is a further node beside another, of the same fleet.
func (r *round) twin(n *node) *node {
	r.t.Helper()
	out := &node{process: newProcess(r.t, n.name+"-twin", "driftless-node"), data: n.data + "-twin", join: n.join, url: n.url + "-twin"}
	var err error
	if out.client, err = client.New(client.Options{Node: out.url}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(out.client.Close)
	return out
}

// rollBack puts a node's directory back to what it was before writes that the
// others have. It writes under a new incarnation then, and gets its own writes
// back from the others. Until it has, its clients read what was put back: its
// registers are not judged.
func rollBack(r *round) {
	f := r.newFleet(options{})
	n := f.nodes[1]
	r.exempt(n)
	for range r.times(1, 4) {
		r.under(func() { pause(r.t, time.Second) })
		n.stop()
		old := n.data + "-old"
		r.copyData(n.data, old)
		n.start()
		n.ready(30 * time.Second)
		r.under(func() { pause(r.t, 2*time.Second) }) // what the copy lacks
		before, err := n.client.Node(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		n.stop()
		r.copyData(old, n.data)
		n.start()
		r.injected++
		r.under(func() { n.ready(30 * time.Second) })
		after, err := n.client.Node(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if after.Incarnation == before.Incarnation {
			r.t.Errorf("S1: the node goes on as incarnation %s over an older directory", after.Incarnation)
		}
	}
	r.verify()
}
