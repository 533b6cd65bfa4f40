package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/api"
	"driftless.dev/cli"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
	"driftless.dev/wire"
)

// written is when the nodes of a test write, and now when the command runs.
var (
	writtenAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now       = writtenAt.Add(5 * time.Minute)
)

// pair is a fleet of two nodes whose link is the test's to use: real stores
// and real servers.
type pair struct {
	nodes [2]*testNode
	mu    sync.Mutex
	cut   bool // b answers nobody
}

// testNode is an api.Node.
type testNode struct {
	*pair
	name   string
	store  *store.Store
	engine *memory.Engine
	url    string
	close  func()
}

func newPair(t testing.TB) *pair {
	p := &pair{}
	f, err := wire.NewFleet("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b"} {
		e := memory.NewEngine()
		s, err := store.Open(e, store.Config{
			Wall: func() time.Time { return writtenAt }, Random: rand.NewChaCha8([32]byte{byte(i + 1)}),
			Secret: f.Key, Fleet: store.Fleet{ID: f.ID, Name: f.Name},
		})
		if err != nil {
			t.Fatal(err)
		}
		n := &testNode{pair: p, name: name, store: s, engine: e}
		srv, err := api.New(api.Config{Node: n, Now: func() time.Time { return now }, Repair: n.repair})
		if err != nil {
			t.Fatal(err)
		}
		h := httptest.NewServer(srv.Handler())
		n.url, n.close = h.URL, sync.OnceFunc(h.Close)
		p.nodes[i] = n
		t.Cleanup(func() {
			n.close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return p
}

// sync gives each node the other's records, or those of one name alone.
func (p *pair) sync(ctx context.Context, name string) error {
	for i, from := range p.nodes {
		to := p.nodes[1-i]
		events, _, err := from.store.Outbox(0, 1<<30)
		if err != nil {
			return err
		}
		var b store.Batch
		for _, e := range events {
			if name == "" || e.Record.Name == name {
				b.Records = append(b.Records, store.Incoming{Record: e.Record, From: from.store.Identity().Instance})
			}
		}
		if _, err := to.store.Apply(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) isCut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

func (p *pair) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

func (n *testNode) Store() *store.Store { return n.store }

func (n *testNode) Ready() (bool, string) { return true, "" }

func (n *testNode) Info() fleet.Node {
	st, id := n.store.Summary(), n.store.Identity()
	return fleet.Node{
		Name: n.name, Instance: id.Instance.String(), Incarnation: id.Incarnation.String(), LogID: id.LogID.String(),
		Fleet: "test", Version: "1.2.3", Ready: !n.isCut(), Waiting: map[bool]string{true: "NATS"}[n.isCut()],
		Seq: st.Head.Seq, FirstSeq: n.store.FirstSeq(), HLC: st.Head.HLC.String(), SuperRoot: st.Super.String(), Records: 7, StartedAt: writtenAt,
		Realms: []fleet.Realm{{Name: "_", Root: strings.Repeat("ab", 32), Records: 7}},
		NATS:   fleet.Transport{Connected: true, Stream: true, URL: "nats://127.0.0.1:4222"},
		Clock:  fleet.Clock{OffsetSeconds: 0.012, Sure: true, MaxOffsetSeconds: 60},
	}
}

func (n *testNode) Fleet(context.Context, bool) (fleet.Fleet, error) {
	f := fleet.Fleet{Name: "test"}
	roots := map[string]bool{}
	for _, m := range n.nodes {
		out := fleet.Member{Name: m.name, Instance: m.store.Identity().Instance.String(), State: "alive", Ready: true, Version: "1.2.3"}
		if m == n {
			out.State = "self"
		} else if n.isCut() {
			out.State, out.Ready, out.Error = "lost", false, "last heard 2026-01-01T00:00:00Z"
		}
		if out.Error == "" {
			out.Answered, out.SuperRoot = true, m.store.Summary().Super.String()
			if m != n {
				out.LastRootMatch = &writtenAt
			}
			roots[out.SuperRoot] = true
		}
		f.Members = append(f.Members, out)
	}
	f.DistinctRoots = len(roots)
	switch {
	case n.isCut():
		f.Reason = "member b does not answer: its state is unknown"
	case len(roots) > 1:
		f.Reason = "2 different roots"
	default:
		f.Converged, f.ConvergedUpTo = true, &writtenAt
	}
	return f, nil
}

func (n *testNode) Wait(context.Context, api.Concern, store.Written) api.WaitResult {
	if n.isCut() {
		return api.WaitResult{Reached: 0, Wanted: 1, Missing: []string{"b"}}
	}
	return api.WaitResult{Reached: 1, Wanted: 1}
}

// repair takes what is damaged from the other node, past any wire.
func (n *testNode) repair(ctx context.Context, member string) (fleet.Repair, error) {
	other := n.nodes[0]
	if n.name == "a" {
		other = n.nodes[1]
	}
	if member != other.name {
		return fleet.Repair{}, fmt.Errorf("%w: member %q", resource.ErrNotFound, member)
	}
	var all []store.Incoming
	if _, err := other.store.Entries(0, 1<<30, func(e store.Entry) error {
		rec, err := other.store.Record(e.Record.ID.String())
		all = append(all, store.Incoming{Record: rec})
		return err
	}); err != nil {
		return fleet.Repair{}, err
	}
	back, err := n.store.PutBack(ctx, all, other.store.State().Vector)
	if err != nil {
		return fleet.Repair{}, err
	}
	r, err := n.store.Fsck(ctx, true)
	return fleet.Repair{From: member, PutBack: back, Fsck: api.FsckView(&r)}, err
}

// put writes a record on the node, past the command.
func (n *testNode) put(t testing.TB, r resource.Resource) resource.Resource {
	t.Helper()
	out, err := n.store.Put(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// result is what a command came to.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the command. env is "NAME=value".
func run(ctx context.Context, stdin string, env []string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, args, cli.Config{
		Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Version: "1.2.3",
		Now: func() time.Time { return now },
		Env: func(name string) string {
			for _, e := range env {
				if v, ok := strings.CutPrefix(e, name+"="); ok {
					return v
				}
			}
			return ""
		},
		Offline: func(fleet string, secret []byte) cli.Offline {
			return offline{driftless.Offline{Fleet: fleet, Secret: secret}}
		},
		Demo: func(_ context.Context, d cli.Demo) error {
			fmt.Fprintf(d.Stdout, "demo: %v %q %v\n", d.NonInteractive, d.Manifests, d.Keep)
			if d.Manifests == "fail" {
				return fmt.Errorf("the fleet did not converge")
			}
			return nil
		},
	})
	return result{code, stdout.String(), stderr.String()}
}

func (n *testNode) Collection() fleet.Collection {
	return fleet.Collection{Tombstones: 3, Collected: 4, MinAgeSeconds: 86400, Blocked: "member c is silent", Floor: []fleet.Mark{}}
}

func (n *testNode) Rejoin(context.Context) error { return nil }

func (n *testNode) Reidentify(context.Context) error { return nil }

func (n *testNode) RepairClock(context.Context) error { return nil }
