package api_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type operations map[string]struct {
	Summary    string `json:"summary"`
	Parameters []struct {
		In          string `json:"in"`
		Name        string `json:"name"`
		Required    bool   `json:"required"`
		Description string `json:"description"`
	} `json:"parameters"`
	Responses map[string]struct {
		Content map[string]struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

func openAPIPaths(t *testing.T, e *env) map[string]operations {
	t.Helper()
	var doc struct {
		OpenAPI string                `json:"openapi"`
		Paths   map[string]operations `json:"paths"`
	}
	unmarshal(t, e.ok(200, "GET", "/openapi.json", "").Body.Bytes(), &doc)
	if doc.OpenAPI != "3.1.0" {
		t.Error(doc.OpenAPI)
	}
	return doc.Paths
}

func filled(path string) string {
	return strings.NewReplacer("{kind}", "skills", "{scope}", "global", "{name}", "a", "{id}", "00000000000000000000000001").Replace(path)
}

// Every handler in the source is a route, and every route is in the document:
// with its path's parameters, a summary, an answer and an explanation of all.
func TestOpenAPI_CoversEveryRoute(t *testing.T) {
	e := newEnv(t)
	paths := openAPIPaths(t, e)
	found := map[string]bool{}
	for path, ops := range paths {
		for method, op := range ops {
			found[strings.ToUpper(method)+" "+path] = true
			if op.Summary == "" || len(op.Responses["200"].Content) == 0 || len(op.Responses["default"].Content) == 0 {
				t.Errorf("%s %s: %+v", method, path, op)
			}
			inPath := 0
			for _, p := range op.Parameters {
				if p.Description == "" || (p.In == "path") != p.Required {
					t.Errorf("%s %s: parameter %+v", method, path, p)
				}
				if p.In == "path" {
					inPath++
				}
			}
			if inPath != strings.Count(path, "{") {
				t.Errorf("%s %s: %d path parameters", method, path, inPath)
			}
			if a := e.do(strings.ToUpper(method), filled(path), ""); a.Code == http.StatusMethodNotAllowed || a.problem.Detail == "no such path: /openapi.json lists what there is" {
				t.Errorf("%s %s is in the document alone: %d", method, path, a.Code)
			}
		}
	}
	for _, want := range []string{
		"GET /v1/resources/{kind}", "GET /v1/scopes/{scope}/resources/{kind}", "POST /v1/scopes/{scope}/resources/{kind}",
		"GET /v1/scopes/{scope}/resources/{kind}/{name}", "PUT /v1/scopes/{scope}/resources/{kind}/{name}", "DELETE /v1/scopes/{scope}/resources/{kind}/{name}",
		"PUT /v1/scopes/{scope}/resources/{kind}/{name}/status", "POST /v1/scopes/{scope}/resources/{kind}/{name}/release", "POST /v1/scopes/{scope}/resources/{kind}/{name}/claim",
		"GET /v1/kinds", "GET /v1/ids/{id}", "PUT /v1/ids/{id}", "DELETE /v1/ids/{id}", "PUT /v1/ids/{id}/status", "POST /v1/ids/{id}/release", "POST /v1/ids/{id}/claim",
		"GET /v1/ledger", "GET /v1/ledger/{entry}", "GET /v1/conflicts", "GET /v1/parked", "GET /v1/quarantine", "GET /v1/node", "GET /v1/fleet", "POST /v1/fleet/check", "GET /v1/fleet/wait",
		"GET /healthz", "GET /readyz", "GET /metrics", "GET /openapi.json", "GET /",
	} {
		if !found[want] {
			t.Errorf("%s is not in the document", want)
		}
	}
	if rows := tableRows(t); len(found) != rows {
		t.Errorf("%d operations, %d rows in the route table", len(found), rows)
	}
}

// tableRows counts the rows of routes.go; those of recordRoutes serve two
// paths.
func tableRows(t *testing.T) (rows int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "routes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "handle" {
					rows++
					if fn.Name.Name == "recordRoutes" {
						rows++
					}
				}
			}
			return true
		})
	}
	return rows
}

// What is answered is what the document says.
func TestOpenAPI_AnswersMatch(t *testing.T) {
	e, o := newEnv(t), newOther(t)
	o.park(e)
	e.ok(201, "PUT", skills+"/a", `{"metadata":{"labels":{"a":"b"},"finalizers":["f"],"ownerReferences":[{"id":"00000000000000000000000001"}],"validFrom":"2026-01-01T00:00:00Z"},"spec":{}}`)
	e.ok(200, "POST", skills+"/a/claim", "")
	e.ok(200, "PUT", skills+"/a/status", `{"status":{}}`)
	e.ok(200, "DELETE", skills+"/a", "", human)
	paths := openAPIPaths(t, e)
	for path, ops := range paths {
		op, ok := ops["get"]
		if !ok {
			continue
		}
		a := e.do("GET", filled(path), "")
		code := strconv.Itoa(a.Code)
		if _, ok := op.Responses[code]; !ok {
			code = "default"
		}
		for media := range op.Responses[code].Content {
			if !strings.HasPrefix(a.Header().Get("Content-Type"), media) {
				t.Errorf("%s: %s, want %s", path, a.Header().Get("Content-Type"), media)
			}
			if strings.HasSuffix(media, "json") {
				validate(t, e, path, "#/paths/"+strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)+
					"/get/responses/"+code+"/content/"+strings.ReplaceAll(media, "/", "~1")+"/schema", a.Body.Bytes())
			}
		}
	}
}

func validate(t *testing.T, e *env, name, pointer string, body []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.ok(200, "GET", "/openapi.json", "").Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("openapi.json" + pointer)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v in %s", name, err, body)
	}
}
