package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	jsonv2 "github.com/go-json-experiment/json"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errGuard = errors.New("clock is ahead of the fleet")

// fakeNode is an api.Node over a store in memory, whose views the test sets.
type fakeNode struct {
	store  *store.Store
	engine *memory.Engine

	mu      sync.Mutex
	guard   error
	waiting string // "" is ready
	fleet   func() (fleet.Fleet, error)
	asked   int
	waits   []api.Concern
	result  api.WaitResult
}

func (n *fakeNode) Store() *store.Store { return n.store }

func (n *fakeNode) Info() fleet.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fleet.Node{Name: "a<b>", Fleet: "test", Ready: n.waiting == "", Waiting: n.waiting, SuperRoot: "c0ffee"}
}

func (n *fakeNode) Fleet(_ context.Context, ask bool) (fleet.Fleet, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ask {
		n.asked++
	}
	if n.fleet == nil {
		return fleet.Fleet{Name: "test", Converged: true, DistinctRoots: 1}, nil
	}
	return n.fleet()
}

func (n *fakeNode) Wait(ctx context.Context, c api.Concern, _ store.Written) api.WaitResult {
	n.mu.Lock()
	n.waits = append(n.waits, c)
	result := n.result
	n.mu.Unlock()
	if result.Reached < result.Wanted {
		<-ctx.Done()
	}
	return result
}

func (n *fakeNode) Ready() (bool, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.waiting == "", n.waiting
}

func (n *fakeNode) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// env is a server with its node and what it logged and counted.
type env struct {
	*testing.T
	node *fakeNode
	srv  *api.Server
	log  *bytes.Buffer
	seen *observer
}

type observer struct {
	mu     sync.Mutex
	writes map[string]int
	served map[string]int
}

func (o *observer) Wrote(op, result string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes[op+" "+result]++
}

func (o *observer) Served(route, method string, code int, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.served[method+" "+route+" "+http.StatusText(code)]++
}

func newNode(t *testing.T) *fakeNode {
	t.Helper()
	n, err := openNode(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// openNode makes a node with the test kinds, whose store the caller closes.
func openNode(ctx context.Context) (*fakeNode, error) {
	n := &fakeNode{engine: memory.NewEngine()}
	var err error
	n.store, err = store.Open(n.engine, store.Config{
		Wall: func() time.Time { return time.UnixMilli(1_767_225_600_000) }, Random: rand.NewChaCha8([32]byte{1}), Secret: [32]byte{1},
		Guard: func(hlc.Timestamp) error { n.mu.Lock(); defer n.mu.Unlock(); return n.guard },
	})
	if err != nil {
		return nil, err
	}
	for _, k := range kinds() {
		r, err := resource.KindResource(k, resource.Scope{})
		if err == nil {
			_, err = n.store.Put(ctx, r)
		}
		if err != nil {
			return nil, errors.Join(err, n.store.Close())
		}
	}
	return n, nil
}

// kinds has one name in two groups: Note, alias sk in none.
func kinds() []resource.Kind {
	return []resource.Kind{
		{APIVersion: "skill.example.dev/v1", Name: "Skill", Plural: "skills", Aliases: []string{"sk"}, Schema: []byte(`{"properties":{"size":{"type":"integer","minimum":0}}}`)},
		{APIVersion: "a.example.dev/v1", Name: "Note", Plural: "notes"},
		{APIVersion: "b.example.dev/v1", Name: "Note", Plural: "notes"},
		{APIVersion: "gone.example.dev/v1", Name: "Gone", Plural: "gones"},
	}
}

func newEnv(t *testing.T, tune ...func(*api.Config)) *env {
	t.Helper()
	e := &env{T: t, node: newNode(t), log: &bytes.Buffer{}, seen: &observer{writes: map[string]int{}, served: map[string]int{}}}
	cfg := api.Config{
		Node: e.node, Observer: e.seen, Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		Codes: map[error]string{errGuard: fleet.CodeClock},
	}
	for _, f := range tune {
		f(&cfg)
	}
	var err error
	if e.srv, err = api.New(cfg); err != nil {
		t.Fatal(err)
	}
	return e
}

// answer is what a request came to.
type answer struct {
	*httptest.ResponseRecorder
	problem fleet.Problem
}

// do makes a request. head is "Name: value" lines.
func (e *env) do(method, target, body string, head ...string) answer {
	e.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, target, r)
	req.Host = "localhost:7117"
	for _, h := range head {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		} else {
			req.Header.Add(name, value)
		}
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	e.srv.Handler().ServeHTTP(a, req)
	if a.Header().Get("Content-Type") == "application/problem+json" {
		if err := jsonv2.Unmarshal(a.Body.Bytes(), &a.problem); err != nil {
			e.Fatalf("problem %s: %v", a.Body, err)
		}
		if a.problem.Status != a.Code || a.problem.Title == "" || !strings.HasSuffix(a.problem.Type, a.problem.Code) || a.problem.Detail == "" {
			e.Errorf("problem %+v of status %d", a.problem, a.Code)
		}
	} else if a.Code >= 400 && !strings.Contains(target, "z") {
		e.Errorf("%s %s: %d without a problem: %s", method, target, a.Code, a.Body)
	}
	return a
}

// ok makes a request that must come to a status.
func (e *env) ok(code int, method, target, body string, head ...string) answer {
	e.Helper()
	a := e.do(method, target, body, head...)
	if a.Code != code {
		e.Fatalf("%s %s: %d, want %d: %s", method, target, a.Code, code, a.Body)
	}
	return a
}

// refused makes a request that must come to a problem.
func (e *env) refused(status int, code, says, method, target, body string, head ...string) answer {
	e.Helper()
	a := e.do(method, target, body, head...)
	if a.Code != status || a.problem.Code != code || !strings.Contains(a.problem.Detail, says) {
		e.Errorf("%s %s: %d %s %q, want %d %s %q", method, target, a.Code, a.problem.Code, a.problem.Detail, status, code, says)
	}
	return a
}

func (a answer) resource(t testing.TB) (r resource.Resource) {
	t.Helper()
	if err := jsonv2.Unmarshal(a.Body.Bytes(), &r); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
	return r
}

const skills = "/v1/scopes/global/resources/skills"

const human = "Driftless-Actor: human"

func tokenOf(name, secret string, actors ...resource.Actor) api.Token {
	return api.Token{Name: name, Hash: sha256.Sum256([]byte(secret)), Actors: actors}
}

func unmarshal(t testing.TB, b []byte, v any) {
	t.Helper()
	if err := jsonv2.Unmarshal(b, v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

func (n *fakeNode) Collection() fleet.Collection {
	return fleet.Collection{Tombstones: 3, Collected: 4, MinAgeSeconds: 86400, Blocked: "member c is silent", Floor: []fleet.Mark{}}
}

func (n *fakeNode) Rejoin(context.Context) error { return nil }

func (n *fakeNode) Reidentify(context.Context) error { return nil }

func (n *fakeNode) RepairClock(context.Context) error { return nil }
