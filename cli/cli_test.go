package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"driftless.dev/api"
	"driftless.dev/cli"
	"driftless.dev/resource"
)

// Every command's help, in one file to read.
func TestHelp(t *testing.T) {
	var out bytes.Buffer
	var walk func(path []string)
	walk = func(path []string) {
		r := run(t.Context(), "", nil, append(path, "--help")...)
		if r.code != 0 || r.stderr != "" {
			t.Fatalf("%v: exit code %d: %s", path, r.code, r.stderr)
		}
		fmt.Fprintf(&out, "$ driftless %s\n%s\n", strings.Join(append(path, "--help"), " "), r.stdout)
		if len(path) > 0 && path[0] != "completion" && !strings.Contains(r.stdout, "\nExamples:\n  driftless ") {
			t.Errorf("%v: no example", path)
		}
		for _, name := range subcommands(r.stdout) {
			if name != "help" {
				walk(append(path[:len(path):len(path)], name))
			}
		}
	}
	walk(nil)
	golden(t, "testdata/help.golden", out.String())
}

// subcommands reads the names in the sections of a help text that list
// commands.
func subcommands(help string) (names []string) {
	listing := false
	for line := range strings.Lines(help) {
		switch {
		case !strings.HasPrefix(line, " "):
			section := strings.TrimSpace(line)
			listing = section == "Available Commands:" || section == "Records:" || section == "Fleet:" || section == "Additional Commands:"
		case listing:
			names = append(names, strings.Fields(line)[0])
		}
	}
	return names
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-update rewrites it):\n%s", path, diff)
	}
}

func TestCompletion(t *testing.T) {
	p := newPair(t)
	kind, err := resource.KindResource(resource.Kind{APIVersion: "skill.example.dev/v1", Name: "Skill", Plural: "skills"}, resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	p.nodes[0].put(t, kind)
	p.nodes[0].put(t, resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", Name: "summarise"})
	env := []string{"DRIFTLESS_NODE=" + p.nodes[0].url}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "get", ""}, "skill\tskill.example.dev/v1\n"},
		{[]string{"__complete", "delete", "skills", ""}, "summarise\tglobal\n"},
		{[]string{"__complete", "get", "nonsense", ""}, ":4\n"},
		{[]string{"completion", "bash"}, "bash completion"},
		{[]string{"completion", "zsh"}, "#compdef driftless"},
		{[]string{"completion", "fish"}, "fish completion"},
		{[]string{"completion", "powershell"}, "powershell completion"},
	} {
		r := run(t.Context(), "", env, tt.args...)
		if r.code != 0 || !strings.Contains(r.stdout, tt.want) {
			t.Errorf("%v: exit code %d: %s%s", tt.args, r.code, r.stdout, r.stderr)
		}
	}
}

// A node that wants a token, on a socket.
func TestToken(t *testing.T) {
	p := newPair(t)
	srv, err := api.New(api.Config{Node: p.nodes[0], Tokens: []api.Token{{Name: "robot", Hash: api.HashToken("s3cret")}}})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "node.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: srv.Handler()}
	done := make(chan error)
	go func() { done <- hs.Serve(l) }()
	t.Cleanup(func() {
		_ = hs.Close()
		<-done
	})
	node := "DRIFTLESS_NODE=unix://" + socket
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		code int
		want string
	}{
		{"known", []string{node, "DRIFTLESS_TOKEN=s3cret"}, []string{"kinds"}, 0, ""},
		{"none", []string{node}, []string{"kinds"}, 1, "[unauthorized]"},
		{"wrong", []string{node, "DRIFTLESS_TOKEN=x"}, []string{"kinds"}, 1, "[unauthorized]"},
		{"no verdict is not the verdict no", []string{node}, []string{"fleet", "check"}, 2, "[unauthorized]"},
		{"nor is it for wait", []string{node}, []string{"fleet", "wait"}, 2, "[unauthorized]"},
		{"a robot is no person", []string{node, "DRIFTLESS_TOKEN=s3cret"}, []string{"delete", "kind", "kinds.v1alpha1.core.driftless.dev", "--as", "human"}, 1, "[forbidden]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t.Context(), "", tt.env, tt.args...)
			if r.code != tt.code || !strings.Contains(r.stdout+r.stderr, tt.want) {
				t.Errorf("exit code %d, want %d: %s%s", r.code, tt.code, r.stdout, r.stderr)
			}
		})
	}
}

// What answers may be no node at all, or not answer.
func TestUnreachable(t *testing.T) {
	web := http.NewServeMux()
	web.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, tt := range []struct {
		name    string
		handler http.Handler
		want    string
	}{
		{"another server", web, "no driftless node"},
		{"silence", silent, "no answer within 50ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			hs := &http.Server{Handler: tt.handler}
			done := make(chan error)
			go func() { done <- hs.Serve(l) }()
			t.Cleanup(func() {
				_ = hs.Close()
				<-done
			})
			for _, args := range [][]string{{"kinds"}, {"get", "skills"}, {"fleet", "check"}, {"fleet", "status"}} {
				r := run(t.Context(), "", nil, append(args, "--timeout", "50ms", "--node", l.Addr().String())...)
				if r.code != 2 || !strings.Contains(r.stderr, tt.want) || !strings.Contains(r.stderr, "(--node)") || strings.Contains(r.stderr, "goroutine") {
					t.Errorf("%v: exit code %d: %s", args, r.code, r.stderr)
				}
			}
		})
	}
}

// A NATS server greets whoever connects.
//
// Its greeting may come before the request is out or after, and net/http tells
// the one from the other; rarely it comes amid the write, and then all that is
// known is that the connection was closed.
func TestUnreachable_NATS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "INFO {\"server_id\":\"NX\",\"version\":\"2.12.0\"}\r\n")
			_, _ = c.Read(make([]byte, 1<<10))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	r := run(t.Context(), "", nil, "kinds", "--node", l.Addr().String())
	if r.code != cli.ExitUsage || !strings.Contains(r.stderr, "NATS server") && !strings.Contains(r.stderr, "use of closed network connection") || strings.Contains(r.stderr, "server_id") || strings.Contains(r.stderr, "readLoop") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}

func TestInterrupted(t *testing.T) {
	p := newPair(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := run(ctx, "", []string{"DRIFTLESS_NODE=" + p.nodes[0].url}, "get", "kinds")
	if r.code != cli.ExitInterrupted || r.stderr != "" {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
