package storetest

import (
	"encoding/json"
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
	"github.com/google/go-cmp/cmp"
)

var identityTests = []test{
	{"Identity/IDIsAssignedAndStable", testIDStable},
	{"Identity/RecordCannotBeRenamedOrMoved", testNoRename},
	{"Identity/UnknownIDIsNotFound", testUnknownID},
	{"Identity/NameIsUniquePerKindAndScope", testAddress},
	{"Identity/GenerateNameIsNamePlusID", testGenerateName},
	{"Identity/NamedKindDerivesIDFromAddress", testNamedID},
	{"Identity/ZeroScopeIsGlobal", testGlobal},
	{"Identity/UnsetPartsStayNil", testNil},
	{"Identity/NamesAreJudged", testNames},
	{"Identity/ScopesAreJudged", testScopes},
}

func testIDStable(e *env) {
	n := e.open()
	a, b := n.put(skill("a", "")), n.put(skill("b", ""))
	if a.ID == b.ID || len(a.ID) != 26 {
		e.Errorf("ids %q and %q", a.ID, b.ID)
	}
	if updated := n.put(skill("a", `{"size":1}`)); updated.ID != a.ID || updated.CreatedAt != a.CreatedAt {
		e.Errorf("an update moved the id or the creation: %+v", updated)
	}
	if diff := cmp.Diff(n.get("a"), n.byID(a.ID)); diff != "" {
		e.Errorf("by name and by id: %s", diff)
	}
}

func testNoRename(e *env) {
	n := e.open()
	r := n.put(skill("a", ""))
	r.SyncVersion, r.Digest = 0, ""
	for name, change := range map[string]func(*resource.Resource){
		"name":  func(r *resource.Resource) { r.Name = "b" },
		"scope": func(r *resource.Resource) { r.Scope.Project = "atlas" },
		"kind":  func(r *resource.Resource) { r.APIVersion, r.Kind = slotKind.APIVersion, "Slot" },
	} {
		err := n.refuse(resource.ErrInvalid, store.Write{Resource: with(r, change)})
		if !strings.Contains(err.Error(), "renamed or moved") {
			e.Errorf("%s: %v", name, err)
		}
	}
}

func testUnknownID(e *env) {
	n := e.open()
	id := resource.NameID(resource.GroupKind{}, resource.Scope{}, "nobody")
	n.refuse(resource.ErrNotFound, store.Write{ID: id, Resource: skill("a", "")})
	n.refuse(resource.ErrNotFound, store.Write{Op: store.OpDelete, ID: id})
	n.refuse(resource.ErrInvalid, store.Write{Resource: with(skill("a", ""), func(r *resource.Resource) { r.ID = "no id" })})
}

func testAddress(e *env) {
	n := e.open()
	atlas := resource.Scope{Project: "atlas"}
	records := []resource.Resource{
		n.put(skill("a", "")), n.put(in(atlas, skill("a", ""))),
		n.put(in(resource.Scope{Project: "atlas", Workspace: "w"}, skill("a", ""))), n.put(slot("a", "{}")),
	}
	seen := map[resource.Key]string{}
	for _, r := range records {
		seen[r.Key()] = r.ID
	}
	if len(seen) != len(records) {
		e.Errorf("%d addresses for %d records", len(seen), len(records))
	}
	if again := n.put(in(atlas, skill("a", `{"size":2}`))); again.ID != seen[again.Key()] {
		e.Errorf("a second put of one address made another record: %+v", again)
	}
}

func testGenerateName(e *env) {
	n := e.open()
	generated := skill("", "")
	generated.GenerateName = "mem-"
	first, second := n.put(generated), n.put(generated)
	if first.Name != "mem-"+first.ID || first.GenerateName != "" || first.ID == second.ID {
		e.Errorf("generated %q (%q) for id %s, then %q", first.Name, first.GenerateName, first.ID, second.Name)
	}
	generated.Name = "named"
	if r := n.put(generated); r.Name != "named" || n.get("named").GenerateName != "" {
		e.Errorf("a name does not win over generateName: %+v", r)
	}
	generated.Name, generated.GenerateName = "", strings.Repeat("x", 240)
	n.refuse(resource.ErrInvalid, store.Write{Resource: generated}) // 26 more are too long
	n.refuse(resource.ErrInvalid, store.Write{Resource: skill("", "")})
}

func testNamedID(e *env) {
	n := e.open()
	r := n.put(slot("a", "{}"))
	id := resource.NameID(resource.GroupKind{Group: "slot.example.dev", Kind: "Slot"}, resource.Scope{}, "a")
	if r.ID != id.String() {
		e.Errorf("id %s, want %s", r.ID, id)
	}
}

func testGlobal(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	listed := must(n.List(e.Context(), "Skill", resource.Scope{Project: "atlas"}, nil))(e)
	all := must(n.ListAll(e.Context(), "Skill", nil))(e)
	if len(listed) != 0 || len(all) != 1 || !all[0].Scope.IsGlobal() {
		e.Errorf("in another scope %d, in all %d", len(listed), len(all))
	}
}

func testNil(e *env) {
	n := e.open()
	r := n.put(with(skill("a", ""), func(r *resource.Resource) {
		// Empty says the same as absent, and so does a status of null.
		r.Labels, r.Annotations = map[string]string{}, map[string]string{}
		r.Spec, r.Status = json.RawMessage{}, json.RawMessage("null")
		r.Finalizers, r.OwnerReferences = []string{}, []resource.OwnerReference{}
	}))
	check := func(r resource.Resource) {
		if r.Spec != nil || r.Status != nil || r.Labels != nil || r.Annotations != nil || r.Finalizers != nil || r.OwnerReferences != nil {
			e.Errorf("unset parts came back as %+v", r)
		}
	}
	check(r)
	if n.e.backend.Reopen != nil {
		n.reopen()
	}
	check(n.get("a"))
}

func testNames(e *env) {
	n := e.open()
	for _, name := range []string{
		strings.Repeat("x", 254), "e\u0301", "a\x00b", "a\nb", "a/b", "a,b", "a=b", "\xff", ".", "..",
	} {
		n.refuse(resource.ErrInvalid, store.Write{Resource: skill(name, "")})
		n.refuse(resource.ErrInvalid, at(store.OpDelete, name))
	}
	for _, name := range []string{strings.Repeat("x", 253), "é", "a b", "*", "a.b", ">"} {
		if r := n.put(skill(name, "")); r.Name != name || n.get(name).ID != r.ID {
			e.Errorf("name %q came back as %q", name, r.Name)
		}
	}
}

func testScopes(e *env) {
	n := e.open()
	for _, s := range []resource.Scope{{Project: "_"}, {Project: "a/b"}, {Workspace: "a\x00"}, {Instance: strings.Repeat("x", 254)}} {
		n.refuse(resource.ErrInvalid, store.Write{Resource: in(s, skill("a", ""))})
		n.refuse(resource.ErrInvalid, store.Write{Op: store.OpDelete, Kind: "Skill", Scope: s, Name: "a"})
	}
}
