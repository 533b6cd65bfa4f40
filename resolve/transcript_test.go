package resolve_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftless.dev/hlc"
	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt")

// Each transcript tells what nodes a, b and c do to one record, and what comes
// of it. Lines with '>' are commands, the rest is what they print:
//
//	> a put "red" [as=human|agent|system] [finalizers=f,g] [token]
//	> a status "ready" | delete | teardown | destroy | release | claim [as=...] [token]
//	> a merges b
//	> a copies b        (the data directory: a becomes a clone of b)
//
// token passes the epoch of the node's own last claim. A node's clock ticks
// once per write, and a merge moves it to the newest stamp.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := transcribe(t, string(want))
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(got, want) {
				t.Errorf("transcript differs (go test -update to accept):\n%s", got)
			}
		})
	}
}

func transcribe(t *testing.T, script string) []byte {
	c := cast{t: t, nodes: map[string]*player{}}
	for line := range strings.Lines(script) {
		switch {
		case strings.HasPrefix(line, "> "):
			c.out.WriteString(line)
			c.play(strings.Fields(line)[1:])
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
			c.out.WriteString(line)
		}
	}
	return c.out.Bytes()
}

type cast struct {
	t     *testing.T
	nodes map[string]*player
	out   bytes.Buffer
}

type player struct {
	node
	name  string
	token resource.Epoch
}

func (c *cast) node(name string) *player {
	if c.nodes[name] == nil {
		id := resource.ID{15: name[0] - 'a' + 1}
		c.nodes[name] = &player{name: name, node: node{Stamper: store.Stamper{Instance: id, Incarnation: id}}}
	}
	return c.nodes[name]
}

func (c *cast) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for name, n := range c.nodes {
		text = strings.ReplaceAll(text, n.Instance.String(), name)
	}
	fmt.Fprintf(&c.out, "    %s\n", text)
}

func (c *cast) play(words []string) {
	n, verb, args := c.node(words[0]), words[1], words[2:]
	switch verb {
	case "merges":
		c.merge(n, c.node(args[0]))
	case "copies":
		from := c.node(args[0])
		n.Incarnation, n.clock, n.rec, n.token = from.Incarnation, from.clock, from.rec, from.token
	default:
		c.write(n, verb, args)
	}
	c.show(n)
}

func (c *cast) write(n *player, verb string, args []string) {
	w := store.Write{Given: &resource.Given{}, Resource: resource.Resource{APIVersion: "v1", Kind: "Note", Name: "n"}}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "as":
			var err error
			if w.Actor, err = resource.ParseActor(value); err != nil {
				c.t.Fatal(err)
			}
		case "finalizers":
			w.Given.Finalizers = true
			w.Resource.Finalizers = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
		case "token":
			w.Epoch = n.token
		default:
			w.Resource.Spec, w.Resource.Status = []byte(arg), []byte(arg)
		}
	}
	op, ok := map[string]store.Op{"delete": store.OpDelete, "teardown": store.OpTeardown, "destroy": store.OpDestroy}[verb]
	if w.Op = op; ok {
		verb = "delete"
	}
	now := n.clock.Add(1e6)
	post, err := stamp(&n.node, verb, &w, now)
	switch {
	case err != nil:
		reason, _, _ := strings.Cut(err.Error(), ":")
		c.say("refused: %s", reason)
	case !post.Changed:
		c.say("nothing to do")
	default:
		n.clock, n.rec = now, &post.Record
		if verb == "claim" {
			n.token = post.Record.Fence
		}
	}
}

func (c *cast) merge(n, from *player) {
	res := resolve.Merge(n.rec, from.rec)
	n.rec = &res.Record
	for p := range n.rec.Points() {
		n.clock = max(n.clock, p.HLC)
	}
	c.say("%s: desired %s, deletion %s, observed %s, finalizers %s", res.Outcome, res.Desired, res.Deletion, res.Observed, res.Finalizers)
	for _, l := range res.Losers {
		value := ""
		switch l.Register {
		case "desired":
			value = string(l.Record.Desired.Value.Spec)
		case "deletion":
			value = l.Record.Deletion.Value.Strength.String()
		case "observed":
			value = string(l.Record.Observed.Value.Status)
		}
		c.say("ledger: %s %s of %s lost to %s: %s", l.Register, value, at(l.Stamp.Point()), at(l.Winner.Point()), l.Reason)
	}
	if res.Clone {
		c.say("clone suspected")
	}
}

// show prints what a node's record says.
func (c *cast) show(n *player) {
	if n.rec == nil {
		c.say("%s has nothing", n.name)
		return
	}
	r := n.rec.Resource()
	phase := "live"
	switch {
	case r.Deleted:
		phase = "deleted"
	case r.DeletionStrength == resource.Teardown:
		phase = "tearing down"
	case r.Terminating():
		phase = "terminating"
	}
	s := r.DesiredStamp
	line := fmt.Sprintf("%s: %s, %s by %s at %s", n.name, phase, r.Spec, s.Actor, at(s.Point()))
	if s.Release > 0 {
		line += fmt.Sprintf(", release %d", s.Release)
	}
	if !n.rec.Fence.IsZero() {
		line += fmt.Sprintf(", epoch %d of %s", s.Epoch.Number, at(n.rec.Fence.Claim))
	}
	if r.Status != nil {
		line += fmt.Sprintf(", status %s", r.Status)
	}
	if len(n.rec.Finalizers) > 0 {
		line += ", finalizers [" + strings.Join(r.Finalizers, " ") + "]"
	}
	c.say("%s, incarnation %s, versions %d/%d", line, at(r.Incarnation), r.SyncVersion, r.Version)
}

// at writes a point as its millisecond and its writer, "3@b".
func at(p resource.Point) string {
	return fmt.Sprintf("%d@%s", hlc.Timestamp(p.HLC).Millis(), p.Writer)
}
