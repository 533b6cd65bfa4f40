package api

import (
	"net/http"
	"slices"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

// route is one method of one path.
type route struct {
	method, path string
	summary      string
	handle       func(*call) error
	// query lists the parameters that are known.
	query []string
	// body: a resource is read, so what is invalid is the body.
	body bool
	// op is the write that the route makes, empty for none.
	op string
	// open routes answer callers that nobody knows.
	open bool
	// answer is a value of the type that is answered with (its schema), or the
	// media type of something else.
	answer any
}

const (
	everyScope = "/v1/resources/{kind}"
	inScope    = "/v1/scopes/{scope}/resources/{kind}"
	named      = inScope + "/{name}"
	byID       = "/v1/ids/{id}"
)

// routes is everything there is.
func routes() []route {
	return slices.Concat(resourceRoutes(), recordRoutes(named, "resource", "resolve"), recordRoutes(byID, "record of an id"), viewRoutes(), nodeRoutes(), integrityRoutes())
}

func resourceRoutes() []route {
	listing := []string{"selector", "limit", "continue", "name", "keys"}
	list := fleet.List[resource.Resource]{}
	return []route{
		{method: http.MethodGet, path: everyScope, summary: "List a kind in every scope, by scope then name", handle: (*call).listEverywhere, query: listing, answer: list},
		{method: http.MethodGet, path: inScope, summary: "List a kind in one scope, by name", handle: (*call).listScope, query: listing, answer: list},
		{method: http.MethodPost, path: inScope, summary: "Create a resource under a free or a generated name", handle: (*call).create, query: []string{"dry-run"}, body: true, op: "create", answer: resource.Resource{}},
	}
}

// recordRoutes are those of one record, addressed by name or by id.
func recordRoutes(path, what string, reading ...string) []route {
	dry := []string{"dry-run"}
	r := resource.Resource{}
	return []route{
		{method: http.MethodGet, path: path, summary: "Read the " + what, handle: (*call).get, query: reading, answer: r},
		{method: http.MethodPut, path: path, summary: "Write labels, annotations and spec of the " + what, handle: (*call).put, query: dry, body: true, op: "put", answer: r},
		{method: http.MethodDelete, path: path, summary: "Ask for the deletion of the " + what, handle: (*call).remove, query: []string{"dry-run", "strength"}, op: "delete", answer: r},
		{method: http.MethodPut, path: path + "/status", summary: "Write the status of the " + what, handle: (*call).putStatus, query: dry, body: true, op: "status", answer: r},
		{method: http.MethodPost, path: path + "/release", summary: "As a person, give the " + what + " back to automation", handle: (*call).release, query: dry, op: "release", answer: r},
		{method: http.MethodPost, path: path + "/claim", summary: "Take the " + what + " for a new holder, whose token is the answer's Driftless-Epoch", handle: (*call).claim, query: dry, op: "claim", answer: r},
		{method: http.MethodPost, path: path + "/teardown", summary: "Ask the holders of the " + what + " to wind it up; it stays until it is destroyed", handle: (*call).teardown, query: dry, op: "teardown", answer: r},
		{method: http.MethodPost, path: path + "/destroy", summary: "Complete the teardown of the " + what + ", once no finalizer stands", handle: (*call).destroy, query: dry, op: "destroy", answer: r},
	}
}

func viewRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/kinds", summary: "List the registered kinds, by apiVersion then name", handle: (*call).kinds, answer: fleet.List[resource.Kind]{}},
		{method: http.MethodGet, path: "/v1/conflicts", summary: "List the names that several live records claim", handle: (*call).conflicts, query: []string{"limit"}, answer: fleet.List[fleet.NameConflict]{}},
		{method: http.MethodGet, path: "/v1/ledger", summary: "List the versions that lost a conflict", handle: (*call).ledger, query: []string{"limit", "continue", "full", "id", "kind", "scope", "name", "reason"}, answer: fleet.List[fleet.Loss]{}},
		{method: http.MethodGet, path: "/v1/ledger/{entry}", summary: "Read one version that lost a conflict, whole", handle: (*call).loss, answer: fleet.Loss{}},
		{method: http.MethodGet, path: "/v1/parked", summary: "List the records whose kind is not known here yet", handle: (*call).parked, query: []string{"limit"}, answer: fleet.List[resource.Resource]{}},
		{method: http.MethodGet, path: "/v1/quarantine", summary: "List the records that were refused", handle: (*call).quarantine, query: []string{"limit"}, answer: fleet.List[fleet.Quarantined]{}},
	}
}

func integrityRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/snapshot", summary: "Stream a snapshot file of this node's store; one that breaks off is none", handle: (*call).snapshot, answer: "application/octet-stream"},
		{method: http.MethodPost, path: "/v1/fsck", summary: "Check the whole store, and repair what needs no other member", handle: (*call).fsck, query: []string{"repair"}, answer: fleet.Fsck{}},
		{method: http.MethodPost, path: "/v1/node/repair", summary: "Take the records that are damaged or missing here from a member", handle: (*call).repair, query: []string{"from"}, answer: fleet.Repair{}},
	}
}

func nodeRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/node", summary: "This node's account of itself", handle: (*call).node, answer: fleet.Node{}},
		{method: http.MethodGet, path: "/v1/gc", summary: "How far the collection of tombstones is, and what it waits for", handle: (*call).collection, answer: fleet.Collection{}},
		{method: http.MethodPost, path: "/v1/node/rejoin", summary: "As a person, let a copy older than what the fleet has collected take the fleet's state", handle: (*call).rejoin, answer: fleet.Node{}},
		{method: http.MethodPost, path: "/v1/node/reidentify", summary: "As a person, make this copy a member of its own; the node ends and is to be started again", handle: (*call).reidentify, answer: fleet.Node{}},
		{method: http.MethodPost, path: "/v1/clock/repair", summary: "As a person, give writes that the node made while its clock ran ahead new times", handle: (*call).repairClock, answer: fleet.Node{}},
		{method: http.MethodGet, path: "/v1/fleet", summary: "The members, as heartbeats tell of them", handle: (*call).fleet, answer: fleet.Fleet{}},
		{method: http.MethodPost, path: "/v1/fleet/check", summary: "The members, each asked now", handle: (*call).fleetCheck, answer: fleet.Fleet{}},
		{method: http.MethodGet, path: "/v1/fleet/wait", summary: "Wait until the fleet has converged", handle: (*call).fleetWait, query: []string{"until", "timeout"}, answer: fleet.Fleet{}},
		{method: http.MethodGet, path: "/healthz", summary: "Whether the process is worth keeping", handle: (*call).healthz, open: true, answer: "text/plain"},
		{method: http.MethodGet, path: "/readyz", summary: "Whether the node has caught up with the fleet", handle: (*call).readyz, open: true, answer: "text/plain"},
		{method: http.MethodGet, path: "/metrics", summary: "Metrics, in Prometheus' text format or OpenMetrics", handle: (*call).metrics, answer: "text/plain"},
		{method: http.MethodGet, path: "/openapi.json", summary: "This document", handle: (*call).openAPI, open: true, answer: "application/json"},
		{method: http.MethodGet, path: "/", summary: "A page for people", handle: (*call).home, answer: "text/html"},
	}
}
