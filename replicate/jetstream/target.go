package jetstream

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// inProcess stands for the address of a server in this process.
const inProcess = "in-process"

// target is one server to try. url may hold credentials.
type target struct {
	url string
	// tlsName is the name in the certificate, where it is not the host: a
	// cluster tells its members by bare addresses.
	tlsName string
}

// shown is the target's address for people.
func (t target) shown() string {
	u, err := url.Parse(t.url)
	if err != nil || u.Host == "" {
		return t.url // inProcess; complete has checked the others
	}
	return u.Scheme + "://" + u.Host
}

// targets lists the servers of one round: the configured ones shuffled, so that
// a fleet does not besiege the first, then what the last server told of its
// cluster, or a dead first address would cut a node off a living cluster.
func (b *Bus) targets() []target {
	if b.cfg.InProcess != nil {
		return []target{{url: inProcess}}
	}
	list := make([]target, 0, len(b.cfg.URLs)+len(b.discovered))
	for _, u := range b.cfg.URLs {
		list = append(list, target{url: u})
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return append(list, b.discovered...)
}

// discover remembers the other servers of the cluster that nc was connected to
// by way of t. They take over its credentials and the name its certificate was
// checked against, as in nats.go.
func (b *Bus) discover(nc *nats.Conn, t target, tlsName string) {
	seed, err := url.Parse(t.url)
	if err != nil || b.cfg.InProcess != nil {
		return
	}
	b.discovered = b.discovered[:0]
	for _, text := range nc.DiscoveredServers() {
		u, err := url.Parse(text)
		if err != nil {
			continue
		}
		u.User = seed.User
		known := func(have string) bool { h, err := url.Parse(have); return err == nil && h.Host == u.Host }
		if !slices.ContainsFunc(b.cfg.URLs, known) {
			b.discovered = append(b.discovered, target{url: u.String(), tlsName: tlsName})
		}
	}
}

// certificateName is what the certificate of a live connection was checked
// against, "" without TLS.
func certificateName(nc *nats.Conn, t target) string {
	if _, err := nc.TLSConnectionState(); err != nil || t.tlsName != "" {
		return t.tlsName
	}
	u, err := url.Parse(t.url)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// reason puts an error into words for people, once "nats: " and no credentials.
func reason(t target, err error) string {
	text := "nats: " + strings.TrimPrefix(err.Error(), "nats: ")
	if u, perr := url.Parse(t.url); perr == nil && u.User != nil {
		text = strings.ReplaceAll(text, u.User.String()+"@", "")
	}
	return text
}
