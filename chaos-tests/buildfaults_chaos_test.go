//go:build chaos

package chaos

import (
	"context"
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"driftless.dev/client"
)

var previousFlag = flag.String("previous", "", "commit of the previous build; by default the one before the newest change to the node")

func buildFaults() []scenario {
	return []scenario{
		{name: "previous", fault: "node of the previous build beside new ones", rows: "S6", short: true, run: previousBuild},
	}
}

// previousCommit is the newest commit before the last that changed what nodes
// store, say to each other or decide.
func (r *round) previousCommit() string {
	r.t.Helper()
	if *previousFlag != "" {
		return *previousFlag
	}
	if r.git("rev-parse", "--is-shallow-repository") == "true" {
		r.t.Fatal("the previous commit is not in this shallow clone: git fetch --unshallow, or name one that is (-previous COMMIT)")
	}
	return r.git("log", "-1", "--format=%H", "--", ":/wire", ":/store", ":/replicate", ":/resolve", ":/resource", ":/node.go") + "~1"
}

// git asks git about this checkout, whoever owns it.
func (r *round) git(args ...string) string {
	r.t.Helper()
	return strings.TrimSpace(sh(r.t, "", append([]string{"git", "-c", "safe.directory=*"}, args...)...))
}

// buildPrevious builds a node from a commit and returns the program's path and
// the protocol version in it. The checkout must reach the commit: a shallow
// clone does not.
func (r *round) buildPrevious(commit string) (path, protocol string) {
	r.t.Helper()
	dir := r.t.TempDir()
	top := r.git("rev-parse", "--show-toplevel")
	tar := filepath.Join(dir, "source.tar")
	r.git("-C", top, "archive", "-o", tar, commit)
	sh(r.t, "", "tar", "-x", "-C", dir, "-f", tar)
	path = filepath.Join(dir, "previous-node")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/node")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	return path, protocolOf(r.git("-C", top, "show", commit+":wire/wire.go"))
}

// protocolOf reads the protocol version from the wire package's source.
func protocolOf(source string) string {
	return regexp.MustCompile(`(?m)^const Version = .*$`).FindString(source)
}

// previousBuild runs a node of the previous build among new ones, and upgrades
// it in place. Where the protocol has changed they must refuse each other by
// name instead.
func previousBuild(r *round) {
	commit := r.previousCommit()
	path, protocol := r.buildPrevious(commit)
	now := protocolOf(sh(r.t, "", "cat", filepath.Join("..", "wire", "wire.go")))
	if protocol == "" || now == "" {
		r.t.Fatal("the protocol's version is not where it is looked for")
	}
	if protocol != now {
		r.refusedByVersion(path)
		return
	}
	current := ""
	f := r.newFleet(options{prepare: func(f *fleet) {
		current = f.nodes[1].program
		f.nodes[1].program = path
	}})
	r.injected++
	r.under(func() { pause(r.t, r.lasting(3*time.Second, 10*time.Second)) })
	r.under(func() {
		f.nodes[1].stop()
		f.nodes[1].program = current
		f.nodes[1].start()
		f.nodes[1].ready(30 * time.Second)
	})
	r.verify()
}

// refusedByVersion: of nodes that speak different protocols the new one says so,
// and the old one adopts nothing.
func (r *round) refusedByVersion(path string) {
	f := newFleet(r.t, options{names: []string{"a", "b"}, prepare: func(f *fleet) { f.nodes[1].program = path }})
	r.fleet = f
	registerKinds(r.t, f.nodes[0])
	if _, err := f.nodes[0].writeOne(r, "new"); err != nil {
		r.t.Fatal(err)
	}
	r.injected++
	eventually(r.t, 20*time.Second, "the new node names the other protocol", func(ctx context.Context) error {
		info, err := f.nodes[0].client.Node(ctx)
		told := strings.Join(append(info.Conditions, info.LastError, f.nodes[0].said()), "\n")
		if err == nil && !strings.Contains(told, "protocol version") {
			err = errors.New("nothing is said of it")
		}
		return err
	})
	if items, err := f.nodes[1].client.List(r.t.Context(), client.Query{Kind: itemKind}); err == nil {
		r.t.Errorf("S6: the old node took over %d records of another protocol", len(items))
	}
}
