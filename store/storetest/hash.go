package storetest

import (
	"strings"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var hashTests = []test{
	{"Hash/IsStampedAtWrite", testHashes},
	{"Hash/LeavesOutWhatIsNotContent", testHashExcludes},
	{"Hash/SpecHashIsOfTheSpecAlone", testSpecHash},
	{"Hash/CanonicalBytesSurvive", testCanonicalBytes},
	{"Digest/MovesWithEveryWrite", testDigestMoves},
}

func testHashes(e *env) {
	n := e.open()
	r := n.put(status(skill("a", `{"size":1}`), `{"ok":true}`))
	content, spec, err := resource.Hashes(r)
	if err != nil || r.ContentHash != content || r.SpecHash != spec {
		e.Errorf("hashes %s %s, want %s %s, %v", r.ContentHash, r.SpecHash, content, spec, err)
	}
	dead := n.write(at(store.OpDelete, "a")).Resource
	if dead.ContentHash == r.ContentHash {
		e.Error("a tombstone has the content hash of the live record")
	}
}

// Not in the hash: id, versions, clocks, times, actor, finalizers, owners.
func testHashExcludes(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	first := n.put(skill("a", `{"size":1}`))
	n.wall.advance(time.Hour)
	second := finalizers(child("a", owner), "f")
	second.Spec = first.Spec
	r := n.put(second, human)
	r = n.write(by(resource.Human, at(store.OpDelete, "a"))).Resource
	if r.ContentHash != first.ContentHash || r.SpecHash != first.SpecHash || r.Digest == first.Digest {
		e.Errorf("hashes %s and %s", r.ContentHash, first.ContentHash)
	}
	other := e.open()
	if r := other.put(skill("a", "{ \"size\" : 1}"), human); r.ContentHash != first.ContentHash || r.ID == first.ID {
		e.Error("equal content hashes apart on another node")
	}
}

func testSpecHash(e *env) {
	n := e.open()
	first := n.put(skill("a", `{"size":1}`))
	r := n.put(status(with(skill("a", `{"size":1}`), func(r *resource.Resource) { r.Labels = map[string]string{"a": "b"} }), `{"s":1}`))
	if r.SpecHash != first.SpecHash || r.ContentHash == first.ContentHash {
		e.Error("labels or status moved the spec hash, or not the content hash")
	}
	if r = n.put(skill("a", `{"size":2}`)); r.SpecHash == first.SpecHash {
		e.Error("a spec change left the spec hash")
	}
}

// Numbers as they were written, minimal escapes, sorted keys: the same bytes
// after a write, a restart and a merge.
func testCanonicalBytes(e *env) {
	a, b := e.pair()
	spec := "{\"z\":[9007199254740993, 1e400, 1.0, 18446744073709551616],\n \"a\":\"<\\u00e9\\u2028>\", \"\U0001F600\":null, \"\uE000\":false}"
	want := "{\"a\":\"<é\u2028>\",\"z\":[9007199254740993,1e400,1.0,18446744073709551616],\"\U0001F600\":null,\"\uE000\":false}"
	r := a.put(status(slot("a", spec), spec))
	b.pullEvents(a)
	b.reopenIfPossible()
	for _, n := range []*node{a, b} {
		got := must(n.Get(e.Context(), "Slot", resource.Scope{}, "a"))(e)
		if string(got.Spec) != want || string(got.Status) != want || got.ContentHash != r.ContentHash || got.Digest != r.Digest {
			e.Errorf("came back as %s, %s", got.Spec, got.Status)
		}
	}
}

func (n *node) reopenIfPossible() {
	n.e.Helper()
	if n.e.backend.Reopen != nil {
		n.reopen()
	}
}

func testDigestMoves(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	seen := map[string]string{}
	note := func(what string, r resource.Resource) {
		if last, ok := seen[r.Digest]; ok || len(r.Digest) != 64 || strings.ToLower(r.Digest) != r.Digest {
			e.Errorf("%s has the digest of %s: %s", what, last, r.Digest)
		}
		seen[r.Digest] = what
	}
	note("create", n.put(skill("a", "")))
	note("rank", n.put(skill("a", ""), human))
	note("finalizer", n.put(finalizers(skill("a", ""), "f"), human))
	note("owner", n.put(finalizers(child("a", owner), "f"), human))
	note("status", n.write(statusWrite("a", `{}`)).Resource)
	note("claim", n.write(by(resource.Human, at(store.OpClaim, "a"))).Resource)
	note("release", n.write(by(resource.Human, at(store.OpRelease, "a"))).Resource)
	note("delete", n.write(by(resource.Human, at(store.OpDelete, "a"))).Resource)
	note("tombstone", n.put(skill("a", ""), human))
	note("resurrection", n.put(skill("a", ""), human))
}
