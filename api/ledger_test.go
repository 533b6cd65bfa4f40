package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// lossesOf gives the server's node n Skills, each of which lost once to another
// node's version.
func lossesOf(t *testing.T, e *env, n int) {
	t.Helper()
	o := newOther(t)
	for i := range n {
		r := resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", Name: fmt.Sprint("s", i), Spec: []byte(`{"size":1}`)}
		theirs := o.put(r)
		o.mergeInto(e, theirs)
		e.ok(200, "PUT", "/v1/ids/"+theirs.ID, `{"metadata":{},"spec":{"size":2}}`)
		r.Spec = []byte(`{"size":3}`)
		rec, err := resource.FromEnvelope(o.put(r))
		if err != nil {
			t.Fatal(err)
		}
		in := store.Incoming{Record: rec, From: o.Identity().Instance}
		if _, err := e.node.store.Apply(t.Context(), store.Batch{Records: []store.Incoming{in}}); err != nil {
			t.Fatal(err)
		}
	}
}

// P5: the ledger is read page by page, whole, and each entry by its name.
func TestLedger(t *testing.T) {
	e := newEnv(t)
	lossesOf(t, e, 7)
	var names []string
	var all []fleet.Loss
	for next := ""; ; {
		target := "/v1/ledger?limit=3&reason=later&kind=skill&scope=global"
		if next != "" {
			target += "&continue=" + next
		}
		var page fleet.List[fleet.Loss]
		unmarshal(t, e.ok(200, "GET", target, "").Body.Bytes(), &page)
		if len(page.Items) > 3 {
			t.Errorf("a page of %d", len(page.Items))
		}
		for _, l := range page.Items {
			names, all = append(names, l.Entry), append(all, l)
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	sorted := slices.Sorted(slices.Values(names))
	if len(names) != 7 || len(slices.Compact(sorted)) != 7 {
		t.Fatalf("entries %v", names)
	}
	for _, want := range all {
		var l, prefix fleet.Loss
		unmarshal(t, e.ok(200, "GET", "/v1/ledger/"+want.Entry, "").Body.Bytes(), &l)
		unmarshal(t, e.ok(200, "GET", "/v1/ledger/"+strings.ToUpper(want.Entry[:12]), "").Body.Bytes(), &prefix)
		if l.ID != want.ID || l.From == "" || l.Winner == "" || l.Actor != "agent" || prefix.Entry != l.Entry || !strings.Contains(string(l.Resource), `"spec":{"size":3}`) {
			t.Errorf("entry %+v", l)
		}
	}
	var one fleet.List[fleet.Loss]
	unmarshal(t, e.ok(200, "GET", "/v1/ledger?name=s3&id="+all[0].ID, "").Body.Bytes(), &one)
	if want := all[0].Name == "s3"; (len(one.Items) == 1) != want {
		t.Errorf("by name and id: %+v", one)
	}
}

// Whoever wrote, won and told goes by the member's name where there is one.
func TestLedger_NamesMembers(t *testing.T) {
	e := newEnv(t)
	lossesOf(t, e, 1)
	var page fleet.List[fleet.Loss]
	unmarshal(t, e.ok(200, "GET", "/v1/ledger", "").Body.Bytes(), &page)
	l := page.Items[0]
	member := func(instance, name, incarnation string) {
		_, err := e.node.store.Put(t.Context(), resource.Resource{
			APIVersion: resource.CoreGroupVersion, Kind: resource.MemberKind, Name: instance,
			Spec: []byte(fmt.Sprintf(`{"name":%q,"incarnations":[%q],"realms":["*"]}`, name, incarnation)),
		}, store.As(resource.System))
		if err != nil {
			t.Fatal(err)
		}
	}
	_, winner, _ := strings.Cut(l.Winner, "@")
	member(l.From, "there", l.Writer)
	member(e.node.store.Identity().Instance.String(), "here", winner)
	unmarshal(t, e.ok(200, "GET", "/v1/ledger/"+l.Entry, "").Body.Bytes(), &l)
	if l.FromName != "there" || l.WriterName != "there" || l.WinnerName != "here" {
		t.Errorf("names %+v", l)
	}
}
