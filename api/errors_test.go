package api_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// Every code, its status and what it tells.
func TestErrors(t *testing.T) {
	other := newOther(t)
	for _, c := range []struct {
		name                 string
		prepare              func(*env)
		method, target, body string
		head                 []string
		status               int
		code, says           string
	}{
		{name: "no such path", method: "GET", target: "/v2/anything", status: 404, code: "not_found", says: "openapi"},
		{name: "no such method", method: "PATCH", target: skills + "/a", status: 405, code: "method_not_allowed", says: "DELETE, GET, PUT"},
		{name: "unclean path", method: "GET", target: skills + "//a", status: 404, code: "not_found"},
		{name: "trailing slash", method: "GET", target: skills + "/", status: 404, code: "not_found"},
		{name: "absent", method: "GET", target: skills + "/zz", status: 404, code: "not_found", says: `"zz"`},
		{name: "not JSON", method: "PUT", target: skills + "/a", body: `{"metadata":`, status: 400, code: "invalid", says: "not JSON"},
		{name: "no body", method: "PUT", target: skills + "/a", status: 400, code: "invalid", says: "not JSON"},
		{name: "not a form", method: "PUT", target: skills + "/a", body: `[]`, status: 422, code: "invalid"},
		{name: "a duplicate", method: "PUT", target: skills + "/a", body: `{"metadata":{},"metadata":{}}`, status: 422, code: "invalid", says: "duplicate"},
		{name: "schema", method: "PUT", target: skills + "/a", body: `{"metadata":{},"spec":{"size":-1}}`, status: 422, code: "invalid", says: "spec/size"},
		{name: "labels", method: "PUT", target: skills + "/a", body: `{"metadata":{"labels":{"a":"b c"}}}`, status: 422, code: "invalid", says: "labels/a"},
		{name: "actor", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{"Driftless-Actor: god"}, status: 400, code: "invalid", says: "Driftless-Actor"},
		{name: "two actors", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{human, "Driftless-Actor: agent"}, status: 400, code: "invalid", says: "twice"},
		{name: "wait", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{"Driftless-Wait: peers=0"}, status: 400, code: "invalid", says: "Driftless-Wait"},
		{name: "wait timeout", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{"Driftless-Wait-Timeout: 5"}, status: 400, code: "invalid", says: "duration"},
		{name: "epoch", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{"Driftless-Epoch: 1"}, status: 400, code: "invalid", says: "Driftless-Epoch"},
		{name: "owner's name", method: "DELETE", target: skills + "/a", head: []string{"Driftless-Owner: a/b"}, status: 400, code: "invalid", says: "Driftless-Owner"},
		{name: "owners disagree", method: "PUT", target: skills + "/a", body: `{"metadata":{"owner":"x"}}`, head: []string{"Driftless-Owner: y"}, status: 422, code: "invalid", says: "metadata.owner"},
		{name: "weak etag", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-Match: W/"00"`}, status: 400, code: "invalid", says: "If-Match"},
		{name: "empty etag", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-Match: ""`}, status: 400, code: "invalid", says: "If-Match"},
		{name: "if-none-match of a digest", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-None-Match: "00"`}, status: 400, code: "invalid", says: "If-None-Match"},
		{name: "body of an action", method: "POST", target: skills + "/a/claim", body: `{}`, status: 400, code: "invalid", says: "no body"},
		{name: "strength", method: "DELETE", target: skills + "/a?strength=hard", status: 400, code: "invalid", says: "strength"},
		{name: "dry-run", method: "DELETE", target: skills + "/a?dry-run=1", status: 400, code: "invalid", says: "dry-run"},
		{name: "conflict", prepare: putA, method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-Match: "` + strings.Repeat("0", 64) + `"`}, status: 412, code: "conflict", says: "re-read"},
		{name: "conflict with what is absent", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-Match: "` + strings.Repeat("0", 64) + `"`}, status: 412, code: "conflict"},
		{name: "must exist", method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-Match: *`}, status: 412, code: "conflict", says: "does not exist"},
		{name: "must not exist", prepare: putA, method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, head: []string{`If-None-Match: *`}, status: 412, code: "exists"},
		{name: "outranked", prepare: func(e *env) { e.ok(201, "PUT", skills+"/a", `{"metadata":{}}`, human) }, method: "DELETE", target: skills + "/a", status: 409, code: "outranked", says: "write as a person"},
		{name: "release by an agent", prepare: putA, method: "POST", target: skills + "/a/release", status: 409, code: "outranked", says: "person"},
		{name: "fenced", prepare: func(e *env) { putA(e); e.ok(200, "POST", skills+"/a/claim", "") }, method: "PUT", target: skills + "/a", body: `{"metadata":{}}`,
			head: []string{"Driftless-Epoch: 9/1.0@00000000000000000000000001"}, status: 409, code: "fenced", says: "claim"},
		{name: "owner", prepare: func(e *env) { e.ok(201, "PUT", skills+"/a", `{"metadata":{"owner":"maker"}}`) }, method: "DELETE", target: skills + "/a", status: 409, code: "owner", says: "maker"},
		{name: "in use", prepare: putA, method: "DELETE", target: "/v1/scopes/global/resources/kinds/skills.v1.skill.example.dev", status: 409, code: "in_use", says: "live records"},
		{name: "parked", prepare: other.park, method: "PUT", target: "/v1/scopes/global/resources/Other/p", body: `{"apiVersion":"other.example.dev/v1","kind":"Other","metadata":{}}`, status: 409, code: "parked", says: "kind first"},
		{name: "too large a body", method: "PUT", target: skills + "/a", body: `{"metadata":{},"spec":"` + strings.Repeat("a", 10<<20) + `"}`, status: 413, code: "too_large", says: "body is over"},
		{name: "too large a record", method: "PUT", target: skills + "/a", body: `{"metadata":{},"spec":{"x":"` + strings.Repeat("a", 8<<20) + `"}}`, status: 413, code: "too_large", says: "encoded"},
		{name: "clock", prepare: func(e *env) { e.node.set(func() { e.node.guard = errGuard }) }, method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, status: 503, code: "clock", says: "ahead"},
		{name: "disk full", prepare: failWith(store.ErrNoSpace), method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, status: 507, code: "no_space"},
		{name: "commit failed", prepare: failWith(errors.New("EIO")), method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, status: 503, code: "unavailable", says: "reopened"},
		{name: "closed", prepare: func(e *env) { _ = e.node.store.Close() }, method: "PUT", target: skills + "/a", body: `{"metadata":{}}`, status: 503, code: "unavailable"},
		{name: "damaged", prepare: fleetFails(store.ErrDamaged), method: "GET", target: "/v1/fleet", status: 500, code: "damaged"},
		{name: "deadline", prepare: fleetFails(context.DeadlineExceeded), method: "GET", target: "/v1/fleet", status: 504, code: "timeout"},
		{name: "shutting down", prepare: fleetFails(context.Canceled), method: "GET", target: "/v1/fleet", status: 503, code: "unavailable"},
		{name: "anything else", prepare: fleetFails(errors.New("secret of the inside")), method: "GET", target: "/v1/fleet", status: 500, code: "internal", says: "log"},
		{name: "a panic", prepare: func(e *env) {
			e.node.set(func() { e.node.fleet = func() (fleet.Fleet, error) { panic("ouch") } })
		}, method: "GET", target: "/v1/fleet", status: 500, code: "internal", says: "log"},
		{name: "no metrics", method: "GET", target: "/metrics", status: 404, code: "not_found"},
		{name: "until", method: "GET", target: "/v1/fleet/wait?until=noon", status: 400, code: "invalid", says: "until"},
		{name: "view's limit", method: "GET", target: "/v1/ledger?limit=-1", status: 400, code: "invalid", says: "limit"},
		{name: "ledger's id", method: "GET", target: "/v1/ledger?id=x", status: 400, code: "invalid", says: "query"},
		{name: "ledger's scope", method: "GET", target: "/v1/ledger?scope=x", status: 400, code: "invalid", says: "query"},
		{name: "ledger's reason", method: "GET", target: "/v1/ledger?reason=", status: 400, code: "invalid", says: "reason is empty"},
		{name: "ledger's continue", method: "GET", target: "/v1/ledger?continue=zz", status: 400, code: "invalid", says: "not of this listing"},
		{name: "no entry", method: "GET", target: "/v1/ledger/7k3m", status: 404, code: "not_found", says: "7k3m"},
		{name: "not an entry's name", method: "GET", target: "/v1/ledger/a%20b", status: 400, code: "invalid", says: "no entry"},
		{name: "ledger's full", method: "GET", target: "/v1/ledger?full=all", status: 400, code: "invalid", says: "full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEnv(t)
			if c.prepare != nil {
				c.prepare(e)
			}
			a := e.refused(c.status, c.code, c.says, c.method, c.target, c.body, c.head...)
			if a.Header().Get("ETag") != "" || strings.Contains(a.Body.String(), "secret of the inside") {
				t.Errorf("%v %s", a.Header(), a.Body)
			}
			if c.code == "owner" && (a.Header().Get("Driftless-Owner") != "maker" || a.problem.Owner != "maker") {
				t.Errorf("%v %+v", a.Header(), a.problem)
			}
			// The node's own failures are logged, once, and only they.
			if lines := strings.Count(e.log.String(), "\n"); (c.status >= 500 && c.code != "timeout") != (lines == 1) {
				t.Errorf("logged %d lines: %s", lines, e.log)
			}
		})
	}
}

func putA(e *env) { e.ok(201, "PUT", skills+"/a", `{"metadata":{}}`) }

func failWith(err error) func(*env) {
	return func(e *env) { e.node.engine.FailCommit(func() error { return err }) }
}

func fleetFails(err error) func(*env) {
	return func(e *env) {
		e.node.set(func() { e.node.fleet = func() (fleet.Fleet, error) { return fleet.Fleet{}, err } })
	}
}

// other is a second node's store, from which records are merged.
type other struct {
	*testing.T
	*store.Store
}

func newOther(t *testing.T) *other {
	t.Helper()
	s, err := store.Open(memory.NewEngine(), store.Config{
		Wall: func() time.Time { return time.UnixMilli(1_767_225_500_000) }, Random: rand.NewChaCha8([32]byte{2}), Secret: [32]byte{1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := &other{t, s}
	for _, k := range append(kinds(), resource.Kind{APIVersion: "other.example.dev/v1", Name: "Other"}) {
		r, err := resource.KindResource(k, resource.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		o.put(r)
	}
	return o
}

func (o *other) put(r resource.Resource) resource.Resource {
	o.Helper()
	out, err := o.Put(context.Background(), r)
	if err != nil {
		o.Fatal(err)
	}
	return out
}

func (o *other) mergeInto(e *env, r resource.Resource) {
	o.Helper()
	if _, err := e.node.store.Merge(context.Background(), r); err != nil {
		o.Fatal(err)
	}
}

// park brings a record of a kind that the node does not know.
func (o *other) park(e *env) {
	o.mergeInto(e, o.put(resource.Resource{APIVersion: "other.example.dev/v1", Kind: "Other", Name: "p"}))
}

// A view of large records ends early, and says so, rather than grow without
// bound.
func TestViews_EndEarlyByBytes(t *testing.T) {
	e, o := newEnv(t), newOther(t)
	for i := range 5 {
		o.mergeInto(e, o.put(resource.Resource{
			APIVersion: "other.example.dev/v1", Kind: "Other", Name: fmt.Sprint("p", i), Spec: []byte(`"` + strings.Repeat("x", 4<<20) + `"`),
		}))
	}
	var parked fleet.List[resource.Resource]
	a := e.ok(200, "GET", "/v1/parked", "")
	unmarshal(t, a.Body.Bytes(), &parked)
	if len(parked.Items) != 3 || !parked.Truncated || a.Body.Len() > 16<<20 {
		t.Errorf("%d records in %d bytes, truncated %t", len(parked.Items), a.Body.Len(), parked.Truncated)
	}
}

func TestViews(t *testing.T) {
	e, o := newEnv(t), newOther(t)
	o.park(e)
	var parked fleet.List[resource.Resource]
	unmarshal(t, e.ok(200, "GET", "/v1/parked", "").Body.Bytes(), &parked)
	if len(parked.Items) != 1 || parked.Items[0].Name != "p" || parked.Truncated {
		t.Errorf("parked %+v", parked)
	}

	skill := resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", Name: "twice", Spec: []byte(`{"size":1}`)}
	theirs := o.put(skill)
	putTwice := e.ok(201, "PUT", skills+"/twice", `{"metadata":{}}`).resource(t)
	o.mergeInto(e, theirs)
	var conflicts fleet.List[fleet.NameConflict]
	unmarshal(t, e.ok(200, "GET", "/v1/conflicts", "").Body.Bytes(), &conflicts)
	if len(conflicts.Items) != 1 || conflicts.Items[0].Holder.ID != theirs.ID || conflicts.Items[0].Others[0].ID != putTwice.ID || conflicts.Items[0].Kind != "Skill.skill.example.dev" {
		t.Errorf("conflicts %+v", conflicts)
	}

	// Both change one record: the older loses, and is kept.
	e.ok(200, "PUT", "/v1/ids/"+theirs.ID, `{"metadata":{},"spec":{"size":2}}`)
	skill.Spec = []byte(`{"size":3}`)
	o.mergeInto(e, o.put(skill))
	var ledger fleet.List[fleet.Loss]
	unmarshal(t, e.ok(200, "GET", "/v1/ledger?full=true", "").Body.Bytes(), &ledger)
	if len(ledger.Items) != 1 || ledger.Items[0].Register != "desired" || ledger.Items[0].ID != theirs.ID || !strings.Contains(string(ledger.Items[0].Resource), `"spec":{"size":3}`) {
		t.Errorf("ledger %+v", ledger)
	}
	if got := e.ok(200, "GET", "/v1/ledger", "").Body.String(); strings.Contains(got, "spec") {
		t.Errorf("the short ledger: %s", got)
	}

	rec, err := resource.FromEnvelope(theirs)
	if err != nil {
		t.Fatal(err)
	}
	from := resource.ID{9}
	for i := range 2 {
		rec.SyncVersion += uint64(i)
		if err := e.node.store.Quarantine([]store.Incoming{{Record: rec, From: from}}, "signature"); err != nil {
			t.Fatal(err)
		}
	}
	var quarantine fleet.List[fleet.Quarantined]
	unmarshal(t, e.ok(200, "GET", "/v1/quarantine?limit=1", "").Body.Bytes(), &quarantine)
	if len(quarantine.Items) != 1 || !quarantine.Truncated || quarantine.Items[0].From != from.String() || quarantine.Items[0].Name != "twice" || quarantine.Items[0].Reason != "signature" {
		t.Errorf("quarantine %+v", quarantine)
	}

	var ks fleet.List[resource.Kind]
	unmarshal(t, e.ok(200, "GET", "/v1/kinds", "").Body.Bytes(), &ks)
	var names []string
	for _, k := range ks.Items {
		names = append(names, k.GroupKind().String())
	}
	if got := strings.Join(names, " "); got != "Note.a.example.dev Note.b.example.dev Kind.core.driftless.dev Member.core.driftless.dev Policy.core.driftless.dev Gone.gone.example.dev Skill.skill.example.dev" {
		t.Error(got)
	}
}

func TestNodeViews(t *testing.T) {
	e := newEnv(t)
	var n fleet.Node
	unmarshal(t, e.ok(200, "GET", "/v1/node", "").Body.Bytes(), &n)
	if n.Name != "a<b>" || !strings.Contains(e.ok(200, "GET", "/v1/node", "").Body.String(), `"realms":[]`) {
		t.Errorf("%+v", n)
	}
	e.ok(200, "GET", "/v1/fleet", "")
	if e.node.asked != 0 {
		t.Error("a look asked the members")
	}
	e.ok(200, "POST", "/v1/fleet/check", "")
	if e.node.asked != 1 {
		t.Error("a check did not ask the members")
	}
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if got := e.ok(200, "GET", path, "").Body.String(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	page := e.ok(200, "GET", "/", "")
	if body := page.Body.String(); !strings.Contains(body, "a&lt;b&gt;") || !strings.Contains(body, "c0ffee") || strings.Contains(body, "a<b>") || page.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("%s", body)
	}
	e.node.set(func() { e.node.waiting = "nats: connection refused" })
	if got := e.ok(503, "GET", "/readyz", "").Body.String(); got != "not ready: nats: connection refused\n" {
		t.Error(got)
	}
	if page := e.ok(200, "GET", "/", "").Body.String(); !strings.Contains(page, "not ready: nats: connection refused") {
		t.Error(page)
	}
	failWith(errors.New("EIO"))(e)
	e.do("PUT", skills+"/a", `{"metadata":{}}`)
	e.ok(503, "GET", "/healthz", "")
}

func TestFleetWait(t *testing.T) {
	e := newEnv(t)
	calls := 0
	e.node.set(func() {
		e.node.fleet = func() (fleet.Fleet, error) {
			calls++
			return fleet.Fleet{Converged: calls > 2, Reason: "c is behind", Members: []fleet.Member{{Name: "c"}}}, nil
		}
	})
	e.ok(200, "GET", "/v1/fleet/wait?until=converged&timeout=10s", "")
	calls = -1 << 20
	a := e.refused(504, "timeout", "c is behind", "GET", "/v1/fleet/wait?timeout=30ms", "")
	if a.problem.Fleet == nil || a.problem.Fleet.Members[0].Name != "c" {
		t.Errorf("%+v", a.problem)
	}
}

func TestWriteConcern(t *testing.T) {
	e := newEnv(t)
	put := func(head ...string) string {
		a := e.do("PUT", skills+"/a", `{"metadata":{},"spec":"`+strings.Join(head, "")+`"}`, head...)
		if a.Code != 200 && a.Code != 201 {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
		return a.Header().Get("Driftless-Wait-Result")
	}
	if got := put(); got != "" || len(e.node.waits) != 0 {
		t.Errorf("a local write waited: %q", got)
	}
	e.node.result = api.WaitResult{Reached: 3, Wanted: 3}
	if got := put("Driftless-Wait: peers=3"); got != "reached=3/3" {
		t.Error(got)
	}
	e.node.result = api.WaitResult{Reached: 2, Wanted: 3, Missing: []string{"c d", "ü"}, Superseded: true}
	if got := put("Driftless-Wait: fleet", "Driftless-Wait-Timeout: 10ms"); got != "reached=2/3 missing=c%20d,%C3%BC superseded" {
		t.Error(got)
	}
	if want := []api.Concern{{Level: "peers", Peers: 3}, {Level: "fleet"}}; len(e.node.waits) != 2 || e.node.waits[0] != want[0] || e.node.waits[1] != want[1] {
		t.Errorf("%+v", e.node.waits)
	}
	e.do("DELETE", skills+"/a?dry-run=true", "", "Driftless-Wait: stream")
	if len(e.node.waits) != 2 {
		t.Error("a dry run waited")
	}
	for _, s := range []string{"local", "stream", "peers=7", "fleet"} {
		if c, err := api.ParseConcern(s); err != nil || c.String() != s {
			t.Errorf("%s: %v, %v", s, c, err)
		}
	}
}

func TestDryRun(t *testing.T) {
	e := newEnv(t)
	before := e.node.store.Head()
	e.ok(http.StatusCreated, "PUT", skills+"/a?dry-run=true", `{"metadata":{}}`)
	e.refused(422, "invalid", "spec/size", "PUT", skills+"/a?dry-run=true", `{"metadata":{},"spec":{"size":"x"}}`)
	if e.node.store.Head() != before || len(e.seen.writes) != 0 {
		t.Errorf("a dry run wrote or was counted: %v", e.seen.writes)
	}
}

func TestIfMatch(t *testing.T) {
	e := newEnv(t)
	tag := e.ok(201, "PUT", skills+"/a", `{"metadata":{}}`, "If-None-Match: *").Header().Get("ETag")
	tag = e.ok(200, "PUT", skills+"/a", `{"metadata":{},"spec":1}`, "If-Match: "+tag).Header().Get("ETag")
	e.ok(200, "PUT", skills+"/a", `{"metadata":{},"spec":2}`, "If-Match: *")
	e.refused(412, "conflict", "re-read", "DELETE", skills+"/a", "", "If-Match: "+tag)
	e.refused(412, "conflict", "re-read", "PUT", skills+"/a/status", `{"status":1}`, "If-Match: "+tag)
	e.ok(200, "DELETE", skills+"/a", "", "If-Match: *")
}
