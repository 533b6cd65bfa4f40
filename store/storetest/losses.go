package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

var lossTests = []test{
	{"Ledger/EntriesHaveNames", testEntryNames},
	{"Ledger/IsReadInPages", testLedgerPages},
	{"Ledger/IsFiltered", testLedgerFilters},
	{"Ledger/P5/EachUnsentPartOfACollectedRecord", testUnsentParts},
}

// losers makes n Skills that each lost once, on both nodes of a pair.
func (e *env) losers(n int) (a, b *node) {
	a, b = e.pair()
	for i := range n {
		a.put(skill(fmt.Sprint("s", i), `{"size":0}`))
	}
	b.pullEvents(a)
	for i := range n {
		a.put(skill(fmt.Sprint("s", i), `{"size":1}`))
	}
	b.wall.advance(time.Hour)
	for i := range n {
		b.put(skill(fmt.Sprint("s", i), `{"size":2}`))
	}
	exchange(a, b)
	return a, b
}

func (n *node) page(q store.LossQuery) store.LossPage {
	n.e.Helper()
	return must(n.Losses(n.e.Context(), q))(n.e)
}

// The same loss has the same name on every node; the beginning of one will do
// while it means one alone.
func testEntryNames(e *env) {
	a, b := e.losers(40)
	names := func(n *node) (out []string) {
		for _, l := range n.losses() {
			out = append(out, l.Entry())
		}
		return out
	}
	all := names(a)
	if other := names(b); len(all) != 40 || !slices.Equal(all, other) || len(all[0]) != 16 {
		e.Fatalf("names %v and %v", all, other)
	}
	a.reopenIfPossible()
	first := map[byte]int{}
	for _, name := range all {
		first[name[0]]++
		for _, word := range []string{name, name[:8], strings.ToUpper(name), strings.NewReplacer("0", "o", "1", "l").Replace(name)} {
			if l := must(a.Loss(e.Context(), word))(e); l.Entry() != name {
				e.Errorf("%s is %s", word, l.Entry())
			}
		}
	}
	for c, n := range first {
		l, err := a.Loss(e.Context(), string(c))
		switch {
		case n == 1 && err == nil && l.Entry()[0] == c:
		case n > 1 && errors.Is(err, resource.ErrAmbiguous) && strings.Count(err.Error(), `of Skill.skill.example.dev "s`) == n:
		default:
			e.Errorf("%d entries begin with %c: %v", n, c, err)
		}
	}
	for word, want := range map[string]error{"": resource.ErrInvalid, "u": resource.ErrInvalid, all[0] + "0": resource.ErrInvalid, "zzzzzzzz": resource.ErrNotFound} {
		if _, err := a.Loss(e.Context(), word); !errors.Is(err, want) {
			e.Errorf("%q: %v, want %v", word, err, want)
		}
	}
}

func testLedgerPages(e *env) {
	a, _ := e.losers(25)
	whole := a.page(store.LossQuery{})
	if len(whole.Items) != 25 || whole.Continue != "" {
		e.Fatalf("%d entries, continue %q", len(whole.Items), whole.Continue)
	}
	for _, q := range []store.LossQuery{{Limit: 1}, {Limit: 4}, {Limit: 25}, {Limit: 100}, {Bytes: 1}, {Bytes: 2000}} {
		var names []string
		for {
			p := a.page(q)
			if q.Limit > 0 && len(p.Items) > q.Limit || q.Bytes == 1 && len(p.Items) != 1 {
				e.Fatalf("%+v: a page of %d", q, len(p.Items))
			}
			for _, l := range p.Items {
				names = append(names, l.Entry())
			}
			if q.Continue = p.Continue; q.Continue == "" {
				break
			}
		}
		if len(names) != 25 || !slices.EqualFunc(names, whole.Items, func(n string, l store.Loss) bool { return l.Entry() == n }) {
			e.Errorf("%+v: %d entries", q, len(names))
		}
	}
	for _, bad := range []store.LossQuery{{Continue: "xyz"}, {ID: whole.Items[0].Record.ID, Continue: "00"}} {
		if _, err := a.Losses(e.Context(), bad); !errors.Is(err, resource.ErrInvalid) {
			e.Errorf("%+v: %v", bad, err)
		}
	}
}

func testLedgerFilters(e *env) {
	a, _ := e.losers(3)
	id := must(resource.ParseID(a.get("s1").ID))(e)
	atlas := resource.Scope{Project: "atlas"}
	for _, c := range []struct {
		q    store.LossQuery
		want int
	}{
		{store.LossQuery{ID: id}, 1},
		{store.LossQuery{ID: resource.ID{1}}, 0},
		{store.LossQuery{Kind: "skill"}, 3},
		{store.LossQuery{Kind: "Slot"}, 0},
		{store.LossQuery{Kind: "Unheard.of.example.dev"}, 0},
		{store.LossQuery{Scope: &resource.Scope{}, Name: "s2"}, 1},
		{store.LossQuery{Scope: &atlas}, 0},
		{store.LossQuery{Reason: "later"}, 3},
		{store.LossQuery{Reason: "outranked"}, 0},
		{store.LossQuery{ID: id, Name: "s2"}, 0},
	} {
		if p := a.page(c.q); len(p.Items) != c.want || p.Continue != "" {
			e.Errorf("%+v: %d entries, want %d", c.q, len(p.Items), c.want)
		}
	}
}

// What was written apart to a record that the others have collected is set
// aside part by part, also when the ledger had met the record before.
func testUnsentParts(e *env) {
	a, b, r := e.stale()
	b.write(statusWrite("gone", "1")) // unsent, to a record that has ended
	b.put(finalizers(status(skill("gone", `{"size":1}`), "1"), "example.dev/f"))
	b.bootstrap(a, r.ID)
	b.forgotten(r.ID)
	var parts []string
	for _, l := range b.losses() {
		parts = append(parts, l.Register)
		if l.Reason != resolve.Collected || l.Record.Observed == nil || string(l.Record.Observed.Value.Status) == "" {
			e.Errorf("entry %+v", l)
		}
		if found := must(b.Loss(e.Context(), l.Entry()))(e); found.Register != l.Register {
			e.Errorf("%s is %+v", l.Entry(), found)
		}
	}
	slices.Sort(parts)
	if want := []string{"finalizers/example.dev/f", "observed"}; !slices.Equal(parts, want) {
		e.Errorf("the ledger has %v, want %v", parts, want)
	}
}
