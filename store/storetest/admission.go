package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var admissionTests = []test{
	{"Admission/KindMustBeRegistered", testUnregistered},
	{"Admission/ViolationNamesThePointer", testPointer},
	{"Admission/BadSchemaIsRefusedWithItsKind", testBadSchema},
	{"Admission/StatusIsNotAdmitted", testStatusFree},
	{"Admission/JSONIsReadStrictly", testStrictJSON},
	{"Admission/LabelsFollowKubernetesSyntax", testLabels},
	{"Admission/AtMostOneControllerOwner", testOneController},
	{"Admission/FinalizersAreBounded", testFinalizerBounds},
	{"Admission/RecordOver8MiBIsTooLarge", testTooLarge},
	{"Admission/FleetLevelLivesInTheGlobalScope", testFleetLevel},
	{"Admission/DryRunJudgesAndStoresNothing", testDryRun},
}

func testUnregistered(e *env) {
	n := e.bare()
	err := n.refuse(resource.ErrInvalid, store.Write{Resource: skill("a", "")})
	if !strings.Contains(err.Error(), "Skill") {
		e.Errorf("%v does not name the kind", err)
	}
	n.applyKind(skillKind)
	n.put(skill("a", ""))
	other := skill("a", "")
	other.APIVersion = "skill.example.dev/v2"
	n.refuse(resource.ErrInvalid, store.Write{Resource: other})
	for _, r := range []resource.Resource{{Kind: "Skill", Name: "a"}, {APIVersion: skillKind.APIVersion, Name: "a"}} {
		n.refuse(resource.ErrInvalid, store.Write{Resource: r})
	}
}

func testPointer(e *env) {
	n := e.open()
	for spec, place := range map[string]string{`{"size":"big"}`: "spec/size", `{"size":-1}`: "spec/size", `[]`: "spec"} {
		err := n.refuse(resource.ErrInvalid, store.Write{Resource: skill("a", spec)})
		if !strings.Contains(err.Error(), place) {
			e.Errorf("%s: %v does not name %s", spec, err, place)
		}
	}
	n.absent("a")
}

func testBadSchema(e *env) {
	n := e.bare()
	for _, schema := range []string{`{"type":"wat"}`, `{"$ref":"https://example.dev/elsewhere"}`, `3`} {
		bad := skillKind
		bad.Schema = json.RawMessage(schema)
		n.refuse(resource.ErrInvalid, store.Write{Resource: must(resource.KindResource(bad, resource.Scope{}))(e)})
	}
	if _, ok := n.Registry().Lookup(skillKind.APIVersion, "Skill"); ok {
		e.Error("a kind with a bad schema was registered")
	}
}

func testStatusFree(e *env) {
	n := e.open()
	r := n.put(status(skill("a", `{"size":1}`), `{"size":"whatever"}`))
	if string(r.Status) != `{"size":"whatever"}` {
		e.Errorf("status %s", r.Status)
	}
}

func testStrictJSON(e *env) {
	n := e.open()
	deep := strings.Repeat("[", resource.MaxDepth) + strings.Repeat("]", resource.MaxDepth)
	for name, text := range map[string]string{
		"duplicate key": `{"a":1,"a":2}`, "escaped duplicate": `{"a":1,"\u0061":2}`, "invalid UTF-8": "{\"a\":\"\xff\"}",
		"lone surrogate": `{"a":"\ud800"}`, "too deep": `{"a":` + deep + `}`, "two values": `{} {}`, "no value": `{"a":}`,
	} {
		for part, r := range map[string]resource.Resource{"spec": skill("a", text), "status": status(skill("a", ""), text)} {
			err := n.refuse(resource.ErrInvalid, store.Write{Resource: r})
			if !strings.Contains(err.Error(), part) {
				e.Errorf("%s in %s: %v", name, part, err)
			}
		}
	}
}

func testLabels(e *env) {
	n := e.open()
	labelled := func(k, v string) resource.Resource {
		return with(skill("a", ""), func(r *resource.Resource) { r.Labels = map[string]string{k: v} })
	}
	n.put(labelled("example.dev/tier", "gold"))
	for k, v := range map[string]string{"": "v", "a b": "v", "/a": "v", "a": "no spaces", "b": strings.Repeat("x", 64)} {
		n.refuse(resource.ErrInvalid, store.Write{Resource: labelled(k, v)})
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: with(skill("a", ""), func(r *resource.Resource) {
		r.Annotations = map[string]string{"note": strings.Repeat("x", resource.MaxAnnotationsSize)}
	})})
}

func testOneController(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	owned := func(controllers ...bool) resource.Resource {
		return with(skill("a", ""), func(r *resource.Resource) {
			for _, c := range controllers {
				r.OwnerReferences = append(r.OwnerReferences, resource.OwnerReference{ID: owner.ID, Controller: c})
			}
		})
	}
	n.put(owned(true, false))
	n.refuse(resource.ErrInvalid, store.Write{Resource: owned(true, true)})
	n.refuse(resource.ErrInvalid, store.Write{Resource: with(skill("a", ""), func(r *resource.Resource) {
		r.OwnerReferences = []resource.OwnerReference{{ID: "no id"}}
	})})
}

func testFinalizerBounds(e *env) {
	n := e.open()
	var keys []string
	for i := range resource.MaxFinalizers {
		keys = append(keys, fmt.Sprintf("example.dev/f%02d", i))
	}
	n.put(finalizers(skill("a", ""), keys...))
	n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("b", ""), append(keys, "one-more")...)})
	// A removed key stays as an entry, so the bound holds for both together.
	n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("a", ""), append(keys[1:], "another")...)})
	for _, bad := range []string{"", "a=b", "a,b", "\x00"} {
		n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("b", ""), bad)})
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: finalizers(skill("b", ""), "twice", "twice")})
}

func testTooLarge(e *env) {
	n := e.open()
	n.refuse(resource.ErrTooLarge, store.Write{Resource: skill("a", `{"text":"`+strings.Repeat("x", resource.MaxRecordSize)+`"}`)})
	large := n.put(skill("a", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`))
	if got := n.get("a"); string(got.Spec) != string(large.Spec) {
		e.Error("a spec of 1 MiB came back otherwise")
	}
}

func testFleetLevel(e *env) {
	n := e.open()
	site := resource.Resource{APIVersion: siteKind.APIVersion, Kind: "Site", Name: "a"}
	n.put(site)
	n.refuse(resource.ErrInvalid, store.Write{Resource: in(resource.Scope{Project: "atlas"}, site)})
}

func testDryRun(e *env) {
	n := e.open()
	before := n.Head()
	w := n.write(store.Write{Resource: skill("a", `{"b":1,"a":2}`), DryRun: true})
	if !w.Created || string(w.Resource.Spec) != `{"a":2,"b":1}` || w.Resource.SyncVersion != 1 {
		e.Errorf("a dry run came to %+v", w)
	}
	n.absent("a")
	if n.Head() != before {
		e.Error("a dry run moved the head")
	}
	n.refuse(resource.ErrInvalid, store.Write{Resource: skill("a", `{"size":-1}`), DryRun: true})
	n.put(skill("a", ""))
	if w := n.write(store.Write{Op: store.OpDelete, Kind: "Skill", Name: "a", DryRun: true}); !w.Resource.Deleted {
		e.Errorf("a dry delete came to %+v", w)
	}
	n.get("a")
}
