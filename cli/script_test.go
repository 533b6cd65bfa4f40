package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"driftless.dev"
	"driftless.dev/fleet"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	if driftless.RunVerifier() {
		return
	}
	if runCommand() {
		return
	}
	goleak.VerifyTestMain(m)
}

// TestScript runs the transcripts in testdata/script: real commands against two
// real nodes, whose link is the script's to use.
//
//	driftless ARGS     runs the command; ! wants a failure
//	code N             the last command's exit code
//	sync [NAME]        lets the nodes exchange all records, or those of a name
//	cut, heal          b answers nobody, or again
//	down               closes both servers
//	flip DIR|a BUCKET  flips a bit in the bucket's last row that is of the kind
//	                   Skill: of the store in a directory, or of node a's
//	flipfile FILE AT   flips a bit of a file
//
// DRIFTLESS_NODE is node a, $B is b.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			p := newPair(env.T().(testing.TB))
			env.Values[pairKey{}], env.Values[codeKey{}] = p, new(int)
			env.Setenv("DRIFTLESS_NODE", p.nodes[0].url)
			env.Setenv("A", p.nodes[0].url)
			env.Setenv("B", p.nodes[1].url)
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"driftless": runDriftless,
			"code": func(ts *testscript.TestScript, _ bool, args []string) {
				if want := args[0]; want != strconv.Itoa(*codeOf(ts)) {
					ts.Fatalf("exit code %d, want %s", *codeOf(ts), want)
				}
			},
			"sync": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(pairOf(ts).sync(context.Background(), strings.Join(args, "")))
			},
			"cut":  func(ts *testscript.TestScript, _ bool, _ []string) { pairOf(ts).setCut(true) },
			"heal": func(ts *testscript.TestScript, _ bool, _ []string) { pairOf(ts).setCut(false) },
			"flip": func(ts *testscript.TestScript, _ bool, args []string) {
				if args[0] == "a" {
					ts.Check(flipRow(pairOf(ts).nodes[0].engine, args[1]))
					return
				}
				e, err := bolt.OpenEngine(filepath.Join(ts.MkAbs(args[0]), "driftless.db"), bolt.Options{})
				ts.Check(err)
				ts.Check(errors.Join(flipRow(e, args[1]), e.Close()))
			},
			"flipfile": func(ts *testscript.TestScript, _ bool, args []string) {
				at, err := strconv.Atoi(args[1])
				ts.Check(err)
				text := []byte(ts.ReadFile(args[0]))
				text[at] ^= 1
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
			},
			"down": func(ts *testscript.TestScript, _ bool, _ []string) {
				for _, n := range pairOf(ts).nodes {
					n.close()
				}
			},
		},
	})
}

type (
	pairKey struct{}
	codeKey struct{}
)

func pairOf(ts *testscript.TestScript) *pair { return ts.Value(pairKey{}).(*pair) }
func codeOf(ts *testscript.TestScript) *int  { return ts.Value(codeKey{}).(*int) }

// runDriftless runs the command in this process. Its files are those of the
// script, and what it prints does not tell where those are.
func runDriftless(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(".") + string(filepath.Separator)
	for i := 1; i < len(args); i++ {
		if (args[i-1] == "-f" || args[i-1] == "--filename") && args[i] != "-" {
			args[i] = ts.MkAbs(args[i])
		}
	}
	var env []string
	for _, name := range []string{"DRIFTLESS_NODE", "DRIFTLESS_TOKEN", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	stdin := ""
	if len(args) > 0 && args[0] == "<" {
		stdin, args = ts.ReadFile(args[1]), args[2:]
	}
	r := run(context.Background(), stdin, env, args...)
	*codeOf(ts) = r.code
	_, err := io.WriteString(ts.Stdout(), strings.ReplaceAll(r.stdout, dir, ""))
	ts.Check(err)
	_, err = io.WriteString(ts.Stderr(), strings.ReplaceAll(r.stderr, dir, ""))
	ts.Check(err)
	if neg == (r.code == 0) {
		ts.Fatalf("exit code %d", r.code)
	}
}

// flipRow flips a bit in the last row of a bucket that tells of a Skill.
func flipRow(e store.Engine, bucket string) error {
	return e.Update(func(tx store.WriteTx) error {
		for b := range store.NumBuckets {
			if b.String() != bucket {
				continue
			}
			var key, value []byte
			tx.Ascend(b, nil, func(k, v []byte) bool {
				if bytes.Contains(append(bytes.Clone(k), v...), []byte("Skill.skill")) || b == store.BucketIDs || b == store.BucketMeta {
					key, value = bytes.Clone(k), bytes.Clone(v)
				}
				return true
			})
			if key == nil {
				break
			}
			value[len(value)-1] ^= 1
			return tx.Put(b, key, value)
		}
		return fmt.Errorf("no row in %s", bucket)
	})
}

// offline is what works on files, as cmd/driftless has it.
type offline struct{ driftless.Offline }

func (o offline) Restore(ctx context.Context, r io.ReadSeeker, data string, force, newInstance bool) (fleet.Snapshot, string, error) {
	return o.Offline.Restore(ctx, r, data, driftless.RestoreOptions{Force: force, NewInstance: newInstance})
}
