package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var readTests = []test{
	{"Get/LiveOnly", testLiveOnly},
	{"Get/KindsByAnyOfTheirWords", testKindWords},
	{"GetResolved/MostSpecificFirst", testResolved},
	{"GetAnyScope/FirstInScopeOrder", testAnyScope},
	{"List/ByNameWithinAScope", testList},
	{"ListAll/ByScopeThenName", testListAll},
	{"ListKeys/ByScopeThenNameEachOnce", testListKeys},
	{"List/SelectorForms", testSelectors},
	{"Query/PagesGoOnWhereTheLastEnded", testPages},
	{"Query/ForeignContinueIsRefused", testForeignContinue},
	{"Reads/EndWithTheirContext", testCanceled},
}

func testLiveOnly(e *env) {
	n := e.open()
	n.absent("a")
	r := n.put(finalizers(skill("a", ""), "f"))
	n.remove("a")
	if !n.get("a").Terminating() || len(must(n.ListAll(e.Context(), "Skill", nil))(e)) != 1 {
		e.Error("a terminating record is not live")
	}
	n.put(skill("a", ""))
	n.absent("a")
	if _, err := n.GetByID(e.Context(), r.ID); !errors.Is(err, resource.ErrNotFound) {
		e.Errorf("tombstone by id: %v", err)
	}
	if _, err := n.GetByID(e.Context(), "no id"); !errors.Is(err, resource.ErrInvalid) {
		e.Errorf("bad id: %v", err)
	}
	if l := must(n.ListAll(e.Context(), "Skill", nil))(e); len(l) != 0 {
		e.Errorf("a tombstone is listed: %+v", l)
	}
}

func testKindWords(e *env) {
	n := e.open()
	want := n.put(skill("a", ""))
	for _, word := range []string{"Skill", "skill", "skills", "sk", "Skill.skill.example.dev", "skills.skill.example.dev"} {
		if r, err := n.Get(e.Context(), word, resource.Scope{}, "a"); err != nil || r.ID != want.ID {
			e.Errorf("%s: %v", word, err)
		}
	}
	if _, err := n.Get(e.Context(), "Skil", resource.Scope{}, "a"); !errors.Is(err, resource.ErrNotFound) {
		e.Errorf("unknown kind: %v", err)
	}
}

func testResolved(e *env) {
	n := e.open()
	full := resource.Scope{Instance: "i", Project: "p", Workspace: "w"}
	scopes := []resource.Scope{{}, {Instance: "i"}, {Instance: "i", Project: "p"}, full}
	for _, s := range scopes {
		n.put(in(s, skill("a", "")))
		r, err := n.GetResolved(e.Context(), "Skill", full, "a")
		if err != nil || r.Scope != s {
			e.Errorf("with %s: found in %s, %v", s, r.Scope, err)
		}
	}
	for i := len(scopes) - 1; i >= 0; i-- {
		must(0, n.Delete(e.Context(), "Skill", scopes[i], "a"))(e)
		r, err := n.GetResolved(e.Context(), "Skill", full, "a")
		if i == 0 && !errors.Is(err, resource.ErrNotFound) || i > 0 && (err != nil || r.Scope != scopes[i-1]) {
			e.Errorf("without %s: found in %s, %v", scopes[i], r.Scope, err)
		}
	}
	n.put(in(resource.Scope{Project: "other"}, skill("b", "")))
	if _, err := n.GetResolved(e.Context(), "Skill", full, "b"); !errors.Is(err, resource.ErrNotFound) {
		e.Errorf("found in a sibling scope: %v", err)
	}
}

func testAnyScope(e *env) {
	n := e.open()
	if _, found, err := n.GetAnyScope(e.Context(), "Skill", "a"); found || err != nil {
		e.Errorf("with none: %v, %v", found, err)
	}
	for _, project := range []string{"z", "m", "a"} {
		n.put(in(resource.Scope{Project: project}, skill("a", "")))
		n.put(in(resource.Scope{Project: project}, skill("b", "")))
	}
	must(0, n.Delete(e.Context(), "Skill", resource.Scope{Project: "a"}, "a"))(e)
	r, found, err := n.GetAnyScope(e.Context(), "Skill", "a")
	if !found || err != nil || r.Scope.Project != "m" || r.Name != "a" {
		e.Errorf("found %s in %s, %v, %v", r.Name, r.Scope, found, err)
	}
}

// spread writes Skills in several scopes, out of order.
func spread(n *node) {
	for _, s := range []resource.Scope{{Project: "b"}, {}, {Project: "a", Workspace: "w"}, {Instance: "i"}, {Project: "a"}} {
		for _, name := range []string{"b", "a-", "a", "B", "é"} {
			n.put(in(s, skill(name, "")))
		}
	}
}

func testList(e *env) {
	n := e.open()
	spread(n)
	listed := must(n.List(e.Context(), "skills", resource.Scope{Project: "a"}, nil))(e)
	var names []string
	for _, r := range listed {
		names = append(names, r.Name)
		if r.Scope != (resource.Scope{Project: "a"}) {
			e.Errorf("%s is in %s", r.Name, r.Scope)
		}
	}
	if got := strings.Join(names, " "); got != "B a a- b é" { // bytewise
		e.Errorf("names %s", got)
	}
}

func testListAll(e *env) {
	n := e.open()
	spread(n)
	listed := must(n.ListAll(e.Context(), "Skill", nil))(e)
	if len(listed) != 25 || !slices.IsSortedFunc(listed, byAddress) {
		e.Errorf("%d records, not in the order of scope and name", len(listed))
	}
	if listed[0].Scope != (resource.Scope{}) || listed[len(listed)-1].Scope.Instance != "i" {
		e.Errorf("scopes run from %s to %s", listed[0].Scope, listed[len(listed)-1].Scope)
	}
}

func testListKeys(e *env) {
	n := e.open()
	spread(n)
	must(0, n.Delete(e.Context(), "Skill", resource.Scope{}, "B"))(e)
	var want []resource.Key
	for _, r := range must(n.ListAll(e.Context(), "Skill", nil))(e) {
		want = append(want, r.Key())
	}
	if keys := must(n.ListKeys(e.Context(), "sk"))(e); !slices.Equal(keys, want) {
		e.Errorf("keys %v, want %v", keys, want)
	}
}

func testSelectors(e *env) {
	n := e.open()
	for name, labels := range map[string]map[string]string{
		"none": nil, "gold": {"tier": "gold"}, "iron": {"tier": "iron", "old": ""}, "both": {"tier": "gold", "old": "yes"},
	} {
		n.put(with(skill(name, ""), func(r *resource.Resource) { r.Labels = labels }))
	}
	for text, want := range map[string]string{
		"": "both gold iron none", "tier": "both gold iron", "!tier": "none", "tier=gold": "both gold", "tier==gold": "both gold",
		"tier!=gold": "iron none", "tier in (gold,iron)": "both gold iron", "tier notin (gold)": "iron none", "old=": "iron",
		"tier=gold,old": "both", "tier=gold,!old": "gold", "nobody=here": "",
	} {
		var names []string
		for _, r := range must(n.ListAll(e.Context(), "Skill", must(resource.ParseSelector(text))(e)))(e) {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != want {
			e.Errorf("%q selects %q, want %q", text, got, want)
		}
	}
}

func testPages(e *env) {
	n := e.open()
	for i := range 23 {
		n.put(with(skill(fmt.Sprintf("n%02d", i), ""), func(r *resource.Resource) { r.Labels = map[string]string{"odd": fmt.Sprint(i % 2)} }))
	}
	for text, want := range map[string]int{"": 23, "odd=1": 11} {
		q := store.Query{Kind: "Skill", Limit: 5, Selector: must(resource.ParseSelector(text))(e)}
		seen := map[string]bool{}
		for pages := 0; ; pages++ {
			p := must(n.Query(e.Context(), q))(e)
			for _, r := range p.Items {
				seen[r.Name] = true
			}
			if len(p.Items) > q.Limit || pages > 5 {
				e.Fatalf("page %d has %d items", pages, len(p.Items))
			}
			// What is written behind the reader does not disturb the pages.
			n.put(in(resource.Scope{}, skill("a"+fmt.Sprint(pages), "")))
			if q.Continue = p.Continue; p.Continue == "" {
				break
			}
		}
		if len(seen) != want {
			e.Errorf("%q: %d records in pages, want %d", text, len(seen), want)
		}
		for pages := range 6 {
			_ = n.Delete(e.Context(), "Skill", resource.Scope{}, "a"+fmt.Sprint(pages))
		}
	}
}

func testForeignContinue(e *env) {
	n := e.open()
	spread(n)
	q := store.Query{Kind: "Skill", Limit: 2}
	q.Continue = must(n.Query(e.Context(), q))(e).Continue
	q.Kind = "Slot"
	for _, token := range []string{q.Continue, "zz", "00"} {
		q.Continue = token
		if _, err := n.Query(e.Context(), q); !errors.Is(err, resource.ErrInvalid) {
			e.Errorf("continue %q: %v", token, err)
		}
	}
}

func testCanceled(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	_, get := n.Get(ctx, "Skill", resource.Scope{}, "a")
	_, list := n.ListAll(ctx, "Skill", nil)
	_, keys := n.ListKeys(ctx, "Skill")
	_, put := n.Put(ctx, skill("b", ""))
	_, apply := n.Apply(ctx, store.Batch{})
	for i, err := range []error{get, list, keys, put, apply} {
		if !errors.Is(err, context.Canceled) {
			e.Errorf("call %d: %v", i, err)
		}
	}
	n.absent("b")
}
