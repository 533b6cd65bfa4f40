//go:build chaos

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// network is a switch and NATS in one network namespace and every node in one
// of its own, so that each node's packets can be dropped on their way.
type network struct {
	t      *testing.T
	prefix string
}

const (
	natsHost = "10.77.0.1" // in every network: they do not see each other
	natsPort = "4222"
)

// sh runs a command and returns what it said; a tool that is missing or fails
// fails the test.
func sh(t *testing.T, stdin string, line ...string) string {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s(needs root; apt-get install iproute2 nftables)", strings.Join(line, " "), err, out)
	}
	return string(out)
}

func newNetwork(t *testing.T, seq int) *network {
	t.Helper()
	sweep(t)
	w := &network{t: t, prefix: fmt.Sprintf("%s%d-%d-", netnsPrefix, os.Getpid(), seq)}
	w.add("hub")
	hub := []string{"ip", "-n", w.ns("hub")}
	for _, args := range [][]string{{"link", "add", "br0", "type", "bridge"}, {"addr", "add", natsHost + "/24", "dev", "br0"}, {"link", "set", "br0", "up"}} {
		sh(t, "", append(hub, args...)...)
	}
	return w
}

// netnsPrefix begins the names of our namespaces; the process that made one
// follows.
const netnsPrefix = "driftless-"

// sweep deletes namespaces whose test was killed before it could.
func sweep(t *testing.T) {
	t.Helper()
	for _, line := range strings.Split(sh(t, "", "ip", "netns", "list"), "\n") {
		name, _, _ := strings.Cut(line, " ")
		rest, ours := strings.CutPrefix(name, netnsPrefix)
		text, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(text); ours && err == nil && syscall.Kill(pid, 0) != nil {
			sh(t, "", "ip", "netns", "delete", name)
		}
	}
}

func (w *network) ns(name string) string { return w.prefix + name }

// add makes a namespace, which is gone after the test.
func (w *network) add(name string) {
	w.t.Helper()
	sh(w.t, "", "ip", "netns", "add", w.ns(name))
	w.t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "delete", w.ns(name)).CombinedOutput(); err != nil {
			w.t.Errorf("delete namespace: %v: %s", err, out)
		}
	})
	sh(w.t, "", "ip", "-n", w.ns(name), "link", "set", "lo", "up")
}

// connect puts a node into a namespace of its own, wired to the switch.
func (w *network) connect(n *node, i int) {
	w.t.Helper()
	w.add(n.name)
	port := fmt.Sprintf("port%d", i)
	sh(w.t, "", "ip", "link", "add", "eth0", "netns", w.ns(n.name), "type", "veth", "peer", "name", port, "netns", w.ns("hub"))
	sh(w.t, "", "ip", "-n", w.ns("hub"), "link", "set", port, "master", "br0", "up")
	sh(w.t, "", "ip", "-n", w.ns(n.name), "addr", "add", fmt.Sprintf("10.77.0.%d/24", 10+i), "dev", "eth0")
	sh(w.t, "", "ip", "-n", w.ns(n.name), "link", "set", "eth0", "up")
	n.wrap = w.in(n.name)
	n.join = "nats://" + natsHost + ":" + natsPort
}

// in is what runs a command in a namespace.
func (w *network) in(name string) []string { return []string{"ip", "netns", "exec", w.ns(name)} }

// newNetworked makes the round's fleet over a network.
func (r *round) newNetworked() *network {
	r.t.Helper()
	w := newNetwork(r.t, r.seq())
	r.newFleet(options{prepare: func(f *fleet) {
		for i, n := range f.nodes {
			w.connect(n, i)
		}
		f.nats.wrap = w.in("hub")
		f.nats.args[1], f.nats.args[3] = natsHost, natsPort
	}})
	return w
}

// drop has a node's packets dropped: those of the given hooks (input, output)
// that match.
func (w *network) drop(n *node, match string, hooks ...string) {
	w.t.Helper()
	var rules strings.Builder
	rules.WriteString("table inet chaos {\n")
	for _, hook := range hooks {
		iface := map[string]string{"input": "iifname", "output": "oifname"}[hook]
		fmt.Fprintf(&rules, "chain %s { type filter hook %s priority 0; policy accept; %s \"eth0\" %s counter drop; }\n", hook, hook, iface, match)
	}
	rules.WriteString("}\n")
	sh(w.t, rules.String(), append(w.in(n.name), "nft", "-f", "-")...)
}

// heal ends drop and returns how many packets it took.
func (w *network) heal(n *node) (dropped int) {
	w.t.Helper()
	text := sh(w.t, "", append(w.in(n.name), "nft", "list", "table", "inet", "chaos")...)
	for _, m := range regexp.MustCompile(`counter packets (\d+)`).FindAllStringSubmatch(text, -1) {
		count, err := strconv.Atoi(m[1])
		if err != nil {
			w.t.Fatal(err)
		}
		dropped += count
	}
	sh(w.t, "", append(w.in(n.name), "nft", "delete", "table", "inet", "chaos")...)
	return dropped
}

// killConnections kills a node's connections to NATS, both ends seeing it, and
// returns how many.
func (w *network) killConnections(n *node) int {
	w.t.Helper()
	return strings.Count(sh(w.t, "", append(w.in(n.name), "ss", "-K", "-H", "-t", "dst", natsHost)...), natsPort)
}

// overlimits reads from tc's statistics how many packets had to wait.
func overlimits(text string) int {
	m := regexp.MustCompile(`overlimits (\d+)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	count, _ := strconv.Atoi(m[1]) // digits alone
	return count
}
