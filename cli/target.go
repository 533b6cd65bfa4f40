package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// defaultURL is where a node listens when nothing else is said.
const defaultURL = "http://127.0.0.1:7117"

// systemSocket is where a node that runs as a service has its socket.
const systemSocket = "/run/driftless/driftless.sock"

// target is the node that a command speaks to, and who said so.
type target struct {
	url, token string
	from       string
}

// finder finds the node. exists is a look at the file system.
type finder struct {
	node, token, context string // flags
	env                  func(string) string
	exists               func(path string) bool
}

// find goes through the places in order: flags, environment, context, local
// socket, default. The first that names a node is taken whole: a token is only
// ever sent to the node that it was given with.
func (f finder) find() (target, error) {
	if f.node != "" && f.context != "" {
		return target{}, errors.New("--node and --context name two nodes: give one")
	}
	if f.node != "" || f.token != "" {
		return given(f.node, f.token, "--node", "--token")
	}
	if f.context != "" {
		t, _, err := f.byContext()
		return t, err
	}
	if node, token := f.env("DRIFTLESS_NODE"), f.env("DRIFTLESS_TOKEN"); node != "" || token != "" {
		return given(node, token, "DRIFTLESS_NODE", "DRIFTLESS_TOKEN")
	}
	if t, found, err := f.byContext(); found || err != nil {
		return t, err
	}
	if socket := f.socket(); socket != "" {
		return target{url: "unix://" + socket, from: "the local socket"}, nil
	}
	return target{url: defaultURL, from: "the default"}, nil
}

func given(node, token, nodeName, tokenName string) (target, error) {
	if node == "" {
		return target{}, fmt.Errorf("%s is given without %s: a token is only sent to the node that it is given with", tokenName, nodeName)
	}
	return checked(target{url: node, token: token, from: nodeName})
}

func (f finder) byContext() (t target, found bool, err error) {
	path := contextsPath(f.env)
	c, err := readContexts(path)
	if err != nil {
		return t, false, err
	}
	e, found, err := c.entry(path, f.context)
	if !found || err != nil {
		return t, false, err
	}
	t, err = checked(target{url: e.Node, token: e.Token, from: fmt.Sprintf("context %q", cmp.Or(f.context, c.Current))})
	return t, true, err
}

func (f finder) socket() string {
	if dir := f.env("XDG_RUNTIME_DIR"); dir != "" {
		if path := filepath.Join(dir, "driftless.sock"); f.exists(path) {
			return path
		}
	}
	if f.exists(systemSocket) {
		return systemSocket
	}
	return ""
}

// checked completes host:port to a URL and refuses what is none.
func checked(t target) (target, error) {
	if path, ok := strings.CutPrefix(t.url, "unix:"); ok {
		path = strings.TrimPrefix(path, "//")
		if !filepath.IsAbs(path) {
			return target{}, fmt.Errorf("%s: %q is no absolute path to a socket", t.from, t.url)
		}
		t.url = "unix://" + path
		return t, nil
	}
	if !strings.Contains(t.url, "://") {
		t.url = "http://" + t.url
	}
	u, err := url.Parse(t.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return target{}, fmt.Errorf("%s: %q is no URL such as %s or unix:///run/driftless.sock", t.from, t.url, defaultURL)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return target{}, fmt.Errorf("%s: the URL has a user, query or fragment: give a token with --token", t.from)
	}
	t.url = strings.TrimRight(t.url, "/")
	return t, nil
}

// next is what to do when the node does not answer.
func (t target) next() string {
	if t.from == "the default" {
		return "start a node (driftless-node --data DIR), or name one: --node URL, DRIFTLESS_NODE or --context NAME"
	}
	return "check that the node runs and listens there, or name another with --node URL"
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
