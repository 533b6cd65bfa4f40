package api_test

import (
	"net/http"
	"strings"
	"testing"

	"driftless.dev/resource"
)

// The life of a resource over HTTP, by name.
func TestResource_Life(t *testing.T) {
	e := newEnv(t)
	a := e.ok(http.StatusCreated, "PUT", skills+"/summarise", `{"metadata":{"labels":{"a":"1"},"finalizers":["f"]},"spec":{"size":1}}`)
	r := a.resource(t)
	if r.APIVersion != "skill.example.dev/v1" || r.Kind != "Skill" || r.Name != "summarise" || string(r.Spec) != `{"size":1}` || r.WriterActor != resource.Agent {
		t.Fatalf("%+v", r)
	}
	if a.Header().Get("ETag") != `"`+r.Digest+`"` || a.Header().Get("Driftless-Seq") != "5" || a.Header().Get("Driftless-HLC") != r.UpdatedHLC.String() ||
		a.Header().Get("Location") != "/v1/scopes/global/resources/Skill.skill.example.dev/summarise" || a.Header().Get("Driftless-Epoch") != "" {
		t.Errorf("headers %v", a.Header())
	}
	if got := e.ok(http.StatusOK, "GET", a.Header().Get("Location"), ""); got.Body.String() != a.Body.String() || got.Header().Get("ETag") != a.Header().Get("ETag") {
		t.Errorf("read back %s", got.Body)
	}
	e.ok(http.StatusNotModified, "GET", skills+"/summarise", "", "If-None-Match: "+a.Header().Get("ETag"))
	if head := e.ok(http.StatusOK, "HEAD", skills+"/summarise", ""); head.Header().Get("ETag") != a.Header().Get("ETag") {
		t.Errorf("HEAD: %v", head.Header())
	}

	e.ok(http.StatusOK, "PUT", skills+"/summarise/status", `{"status":{"seen":1}}`)
	// Labels, annotations and spec are replaced; finalizers stay, and the
	// status is not the put's.
	r = e.ok(http.StatusOK, "PUT", skills+"/summarise", `{"metadata":{},"spec":{"size":2},"status":{"seen":99}}`).resource(t)
	if r.Labels != nil || len(r.Finalizers) != 1 || string(r.Status) != `{"seen":1}` || string(r.Spec) != `{"size":2}` {
		t.Errorf("after the second put: %+v", r)
	}
	r = e.ok(http.StatusOK, "DELETE", skills+"/summarise", "").resource(t)
	if r.Deleted || r.DeletionTimestamp == nil {
		t.Errorf("a finalizer stands: %+v", r)
	}
	e.refused(http.StatusConflict, "conflict", "finalizers stand", "POST", skills+"/summarise/destroy", "")
	r = e.ok(http.StatusOK, "PUT", skills+"/summarise", `{"metadata":{"finalizers":[]},"spec":{"size":2}}`).resource(t)
	if !r.Deleted {
		t.Errorf("the last finalizer is gone: %+v", r)
	}
	e.refused(http.StatusNotFound, "not_found", "summarise", "GET", skills+"/summarise", "")
	e.refused(http.StatusNotFound, "not_found", "summarise", "DELETE", skills+"/summarise", "")
	back := e.ok(http.StatusCreated, "PUT", skills+"/summarise", `{"metadata":{}}`).resource(t)
	if back.ID != r.ID || back.Incarnation == r.Incarnation {
		t.Errorf("returned as %+v", back)
	}
	if e.seen.writes["put ok"] != 4 || e.seen.writes["delete ok"] != 1 || e.seen.writes["delete rejected"] != 1 || e.seen.writes["destroy conflict"] != 1 || e.seen.writes["status ok"] != 1 {
		t.Errorf("counted %v", e.seen.writes)
	}
	if e.seen.served["GET /v1/scopes/{scope}/resources/{kind}/{name} Not Found"] != 1 {
		t.Errorf("served %v", e.seen.served)
	}
}

func TestResource_ByID(t *testing.T) {
	e := newEnv(t)
	r := e.ok(http.StatusCreated, "PUT", skills+"/a", `{"metadata":{},"spec":{}}`).resource(t)
	path := "/v1/ids/" + r.ID
	if got := e.ok(http.StatusOK, "GET", path, "").resource(t); got.Digest != r.Digest {
		t.Error(got)
	}
	if got := e.ok(http.StatusOK, "PUT", path, `{"metadata":{},"spec":{"size":7}}`).resource(t); string(got.Spec) != `{"size":7}` || got.ID != r.ID {
		t.Error(got)
	}
	e.refused(http.StatusUnprocessableEntity, "invalid", "metadata.name", "PUT", path, `{"metadata":{"name":"b"}}`)
	if got := e.ok(http.StatusOK, "PUT", path+"/status", `{"status":[1]}`).resource(t); string(got.Status) != `[1]` {
		t.Error(got)
	}
	claimed := e.ok(http.StatusOK, "POST", path+"/claim", "")
	if claimed.Header().Get("Driftless-Epoch") == "" {
		t.Error("a claim without its token")
	}
	e.ok(http.StatusOK, "PUT", path, `{"metadata":{}}`, human)
	e.ok(http.StatusOK, "POST", path+"/release", "", human)
	e.ok(http.StatusOK, "POST", path+"/claim", "")
	epoch := e.ok(http.StatusOK, "GET", path, "").Header().Get("Driftless-Epoch")
	e.ok(http.StatusOK, "POST", path+"/teardown", "", "Driftless-Epoch: "+epoch)
	if got := e.ok(http.StatusOK, "POST", path+"/destroy", "", "Driftless-Epoch: "+epoch).resource(t); !got.Deleted {
		t.Error(got)
	}
	e.refused(http.StatusNotFound, "not_found", r.ID, "PUT", path, `{"metadata":{}}`)
	// Named whole, a tombstone returns by its id. The fence outlives it.
	whole := `{"apiVersion":"skill.example.dev/v1","kind":"Skill","metadata":{"name":"a"}}`
	if got := e.ok(http.StatusCreated, "PUT", path, whole, "Driftless-Epoch: "+epoch).resource(t); got.ID != r.ID {
		t.Error(got)
	}
	if got := e.ok(http.StatusOK, "DELETE", path+"?strength=teardown", "", "Driftless-Epoch: "+epoch).resource(t); got.DeletionStrength != resource.Teardown {
		t.Error(got)
	}
	if e.seen.writes["teardown ok"] != 2 || e.seen.writes["claim ok"] != 2 || e.seen.writes["release ok"] != 1 {
		t.Errorf("counted %v", e.seen.writes)
	}
}

func TestResource_Create(t *testing.T) {
	e := newEnv(t)
	r := e.ok(http.StatusCreated, "POST", "/v1/scopes/project=atlas,workspace=w1/resources/sk", `{"metadata":{"generateName":"mem-"},"spec":{}}`).resource(t)
	if r.Name != "mem-"+r.ID || r.GenerateName != "" || r.Scope != (resource.Scope{Project: "atlas", Workspace: "w1"}) {
		t.Errorf("%+v", r)
	}
	e.ok(http.StatusOK, "GET", "/v1/scopes/workspace=w1,project=atlas/resources/skill/"+r.Name, "")
	e.ok(http.StatusCreated, "POST", skills, `{"metadata":{"name":"a"}}`)
	e.refused(http.StatusConflict, "exists", `"a"`, "POST", skills, `{"metadata":{"name":"a"}}`)
	e.refused(http.StatusUnprocessableEntity, "invalid", "generateName", "POST", skills, `{"metadata":{}}`)
	e.refused(http.StatusBadRequest, "invalid", "If-Match", "POST", skills, `{"metadata":{"name":"b"}}`, "If-Match: *")
}

func TestResource_Names(t *testing.T) {
	e := newEnv(t)
	for path, name := range map[string]string{"a%20b": "a b", "%C3%BC": "ü", "100%25": "100%", "a:b;c": "a:b;c", "status": "status", "%E6%97%A5+%3F%23": "日+?#"} {
		a := e.ok(http.StatusCreated, "PUT", skills+"/"+path, `{"metadata":{}}`)
		if got := a.resource(t); got.Name != name {
			t.Errorf("%s: %q", path, got.Name)
		}
		if got := e.ok(http.StatusOK, "GET", a.Header().Get("Location"), "").resource(t); got.Name != name {
			t.Errorf("%s: %q", a.Header().Get("Location"), got.Name)
		}
	}
	for _, path := range []string{"a%2fb", "a%2Cb", "a=b", "%2e%2e", "%ff", "%00", "u%CC%88", "%E2%80%A8", strings.Repeat("n", 254)} {
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			body := ""
			if method == "PUT" {
				body = `{"metadata":{}}`
			}
			e.refused(http.StatusBadRequest, "invalid", "path: ", method, skills+"/"+path, body)
		}
	}
	for _, scope := range []string{"atlas", "project=", "project=a,project=b", "project=_", "galaxy=x", "project=a%2fb"} {
		e.refused(http.StatusBadRequest, "invalid", "path: ", "GET", "/v1/scopes/"+scope+"/resources/skills", "")
	}
	e.refused(http.StatusBadRequest, "invalid", "26", "GET", "/v1/ids/nothing", "")
}

func TestResource_KindsInTwoGroups(t *testing.T) {
	e := newEnv(t)
	for _, word := range []string{"notes", "Note", "note"} {
		e.refused(http.StatusConflict, "ambiguous", "Note.a.example.dev", "GET", "/v1/resources/"+word, "")
	}
	for _, group := range []string{"a", "b"} {
		r := e.ok(http.StatusCreated, "PUT", "/v1/scopes/global/resources/Note."+group+".example.dev/n", `{"metadata":{},"spec":"`+group+`"}`).resource(t)
		if r.APIVersion != group+".example.dev/v1" {
			t.Error(r.APIVersion)
		}
	}
	if got := e.ok(http.StatusOK, "GET", "/v1/resources/notes.b.example.dev", "").Body.String(); !strings.Contains(got, `"spec":"b"`) || strings.Contains(got, `"spec":"a"`) {
		t.Error(got)
	}
	e.refused(http.StatusUnprocessableEntity, "invalid", "apiVersion", "PUT", "/v1/scopes/global/resources/Note.a.example.dev/n", `{"apiVersion":"b.example.dev/v1","metadata":{}}`)
	e.refused(http.StatusNotFound, "not_found", "driftless kinds", "GET", "/v1/resources/nothings", "")
}

// The body agrees with the path, or is refused with the field's name.
func TestResource_BodyAgreesWithPath(t *testing.T) {
	e := newEnv(t)
	for field, body := range map[string]string{
		"kind":           `{"kind":"Note","metadata":{}}`,
		"apiVersion":     `{"apiVersion":"other.example.dev/v1","metadata":{}}`,
		"metadata.name":  `{"metadata":{"name":"other"}}`,
		"metadata.scope": `{"metadata":{"scope":{"project":"atlas"}}}`,
	} {
		e.refused(http.StatusUnprocessableEntity, "invalid", field+":", "PUT", skills+"/a", body)
		e.refused(http.StatusUnprocessableEntity, "invalid", field+":", "PUT", skills+"/a/status", body[:len(body)-1]+`,"status":1}`)
	}
	e.refused(http.StatusUnprocessableEntity, "invalid", "skill.example.dev/v9", "PUT", skills+"/a", `{"apiVersion":"skill.example.dev/v9","metadata":{}}`)
	e.refused(http.StatusUnprocessableEntity, "invalid", "status", "PUT", skills+"/a/status", `{"metadata":{}}`)
	e.refused(http.StatusUnprocessableEntity, "invalid", "not registered", "PUT", "/v1/scopes/global/resources/widgets/a", `{"apiVersion":"w.example.dev/v1","kind":"widgets","metadata":{}}`)
	e.refused(http.StatusNotFound, "not_found", "widgets", "PUT", "/v1/scopes/global/resources/widgets/a", `{"metadata":{}}`)
	e.ok(http.StatusCreated, "PUT", skills+"/a", `{"apiVersion":"skill.example.dev/v1","kind":"Skill","metadata":{"name":"a","generateName":"b","id":"x","version":9,"desired":{"hlc":1}}}`)
}

func TestList(t *testing.T) {
	e := newEnv(t)
	for _, at := range []string{"global/resources/skills/a", "global/resources/skills/b", "project=p/resources/skills/a"} {
		e.ok(http.StatusCreated, "PUT", "/v1/scopes/"+at, `{"metadata":{"labels":{"n":"`+at[len(at)-1:]+`"}},"spec":{"size":9007199254740993}}`)
	}
	for _, c := range []struct {
		query string
		names string // scope/name of the items
		more  bool
	}{
		{"/v1/resources/skills", "global/a global/b project=p/a", false},
		{"/v1/scopes/global/resources/skills", "global/a global/b", false},
		{"/v1/scopes/project=p/resources/skills", "project=p/a", false},
		{"/v1/scopes/project=q/resources/skills", "", false},
		{"/v1/resources/skills?name=a", "global/a project=p/a", false},
		{"/v1/resources/skills?selector=n%20in%20(b)", "global/b", false},
		{"/v1/resources/skills?limit=2", "global/a global/b", true},
		{"/v1/resources/skills?limit=3", "global/a global/b project=p/a", false},
	} {
		names, next := e.list(c.query)
		if names != c.names || (next != "") != c.more {
			t.Errorf("%s: %q, continue %q", c.query, names, next)
		}
		if c.more {
			if names, next := e.list(c.query + "&continue=" + next); names != "project=p/a" || next != "" {
				t.Errorf("the second page: %q, continue %q", names, next)
			}
		}
	}
	if got := e.ok(http.StatusOK, "GET", "/v1/resources/skills?keys=true", "").Body.String(); !strings.Contains(got, `{"kind":"Skill.skill.example.dev","name":"a","scope":"project=p"}`) &&
		!strings.Contains(got, `{"kind":"Skill.skill.example.dev","scope":"project=p","name":"a"}`) {
		t.Error(got)
	}
	for query, says := range map[string]string{
		"limit=0": "limit", "limit=x": "limit", "selector=a<3": "selector", "continue=zz": "continue", "keys=yes": "keys",
		"keys=true&limit=1": "limit", "lim=1": "lim", "limit=1&limit=2": "twice", "name=": "name", "a=%zz": "query", "dry-run=true": "dry-run",
	} {
		e.refused(http.StatusBadRequest, "invalid", says, "GET", "/v1/resources/skills?"+strings.ReplaceAll(query, "<", "%3C"), "")
	}
	e.ok(http.StatusOK, "GET", "/v1/scopes/project=p,workspace=w/resources/skills/a?resolve=true", "")
	e.refused(http.StatusNotFound, "not_found", "wider", "GET", "/v1/scopes/project=p/resources/skills/zz?resolve=true", "")
}

func (e *env) list(target string) (names, next string) {
	e.Helper()
	a := e.ok(http.StatusOK, "GET", target, "")
	var l struct {
		Items    []resource.Resource `json:"items"`
		Continue *string             `json:"continue"`
	}
	unmarshal(e.T, a.Body.Bytes(), &l)
	var all []string
	for _, r := range l.Items {
		all = append(all, r.Scope.String()+"/"+r.Name)
	}
	if l.Items == nil || l.Continue == nil {
		e.Fatalf("%s", a.Body)
	}
	return strings.Join(all, " "), *l.Continue
}

// A listing longer than a chunk is whole.
func TestList_Streams(t *testing.T) {
	e := newEnv(t)
	const n = 257
	for range n {
		if _, err := e.node.store.Put(t.Context(), resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", GenerateName: "s-"}); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]int{"/v1/resources/skills": n, "/v1/resources/skills?limit=150": 150} {
		if names, _ := e.list(target); len(strings.Fields(names)) != want {
			t.Errorf("%s: %d items", target, len(strings.Fields(names)))
		}
	}
}
