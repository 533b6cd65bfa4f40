package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The first place that names a node is taken, whole.
func TestFind_Order(t *testing.T) {
	config := t.TempDir()
	path := filepath.Join(config, "driftless", "contexts.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "current: prod\ncontexts:\n  prod: {node: 'https://prod:1', token: p}\n  lab: {node: 'lab:2'}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for _, p := range pairs {
				if v, ok := strings.CutPrefix(p, name+"="); ok {
					return v
				}
			}
			return ""
		}
	}
	withConfig := "XDG_CONFIG_HOME=" + config
	for _, tt := range []struct {
		name   string
		finder finder
		files  []string
		want   target
	}{
		{"flags beat all", finder{node: "http://f:1/", token: "t", env: env("DRIFTLESS_NODE=http://e:1", withConfig)}, nil,
			target{"http://f:1", "t", "--node"}},
		{"a flag's node does not take the environment's token", finder{node: "f:1", env: env("DRIFTLESS_NODE=http://e:1", "DRIFTLESS_TOKEN=e")}, nil,
			target{"http://f:1", "", "--node"}},
		{"a context asked for beats the environment", finder{context: "lab", env: env("DRIFTLESS_NODE=http://e:1", withConfig)}, nil,
			target{"http://lab:2", "", `context "lab"`}},
		{"environment beats the current context", finder{env: env("DRIFTLESS_NODE=http://e:1", "DRIFTLESS_TOKEN=e", withConfig)}, nil,
			target{"http://e:1", "e", "DRIFTLESS_NODE"}},
		{"current context beats the socket", finder{env: env(withConfig)}, []string{systemSocket},
			target{"https://prod:1", "p", `context "prod"`}},
		{"the session's socket beats the system's", finder{env: env("XDG_RUNTIME_DIR=/run/user/1")}, []string{"/run/user/1/driftless.sock", systemSocket},
			target{"unix:///run/user/1/driftless.sock", "", "the local socket"}},
		{"the system's socket", finder{env: env("XDG_RUNTIME_DIR=/run/user/1")}, []string{systemSocket},
			target{"unix://" + systemSocket, "", "the local socket"}},
		{"the default", finder{env: env("HOME=/nowhere")}, nil, target{defaultURL, "", "the default"}},
		{"a socket by flag", finder{node: "unix:/run/x.sock", env: env()}, nil, target{"unix:///run/x.sock", "", "--node"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.finder.exists = func(path string) bool { return slices.Contains(tt.files, path) }
			got, err := tt.finder.find()
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestFind_Refuses(t *testing.T) {
	none := func(string) string { return "" }
	for _, tt := range []struct {
		name, want string
		finder     finder
	}{
		{"a token alone", "only sent to the node", finder{token: "t", env: func(string) string { return "http://e:1" }}},
		{"two nodes", "give one", finder{node: "http://a:1", context: "lab", env: none}},
		{"a context of no file", "it has none", finder{context: "lab", env: none}},
		{"another scheme", "no URL", finder{node: "nats://a:1", env: none}},
		{"no host", "no URL", finder{node: "http://", env: none}},
		{"a password", "user, query or fragment", finder{node: "http://u:hunter2@a:1", env: none}},
		{"a relative socket", "no absolute path", finder{node: "unix:x.sock", env: none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.finder.exists = func(string) bool { return true }
			_, err := tt.finder.find()
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain ✓ ümläut":      "plain ✓ ümläut",
		"\x1b[31mred":         `\x1b[31mred`,
		"two\nlines\ttab":     `two\nlines\ttab`,
		"right\u202eto left":  `right\u202eto left`,
		"broken \xff":         "broken \ufffd",
		"no-break\u00a0space": `no-break\u00a0space`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}
