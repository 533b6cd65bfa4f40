// Package client speaks a node's HTTP API: resources, and views of the node
// and the fleet.
//
// A refusal comes back as an *Error, which is resource's sentinel for its
// code: errors.Is(err, resource.ErrNotFound) means over HTTP what it means in
// the process of the node. That no node answered is ErrUnreachable.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"driftless.dev/resource"
)

// DefaultNode is where a node listens when nothing else is said.
const DefaultNode = "http://127.0.0.1:7117"

// DefaultTimeout bounds a call, beside what it asks to wait for.
const DefaultTimeout = 30 * time.Second

// Options are what a client is made of; the zero value speaks to DefaultNode.
type Options struct {
	// Node is an http or https URL, or unix:///path for a socket.
	Node string
	// Token is the bearer token. It needs a Node: it must not go to whoever
	// listens on a default port.
	Token string
	// TLS is for https.
	TLS *tls.Config
	// Timeout bounds each call; 0 is DefaultTimeout, negative none.
	Timeout time.Duration
	// Call is what every call asks for.
	Call Call
}

// Call is what a call asks for beside its subject. The zero value asks for
// nothing.
type Call struct {
	// Actor writes as human, agent or system; "" leaves it to the node, which
	// takes an agent.
	Actor string
	// Owner is the calling controller's name, Epoch its token.
	Owner string
	Epoch resource.Epoch
	// IfMatch is the digest that the record must have, or "*" for any;
	// IfNoneMatch makes a Put create only.
	IfMatch     string
	IfNoneMatch bool
	// Wait is local, stream, peers=N or fleet, and WaitTimeout how long (the
	// node's default when 0).
	Wait        string
	WaitTimeout time.Duration
	// DryRun judges a write without making it.
	DryRun bool
}

// Client speaks to one node. It is safe for concurrent use.
type Client struct {
	base    string // scheme and host
	shown   string // how errors name the node
	token   string
	timeout time.Duration
	http    *http.Client
	call    Call
}

// New makes a client. It connects to nothing yet.
func New(o Options) (*Client, error) {
	if o.Token != "" && o.Node == "" {
		return nil, errors.New("make client: a token without a node: say which node it is for (--node or DRIFTLESS_NODE)")
	}
	if o.Node == "" {
		o.Node = DefaultNode
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	base, socket, err := parseNode(o.Node)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSClientConfig: o.TLS, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 16,
	}
	if socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
	}
	return &Client{
		base: base, shown: o.Node, token: o.Token, timeout: o.Timeout, call: o.Call,
		// A node does not redirect; whoever does shall not get the token.
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// parseNode reads a node's URL: what requests begin with, and a socket's path.
func parseNode(node string) (base, socket string, err error) {
	u, err := url.Parse(node)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("node URL: %w", errors.Unwrap(err)) // not the URL itself: it may hold a password
	case u.User != nil:
		return "", "", errors.New("node URL: holds a user: pass a token instead")
	case u.Scheme == "unix" && u.Host == "" && u.Path != "":
		return "http://localhost", u.Path, nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "":
		return u.Scheme + "://" + u.Host, "", nil
	}
	return "", "", fmt.Errorf("node URL %q is not http://host:port, https://host:port or unix:///path", node)
}

// With returns a client that asks for call instead, over the same connections.
func (c *Client) With(call Call) *Client {
	out := *c
	out.call = call
	return &out
}

// Call returns what the client's calls ask for, to change and give to With.
func (c *Client) Call() Call { return c.call }

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }
