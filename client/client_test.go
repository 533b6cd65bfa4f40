package client_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"driftless.dev/api"
	"driftless.dev/client"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fakeNode struct {
	store   *store.Store
	fleet   fleet.Fleet
	result  api.WaitResult
	waiting string
}

func (n *fakeNode) Store() *store.Store { return n.store }
func (n *fakeNode) Info() fleet.Node {
	return fleet.Node{Name: "a", Vector: []fleet.Position{{Seq: 1 << 60}}}
}
func (n *fakeNode) Fleet(context.Context, bool) (fleet.Fleet, error)                { return n.fleet, nil }
func (n *fakeNode) Wait(context.Context, api.Concern, store.Written) api.WaitResult { return n.result }
func (n *fakeNode) Ready() (bool, string)                                           { return n.waiting == "", n.waiting }

// open serves a node in memory and returns a client of it.
func open(t *testing.T, o client.Options, tokens ...api.Token) (*client.Client, *fakeNode) {
	t.Helper()
	s, err := store.Open(memory.NewEngine(), store.Config{Wall: time.Now, Random: rand.NewChaCha8([32]byte{3})})
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{store: s, fleet: fleet.Fleet{Name: "test", Converged: true, Members: []fleet.Member{}}}
	for _, k := range []resource.Kind{
		{APIVersion: "skill.example.dev/v1", Name: "Skill", Plural: "skills"},
		{APIVersion: "a.example.dev/v1", Name: "Note"}, {APIVersion: "b.example.dev/v1", Name: "Note"}, {APIVersion: "v1", Name: "Bare"},
	} {
		r, err := resource.KindResource(k, resource.Scope{})
		if err == nil {
			_, err = s.Put(t.Context(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	srv, err := api.New(api.Config{Node: n, Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	network, addr := "tcp", "127.0.0.1:0"
	if strings.HasPrefix(o.Node, "unix://") {
		network, addr = "unix", strings.TrimPrefix(o.Node, "unix://")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	if network == "tcp" {
		o.Node = "http://" + ln.Addr().String()
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, ln) }()
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		stop()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return c, n
}

func skill(name string) resource.Resource {
	return resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", Name: name, Spec: []byte(`{}`)}
}

// must fails the test on an error.
func must[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// What is written is read back to the byte, whatever a double would make of
// it, and is what the store has.
func TestRoundTrip(t *testing.T) {
	c, n := open(t, client.Options{Call: client.Call{Actor: "human"}})
	from := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	in := skill("a b ü")
	in.Scope = resource.Scope{Instance: "i", Project: "at las", Workspace: "w"}
	in.Labels, in.Annotations = map[string]string{"a": "1"}, map[string]string{"n": "<&>\u2028"}
	in.Finalizers, in.ValidFrom = []string{"example.dev/f"}, &from
	in.OwnerReferences = []resource.OwnerReference{{ID: resource.ID{7}.String(), Controller: true}}
	in.Spec = []byte(`{"z":9007199254740993,"huge":1e400,"one":1.0,"neg":-0,"text":"<€` + "\u2028" + `\u0001>"}`)
	w := must(c.Put(t.Context(), in))(t)
	if !w.Created || w.Seq != 5 || w.HLC != w.Resource.UpdatedHLC || w.Resource.WriterActor != resource.Human {
		t.Errorf("%+v", w)
	}
	if want := `{"huge":1e400,"neg":-0,"one":1.0,"text":"<€` + "\u2028" + `\u0001>","z":9007199254740993}`; string(w.Resource.Spec) != want {
		t.Errorf("spec %s", w.Resource.Spec)
	}
	stored := must(n.store.GetByID(t.Context(), w.Resource.ID))(t)
	for name, got := range map[string]resource.Resource{
		"written":  w.Resource,
		"by name":  must(c.Get(t.Context(), "skill", in.Scope, in.Name))(t),
		"by id":    must(c.GetByID(t.Context(), w.Resource.ID))(t),
		"resolved": must(c.GetResolved(t.Context(), "Skill.skill.example.dev", in.Scope, in.Name))(t),
		"listed":   must(c.List(t.Context(), client.Query{Kind: "skills", Scope: &in.Scope, Selector: "a in (1)", Name: in.Name}))(t)[0],
	} {
		if diff := cmp.Diff(stored, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Read, and written back as it is: nothing changes.
	again := must(c.Put(t.Context(), stored))(t)
	if again.Created || again.Resource.Digest != stored.Digest || again.Seq != w.Seq {
		t.Errorf("%+v", again)
	}
	st := stored
	st.Status = []byte(`{"n":18446744073709551617}`)
	if got := must(c.PutStatus(t.Context(), st))(t); string(got.Resource.Status) != string(st.Status) {
		t.Errorf("%s", got.Resource.Status)
	}
	st.ID, st.Status = "", nil
	if got := must(c.PutStatus(t.Context(), st))(t); got.Resource.Status != nil {
		t.Errorf("%s", got.Resource.Status)
	}
	st.Finalizers, st.OwnerReferences = []string{}, []resource.OwnerReference{}
	if got := must(c.Put(t.Context(), st))(t).Resource; got.Finalizers != nil || got.OwnerReferences != nil {
		t.Errorf("%+v", got)
	}
	if keys := must(c.Keys(t.Context(), client.Query{Kind: "skill"}))(t); len(keys) != 1 || keys[0] != stored.Key() {
		t.Errorf("%+v", keys)
	}
}

// Groups are told apart although the short name is one, and so is the group
// without a name.
func TestTwoGroups(t *testing.T) {
	c, _ := open(t, client.Options{})
	for _, v := range []string{"a.example.dev/v1", "b.example.dev/v1"} {
		must(c.Put(t.Context(), resource.Resource{APIVersion: v, Kind: "Note", Name: "n", Spec: []byte(`"` + v + `"`)}))(t)
	}
	if _, err := c.Get(t.Context(), "Note", resource.Scope{}, "n"); !errors.Is(err, resource.ErrAmbiguous) {
		t.Error(err)
	}
	if got := must(c.Get(t.Context(), "Note.b.example.dev", resource.Scope{}, "n"))(t); string(got.Spec) != `"b.example.dev/v1"` {
		t.Errorf("%s", got.Spec)
	}
	must(c.Put(t.Context(), resource.Resource{APIVersion: "v1", Kind: "Bare", Name: "n"}))(t)
}

func TestList_Pages(t *testing.T) {
	c, n := open(t, client.Options{})
	const many = 1203
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			r := skill(fmt.Sprintf("s%04d", i))
			if _, err := n.store.Put(context.Background(), r); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := must(c.List(t.Context(), client.Query{Kind: "skills"}))(t)
	for i, r := range all {
		if r.Name != fmt.Sprintf("s%04d", i) {
			t.Fatalf("%d: %s", i, r.Name)
		}
	}
	if len(all) != many {
		t.Error(len(all))
	}
	for range c.All(t.Context(), client.Query{Kind: "skills"}) {
		break
	}
}

func TestLife(t *testing.T) {
	c, n := open(t, client.Options{})
	person := c.With(client.Call{Actor: "human"})
	made := must(c.Create(t.Context(), resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", GenerateName: "s-"}))(t)
	at := client.At("Skill", resource.Scope{}, made.Resource.Name)
	if made.Resource.Name != "s-"+made.Resource.ID {
		t.Error(made.Resource.Name)
	}
	claimed := must(c.Claim(t.Context(), at))(t)
	if claimed.Epoch.Number != 1 {
		t.Errorf("%+v", claimed.Epoch)
	}
	holder := c.With(client.Call{Epoch: claimed.Epoch, Owner: "maker"})
	must(holder.Claim(t.Context(), client.ByID(made.Resource.ID)))(t)
	if _, err := holder.Delete(t.Context(), at); !errors.Is(err, resource.ErrFenced) {
		t.Error(err)
	}
	must(person.Put(t.Context(), made.Resource))(t)
	if _, err := c.Teardown(t.Context(), at); !errors.Is(err, resource.ErrOutranked) {
		t.Error(err)
	}
	if dry := must(person.With(client.Call{Actor: "human", DryRun: true}).Delete(t.Context(), at))(t); !dry.Resource.Deleted {
		t.Error("a dry run does not tell")
	}
	must(person.Release(t.Context(), at))(t)
	must(person.Teardown(t.Context(), at))(t)
	if got := must(person.Destroy(t.Context(), at))(t); !got.Resource.Deleted {
		t.Errorf("%+v", got)
	}

	n.result = api.WaitResult{Reached: 1, Wanted: 2, Missing: []string{"c d,", "ü"}, Superseded: true}
	waited := must(c.With(client.Call{Wait: "peers=2", WaitTimeout: time.Second}).Put(t.Context(), skill("w")))(t)
	if diff := cmp.Diff(&client.WaitResult{Reached: 1, Wanted: 2, Missing: []string{"c d,", "ü"}, Superseded: true}, waited.Wait); diff != "" || waited.Wait.Complete() {
		t.Error(diff)
	}
}

// Errors mean over HTTP what they mean in the node.
func TestErrors(t *testing.T) {
	c, _ := open(t, client.Options{})
	a := must(c.Put(t.Context(), skill("a")))(t).Resource
	owned := skill("owned")
	owned.Owner = "maker"
	must(c.Put(t.Context(), owned))(t)
	put := func(call client.Call, r resource.Resource) error {
		_, err := c.With(call).Put(t.Context(), r)
		return err
	}
	invalid := skill("x")
	invalid.Labels = map[string]string{"a": "b c"}
	created := func() error { _, err := c.Create(t.Context(), skill("a")); return err }
	_, absent := c.Get(t.Context(), "skill", resource.Scope{}, "zz")
	_, unknown := c.Get(t.Context(), "thing", resource.Scope{}, "zz")
	_, inUse := c.Delete(t.Context(), client.At("Kind", resource.Scope{}, "skills.v1.skill.example.dev"))
	_, notOwner := c.With(client.Call{Owner: "other"}).Delete(t.Context(), client.At("Skill", resource.Scope{}, "owned"))
	notJSON := skill("x")
	notJSON.Spec = []byte(`{"a":1,"a":2}`)
	for name, e := range map[string]struct{ got, want error }{
		"absent": {absent, resource.ErrNotFound}, "unknown kind": {unknown, resource.ErrNotFound},
		"conflict": {put(client.Call{IfMatch: strings.Repeat("0", 64)}, a), resource.ErrConflict},
		"must be":  {put(client.Call{IfMatch: "*"}, skill("zz")), resource.ErrConflict},
		"exists":   {created(), resource.ErrExists}, "exists by put": {put(client.Call{IfNoneMatch: true}, a), resource.ErrExists},
		"invalid": {put(client.Call{}, invalid), resource.ErrInvalid}, "not JSON": {put(client.Call{}, notJSON), resource.ErrInvalid},
		"no name": {put(client.Call{}, skill("")), resource.ErrInvalid},
		"in use":  {inUse, resource.ErrInUse}, "owner": {notOwner, resource.ErrOwnerConflict},
	} {
		if !errors.Is(e.got, e.want) || errors.Is(e.got, resource.ErrParked) {
			t.Errorf("%s: %v, want %v", name, e.got, e.want)
		}
	}
	must(c.With(client.Call{Owner: "maker"}).Delete(t.Context(), client.At("Skill", resource.Scope{}, "owned")))(t)
	if e, ok := errors.AsType[*client.Error](notOwner); !ok || e.Owner != "maker" || e.Status != http.StatusConflict {
		t.Errorf("%+v", notOwner)
	}
}

func TestUnreachable(t *testing.T) {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	gone := "http://" + ln.Addr().String()
	_ = ln.Close()
	c := must(client.New(client.Options{Node: gone, Token: "s3cret"}))(t)
	_, err := c.Node(t.Context())
	if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), gone) || !strings.Contains(err.Error(), "DRIFTLESS_NODE") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Node(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for status, body := range map[int]string{200: "<html>", 404: "404 page not found", 302: "", 201: `{}`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		c := must(client.New(client.Options{Node: srv.URL}))(t)
		if _, err := c.Put(t.Context(), skill("a")); !errors.Is(err, client.ErrProtocol) {
			t.Errorf("%d: %v", status, err)
		}
		c.Close()
		srv.Close()
	}
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	c = must(client.New(client.Options{Node: slow.URL, Timeout: 10 * time.Millisecond}))(t)
	if _, err := c.Node(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	c.Close()
}

// What an error advises depends on whether the call can have gone out: not
// when the handshake failed, maybe when the answer broke off.
func TestUnreachable_TellsWhetherTheCallWentOut(t *testing.T) {
	const doubt = "may have been carried out"
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	breaks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer breaks.Close()
	for node, sent := range map[string]bool{
		untrusted.URL: false, strings.Replace(plain.URL, "http://", "https://", 1): false, breaks.URL: true,
	} {
		c := must(client.New(client.Options{Node: node}))(t)
		_, err := c.Put(t.Context(), skill("a"))
		if !errors.Is(err, client.ErrUnreachable) || strings.Contains(err.Error(), doubt) != sent {
			t.Errorf("%s: %v", node, err)
		}
		c.Close()
	}
}

func TestNew_Node(t *testing.T) {
	for node, ok := range map[string]bool{
		"": true, "http://a:1": true, "https://a": true, "http://a:1/": true, "unix:///run/x": true,
		"a:1": false, "http://": false, "http://a/v1": false, "ftp://a": false, "http://u:s3cret@a": false, "http://a?x": false, "http://u:s3cret@a:b": false, "unix://x": false,
	} {
		_, err := client.New(client.Options{Node: node})
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", node, err)
		}
	}
	if _, err := client.New(client.Options{Token: "x"}); err == nil {
		t.Error("a token for whoever listens on the default port")
	}
}

func TestTokenAndSocket(t *testing.T) {
	token := api.Token{Name: "ada", Hash: sha256.Sum256([]byte("hers")), Actors: []resource.Actor{resource.Human}}
	c, n := open(t, client.Options{Node: "unix://" + filepath.Join(t.TempDir(), "s"), Token: "hers", Call: client.Call{Actor: "human"}}, token)
	must(c.Put(t.Context(), skill("a")))(t)
	_, err := c.With(client.Call{}).Put(t.Context(), skill("a"))
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != fleet.CodeForbidden {
		t.Error(err)
	}
	if err := errors.Join(c.Healthz(t.Context()), c.Readyz(t.Context())); err != nil {
		t.Error(err)
	}
	n.waiting = "nats: gone"
	if err := c.Readyz(t.Context()); err == nil || err.Error() != "not ready: nats: gone" {
		t.Error(err)
	}
}

func TestViews(t *testing.T) {
	c, n := open(t, client.Options{})
	if got := must(c.Node(t.Context()))(t); got.Name != "a" || got.Vector[0].Seq != 1<<60 {
		t.Errorf("%+v", got)
	}
	for _, f := range []func(context.Context) (fleet.Fleet, error){c.Fleet, c.FleetCheck, func(ctx context.Context) (fleet.Fleet, error) { return c.FleetWait(ctx, time.Second) }} {
		if got := must(f(t.Context()))(t); !got.Converged {
			t.Errorf("%+v", got)
		}
	}
	n.fleet = fleet.Fleet{Reason: "b is silent", Members: []fleet.Member{{Name: "b"}}}
	got, err := c.FleetWait(t.Context(), 20*time.Millisecond)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "b is silent") || len(got.Members) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if ks := must(c.Kinds(t.Context()))(t); len(ks) != 7 || ks[0].APIVersion != "a.example.dev/v1" {
		t.Errorf("%+v", ks)
	}
	must(c.Conflicts(t.Context()))(t)
	for l, err := range c.Ledger(t.Context(), client.LedgerQuery{Kind: "Skill", Scope: &resource.Scope{}, Name: "a", Reason: "later", Full: true}) {
		t.Errorf("ledger has %+v, %v", l, err)
	}
	if _, err := c.Loss(t.Context(), "7k3m"); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("loss: %v", err)
	}
	must(c.Parked(t.Context()))(t)
	must(c.Quarantine(t.Context()))(t)
}

// Fifty count in one record, and none is lost.
func TestUpdate(t *testing.T) {
	c, _ := open(t, client.Options{})
	r := skill("counter")
	r.Finalizers = []string{"f"}
	must(c.Put(t.Context(), r))(t)
	at := client.At("Skill", resource.Scope{}, "counter")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := c.Update(context.Background(), at, func(r *resource.Resource) error {
				spec, err := resource.DecodeSpec[struct{ N int }](*r)
				if err != nil {
					return err
				}
				spec.N++
				r.Spec, err = resource.EncodeSpec(spec)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := must(c.Get(t.Context(), "Skill", resource.Scope{}, "counter"))(t)
	if string(got.Spec) != `{"N":50}` || len(got.Finalizers) != 1 {
		t.Errorf("%s %v", got.Spec, got.Finalizers)
	}
	skipped := must(c.Update(t.Context(), at, func(*resource.Resource) error { return resource.ErrSkipUpdate }))(t)
	if skipped.Resource.Digest != got.Digest {
		t.Error("a skipped update wrote")
	}
	cleared := must(c.Update(t.Context(), client.ByID(got.ID), func(r *resource.Resource) error { r.Finalizers = nil; return nil }))(t)
	if cleared.Resource.Finalizers != nil {
		t.Errorf("%v", cleared.Resource.Finalizers)
	}
	stop := errors.New("stop")
	if _, err := c.Update(t.Context(), at, func(*resource.Resource) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	n := 0
	_, err := c.Update(t.Context(), at, func(r *resource.Resource) error {
		n++
		other := skill("counter")
		other.Spec = fmt.Appendf(nil, `{"other":%d}`, n)
		_, err := c.Put(t.Context(), other)
		r.Spec = []byte(`{"mine":1}`)
		return err
	})
	if !errors.Is(err, resource.ErrConflict) || n != 100 {
		t.Errorf("%d attempts: %v", n, err)
	}
}

func (n *fakeNode) Collection() fleet.Collection {
	return fleet.Collection{Tombstones: 3, Collected: 4, MinAgeSeconds: 86400, Blocked: "member c is silent", Floor: []fleet.Mark{}}
}

func (n *fakeNode) Rejoin(context.Context) error { return nil }

func (n *fakeNode) Reidentify(context.Context) error { return nil }

func (n *fakeNode) RepairClock(context.Context) error { return nil }
