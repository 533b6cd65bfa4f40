package cli_test

import (
	"context"
	"flag"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScript runs the transcripts in testdata/script: real commands against two
// real nodes, whose link is the script's to use.
//
//	driftless ARGS     runs the command; ! wants a failure
//	code N             the last command's exit code
//	sync [NAME]        lets the nodes exchange all records, or those of a name
//	cut, heal          b answers nobody, or again
//	down               closes both servers
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
