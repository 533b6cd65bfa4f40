package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loaded reads settings as a process with these arguments would.
func loaded(t *testing.T, environ []string, args ...string) (*settings, error) {
	t.Helper()
	f := flags()
	f.SetOutput(io.Discard)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return load(f, environ)
}

// Flags win over the environment, the environment over the file, the file over
// the defaults.
func TestLoad_Precedence(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(path, []byte("name: file\nfleet: file\nnats-replicas: 3\njoin: [nats://a, nats://b]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := loaded(t, []string{"DRIFTLESS_NAME=env", "DRIFTLESS_FLEET=env", "DRIFTLESS_NODE=http://x", "PATH=x"}, "--config", path, "--name", "flag")
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.config("v", nil)
	if err != nil || c.Name != "flag" || c.Fleet != "env" || c.NATS.Replicas != 3 || len(c.NATS.Join) != 2 || c.HTTP != "127.0.0.1:7117" {
		t.Errorf("%+v, %v", c, err)
	}
}

// A number is a number to its end, wherever it comes from.
func TestConfig_WholeNumbers(t *testing.T) {
	for text, ok := range map[string]bool{"12": true, "-1": true, "12abc": false, "1.5": false, "": false, "0x10": false, "1 2": false, "99999999999999999999": false} {
		s, err := loaded(t, []string{"DRIFTLESS_SNAPSHOT_EVERY=" + text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.config("v", nil); (err == nil) != ok || err != nil && (!errors.Is(err, errUsage) || !strings.Contains(err.Error(), "environment")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What --print-config prints holds no password, from whatever source, and says
// where each setting is from.
func TestPrint_HidesPasswords(t *testing.T) {
	s, err := loaded(t, []string{"DRIFTLESS_JOIN=nats://ada:s3cret@a:4222,s3cret@b,nats://c:4222"},
		"--nats-routes", "nats://s3cret@d", "--nats-leaf", "tls://ada:s3cret@x:y@e:7422,nats://[::1")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.print(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "s3cret") || strings.Contains(text, "ada") {
		t.Errorf("a secret is printed:\n%s", text)
	}
	for _, want := range []string{"nats://redacted@a:4222", "- redacted@b", "nats://c:4222", "nats://redacted@d", "tls://redacted@e:7422", "nats://[::1", "# environment", "# flag", "# default"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not printed:\n%s", want, text)
		}
	}
	c, err := s.config("v", nil)
	if err != nil || c.NATS.Join[0] != "nats://ada:s3cret@a:4222" {
		t.Errorf("the settings themselves changed: %v, %v", c.NATS.Join, err)
	}
}
