package api

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/fleet"
)

// object is a JSON object of the document.
type object = map[string]any

// openAPI writes the OpenAPI 3.1 document of a route table.
func openAPI(routes []route) ([]byte, error) {
	d := document{schemas: object{}, paths: object{}}
	d.schemas["Resource"] = jsontext.Value(resourceSchema)
	problem := d.schema(typeOfProblem)
	for i := range routes {
		rt := &routes[i]
		item, ok := d.paths[rt.path].(object)
		if !ok {
			item = object{}
			d.paths[rt.path] = item
		}
		item[strings.ToLower(rt.method)] = d.operation(rt, problem)
	}
	return jsonv2.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "driftless", "version": "1",
			"description": "One node of a driftless fleet. A write is acknowledged when it is durable on this node; Driftless-Wait asks for more.",
		},
		"paths":    d.paths,
		"security": []object{{"token": []string{}}, {}},
		"components": object{
			"schemas":         d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}, jsonv2.Deterministic(true))
}

// document is the document in the making.
type document struct{ schemas, paths object }

func (d *document) operation(rt *route, problem object) object {
	op := object{
		"summary":    rt.summary,
		"parameters": parameters(rt),
		"responses":  d.responses(rt, problem),
	}
	if rt.body {
		op["requestBody"] = object{"required": true, "content": content("application/json", object{"$ref": "#/components/schemas/Resource"})}
	}
	if rt.open {
		op["security"] = []object{{}}
	}
	return op
}

func (d *document) responses(rt *route, problem object) object {
	ok := object{"description": "Done."}
	if media, isMedia := rt.answer.(string); isMedia {
		ok["content"] = content(media, object{})
	} else {
		ok["content"] = content("application/json", d.schemaOf(rt.answer))
	}
	if _, loss := rt.answer.(fleet.Loss); !loss && rt.answer != nil && strings.Contains(rt.path, "{") {
		ok["headers"] = headersOut(rt.op != "")
	}
	out := object{"200": ok, "default": object{"description": "What went wrong, with a stable code.", "content": content("application/problem+json", problem)}}
	if rt.op == "put" || rt.op == "create" {
		out["201"] = ok
	}
	if rt.path == "/healthz" || rt.path == "/readyz" {
		out[strconv.Itoa(http.StatusServiceUnavailable)] = object{"description": "No, and why.", "content": content("text/plain", object{})}
	}
	return out
}

func content(media string, schema object) object { return object{media: object{"schema": schema}} }

func parameters(rt *route) []object {
	out := []object{}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(rt.path, -1) {
		out = append(out, parameter("path", m[1]))
	}
	for _, name := range rt.query {
		out = append(out, parameter("query", name))
	}
	if rt.op != "" {
		for _, name := range []string{headerActor, headerOwner, headerEpoch, headerWait, headerWaitTimeout, "If-Match"} {
			out = append(out, parameter("header", name))
		}
	}
	if rt.op == "put" {
		out = append(out, parameter("header", "If-None-Match"))
	}
	return out
}

func parameter(in, name string) object {
	p := object{"in": in, "name": name, "schema": object{"type": "string"}, "description": describe(name)}
	switch name {
	case "limit":
		p["schema"] = object{"type": "integer", "minimum": 1}
	case "keys", "dry-run", "resolve", "full", "repair":
		p["schema"] = object{"type": "boolean", "default": false}
	case "strength":
		p["schema"] = object{"enum": []string{"delete", "teardown"}, "default": "delete"}
	case "until":
		p["schema"] = object{"const": "converged", "default": "converged"}
	case headerActor:
		p["schema"] = object{"enum": []string{"agent", "system", "human"}, "default": "agent"}
	}
	if in == "path" {
		p["required"] = true
	}
	return p
}

// describe explains a parameter or header.
func describe(name string) string {
	return map[string]string{
		"kind":            "A kind: its name, singular, plural or an alias, alone or followed by a dot and its group.",
		"scope":           "global, or instance=I,project=P,workspace=W with the empty parts left out.",
		"name":            "A resource's name.",
		"id":              "A record's 26-character id.",
		"selector":        "Label requirements: k, !k, k=v, k!=v, k in (a,b), k notin (a,b); a comma is and.",
		"limit":           "At most so many items; a listing of resources is whole without it, others have 200. An answer of 16 MiB ends early.",
		"continue":        "The last page's continue.",
		"keys":            "Answer with addresses (kind, scope, name) alone.",
		"resolve":         "Look in wider scopes too: without the workspace, without the project, globally.",
		"dry-run":         "Judge the write and answer as it would, without making it.",
		"strength":        "teardown leaves the record in place until it is destroyed.",
		"full":            "With the version that lost.",
		"entry":           "A ledger entry's name, or the beginning of it.",
		"reason":          "Why it lost: released, outranked, fenced, later, cloned, collected or overfull.",
		"repair":          "Repair, too; without it nothing is changed.",
		"from":            "The member to take from, by name or instance id.",
		"until":           "What is waited for.",
		"timeout":         "A duration such as 30s.",
		headerActor:       "Who authors the write, as far as the token allows it.",
		headerOwner:       "The calling controller's name.",
		headerEpoch:       "The holder's token, as a claim answered it.",
		headerWait:        "local, stream, peers=N or fleet: where the write shall be before the answer.",
		headerWaitTimeout: "How long; 5s without it. A wait that times out is still a success.",
		"If-Match":        "The ETag that the record must have, or * for any.",
		"If-None-Match":   "* writes only a name that is free.",
	}[name]
}

func headersOut(write bool) object {
	out := object{}
	add := func(name, text string) {
		out[name] = object{"description": text, "schema": object{"type": "string"}}
	}
	add("ETag", "The record's digest, the same on every node.")
	add(headerSeq, "This node's log: the write's entry, or the last before a read.")
	add(headerHLC, "The stamp.")
	add(headerEpoch, "The record's fence, when somebody claimed it.")
	if write {
		add(headerWaitResult, "What was waited for: reached=2/3 missing=c, and superseded when the write lost meanwhile.")
	}
	return out
}
