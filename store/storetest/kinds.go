package storetest

import (
	"encoding/json"
	"errors"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var kindTests = []test{
	{"Kinds/AreAppliedAsRecords", testKindIsData},
	{"Kinds/OutliveARestart", testKindsPersist},
	{"Kinds/ReplicateAndRegister", testKindsReplicate},
	{"Kinds/KindDescribesItself", testKindOfKinds},
	{"Kinds/CoreKindsCannotBeChanged", testCoreKinds},
	{"Kinds/CoreKindsOutliveAHostileMerge", testHostileCoreKind},
	{"Kinds/RecordNameIsEnforced", testKindName},
	{"Kinds/IdentityLevelAndNameNeverChange", testKindFixed},
	{"Kinds/InUseCannotBeDeleted", testKindInUse},
	{"Kinds/VersionsOfAGroupShareRecords", testKindVersions},
	{"Kinds/OneNameInTwoGroupsIsAmbiguous", testKindGroups},
	{"Kinds/SchemaChangeAdmitsAnew", testSchemaChange},
	{"Kinds/OfTwoThatConflictOneStandsOnEveryNode", testKindsConflict},
}

func (n *node) removeKind(k resource.Kind) error {
	return n.Delete(n.e.Context(), "Kind", resource.Scope{}, k.RecordName())
}

func testKindIsData(e *env) {
	n := e.bare()
	r := n.applyKind(skillKind)
	if r.Name != "skills.v1.skill.example.dev" || r.ID != resource.NameID(r.GroupKind(), r.Scope, r.Name).String() {
		e.Errorf("the kind's record is %s, %s", r.Name, r.ID)
	}
	n.put(skill("a", `{"size":1}`))
	n.remove("a")
	must(0, n.removeKind(skillKind))(e)
	if _, ok := n.Registry().Lookup(skillKind.APIVersion, "Skill"); ok {
		e.Error("a deleted kind is registered")
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: skill("a", "")})
	n.applyKind(skillKind)
	n.put(skill("a", ""))
}

func testKindsPersist(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	n.reopen()
	n.put(skill("b", `{"size":1}`))
	n.refuse(resource.ErrInvalid, store.Write{Resource: skill("c", `{"size":-1}`)})
}

func testKindsReplicate(e *env) {
	a, b := e.open(), e.bare()
	b.pullEvents(a)
	b.put(skill("a", ""))
	b.refuse(resource.ErrInvalid, store.Write{Resource: skill("b", `{"size":-1}`)})
	must(0, a.removeKind(slotKind))(e)
	b.pullEvents(a)
	if _, ok := b.Registry().Lookup(slotKind.APIVersion, "Slot"); ok {
		e.Error("a kind that a peer deleted is registered")
	}
}

func testKindOfKinds(e *env) {
	n := e.bare()
	for _, k := range resource.CoreKinds() {
		r := must(resource.KindResource(k, resource.Scope{}))(e)
		must(0, n.Registry().Validate(r.APIVersion, r.Kind, r.Spec))(e)
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: resource.Resource{
		APIVersion: resource.CoreGroupVersion, Kind: "Kind", Name: "x", Spec: []byte(`{"name":"X"}`),
	}})
}

func testCoreKinds(e *env) {
	n := e.bare()
	for _, k := range resource.CoreKinds() {
		n.refuse(resource.ErrInvalid, store.Write{Resource: must(resource.KindResource(k, resource.Scope{}))(e)})
	}
}

// A peer's record of a core kind, and then its tombstone, must not change the
// kind or take it away.
func testHostileCoreKind(e *env) {
	n := e.bare()
	for _, dead := range []bool{false, true} {
		for _, k := range resource.CoreKinds() {
			k.Schema = json.RawMessage(`false`)
			r := must(resource.KindResource(k, resource.Scope{}))(e)
			r.ID = resource.NameID(r.GroupKind(), r.Scope, r.Name).String()
			r.UpdatedHLC, r.OriginInstanceID, r.LastWriterID, r.Deleted = n.Clock().Now(), "peer", "peer", dead
			must(n.Merge(e.Context(), r))(e)
		}
		n.applyKind(skillKind)
		must(0, n.removeKind(skillKind))(e)
	}
}

func testKindName(e *env) {
	n := e.bare()
	r := must(resource.KindResource(skillKind, resource.Scope{}))(e)
	r.Name = "skill"
	n.refuse(resource.ErrInvalid, store.Write{Resource: r})
}

func testKindFixed(e *env) {
	n := e.open()
	for name, change := range map[string]func(*resource.Kind){
		"identity": func(k *resource.Kind) { k.Identity = resource.IdentityName },
		"level":    func(k *resource.Kind) { k.Level = resource.LevelFleet },
		"name":     func(k *resource.Kind) { k.Name = "Skull" }, // its record's name goes by the plural
		"version":  func(k *resource.Kind) { k.APIVersion, k.Identity = "skill.example.dev/v2", resource.IdentityName },
	} {
		k := skillKind
		change(&k)
		n.refuse(resource.ErrInvalid, store.Write{Resource: must(resource.KindResource(k, resource.Scope{}))(e)})
		if _, ok := n.Registry().Lookup(skillKind.APIVersion, "Skill"); !ok {
			e.Errorf("%s: the kind is gone", name)
		}
	}
	changed := skillKind
	changed.Aliases = []string{"other"}
	n.applyKind(changed)
	must(n.ListAll(e.Context(), "other", nil))(e)
}

func testKindInUse(e *env) {
	n := e.open()
	n.put(finalizers(in(resource.Scope{Project: "atlas"}, skill("a", "")), "f"))
	kind := store.Write{Op: store.OpDelete, Kind: "Kind", Name: skillKind.RecordName()}
	n.refuse(resource.ErrInUse, kind)
	kind.Op = store.OpTeardown
	n.refuse(resource.ErrInUse, kind)
	kind.Op = store.OpDestroy
	n.refuse(resource.ErrInUse, kind)
	must(0, n.Delete(e.Context(), "Skill", resource.Scope{Project: "atlas"}, "a"))(e)
	n.refuse(resource.ErrInUse, kind) // terminating is live
	n.put(in(resource.Scope{Project: "atlas"}, skill("a", "")))
	must(0, n.removeKind(skillKind))(e)
}

func testKindVersions(e *env) {
	n := e.open()
	v2 := skillKind
	v2.APIVersion, v2.Schema = "skill.example.dev/v2", json.RawMessage(`{"type":"object","required":["length"]}`)
	n.applyKind(v2)
	first := n.put(skill("a", `{"size":1}`))
	next := skill("a", `{"length":1}`)
	next.APIVersion = v2.APIVersion
	second := n.put(next)
	if second.ID != first.ID || second.APIVersion != v2.APIVersion || second.SpecHash == first.SpecHash {
		e.Errorf("the record under v2 is %+v", second)
	}
	must(0, n.removeKind(skillKind))(e) // v2 goes on serving them
	if n.get("a").ID != first.ID {
		e.Error("the record went with a version")
	}
	if err := n.removeKind(v2); !errors.Is(err, resource.ErrInUse) {
		e.Errorf("the last version: %v", err)
	}
}

func testKindGroups(e *env) {
	n := e.open()
	other := resource.Kind{APIVersion: "other.dev/v1", Name: "Skill", Plural: "talents", Aliases: []string{"sk"}}
	n.applyKind(other)
	a := n.put(skill("a", ""))
	b := n.put(resource.Resource{APIVersion: other.APIVersion, Kind: "Skill", Name: "a"})
	if a.ID == b.ID || a.Key() == b.Key() {
		e.Error("two groups share a record")
	}
	for _, word := range []string{"Skill", "skill", "sk"} {
		_, err := n.Get(e.Context(), word, resource.Scope{}, "a")
		_, listErr := n.ListAll(e.Context(), word, nil)
		delErr := n.Delete(e.Context(), word, resource.Scope{}, "a")
		for _, err := range []error{err, listErr, delErr} {
			if !errors.Is(err, resource.ErrAmbiguous) {
				e.Errorf("%s: %v, want ErrAmbiguous", word, err)
			}
		}
	}
	for word, want := range map[string]string{"skills": a.ID, "talents": b.ID, "Skill.other.dev": b.ID, "sk.skill.example.dev": a.ID} {
		if r, err := n.Get(e.Context(), word, resource.Scope{}, "a"); err != nil || r.ID != want {
			e.Errorf("%s: %s, %v", word, r.ID, err)
		}
	}
}

func testSchemaChange(e *env) {
	n := e.open()
	n.put(skill("a", `{"size":1}`))
	strict := skillKind
	strict.Schema = json.RawMessage(`{"type":"object","required":["text"]}`)
	n.applyKind(strict)
	if r := n.get("a"); string(r.Spec) != `{"size":1}` {
		e.Errorf("a record admitted before is %+v", r)
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: skill("a", `{"size":2}`)})
	violations := must(n.SchemaViolations(10))(e)
	if len(violations) != 1 || violations[0].Resource.Name != "a" || !errors.Is(violations[0].Err, resource.ErrInvalid) {
		e.Errorf("violations %+v", violations)
	}
	n.applyKind(skillKind)
	if violations = must(n.SchemaViolations(10))(e); len(violations) != 0 {
		e.Errorf("violations %+v of the schema that fits", violations)
	}
}

// Two versions of a kind, written apart with different identities, cannot both
// be registered: the same one is, on every node, whatever arrived first, and
// after a restart too.
func testKindsConflict(e *env) {
	a, b := e.bare(), e.bare()
	v1 := resource.Kind{APIVersion: "clash.example.dev/v1", Name: "Clash", Plural: "clashes", Identity: resource.IdentityName}
	v2 := resource.Kind{APIVersion: "clash.example.dev/v2", Name: "Clash", Plural: "clashes"}
	a.applyKind(v1)
	b.applyKind(v2)
	exchange(a, b)
	_, want := a.Registry().Lookup(v1.APIVersion, v1.Name)
	for _, n := range []*node{a, b} {
		for range 2 {
			_, first := n.Registry().Lookup(v1.APIVersion, v1.Name)
			_, second := n.Registry().Lookup(v2.APIVersion, v2.Name)
			if first != want || first == second {
				e.Errorf("registered: v1 %v, v2 %v; elsewhere v1 %v", first, second, want)
			}
			n.reopen()
		}
	}
}
