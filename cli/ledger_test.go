package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// collectedPair is a fleet whose node a has collected a record that b, cut off,
// went on writing to; b then took a's state, and set its own writes aside.
func collectedPair(t *testing.T, unsent func(r *resource.Resource)) *pair {
	t.Helper()
	p := newPair(t)
	a, b := p.nodes[0], p.nodes[1]
	kind, err := resource.KindResource(resource.Kind{APIVersion: "skill.example.dev/v1", Name: "Skill", Plural: "skills"}, resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	a.put(t, kind)
	was := a.put(t, skillOf(`{"size":1}`))
	if err := p.sync(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	mine := skillOf(`{"size":1}`)
	unsent(&mine)
	b.put(t, mine)
	if err := a.store.Delete(t.Context(), "Skill", resource.Scope{}, "summarise"); err != nil {
		t.Fatal(err)
	}
	floor := store.FloorOf(a.store.State().Vector)
	if _, err := a.store.Apply(t.Context(), store.Batch{Floor: floor}); err != nil {
		t.Fatal(err)
	}
	id, err := resource.ParseID(was.ID)
	if err != nil {
		t.Fatal(err)
	}
	boot := &store.Bootstrap{Vector: a.store.State().Vector, Floor: floor, Absent: []resource.ID{id}}
	if _, err := b.store.Apply(t.Context(), store.Batch{Bootstrap: boot, Adopt: boot.Vector, Floor: floor, Member: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

func skillOf(spec string) resource.Resource {
	return resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", Name: "summarise", Spec: []byte(spec)}
}

// What was written to a record that the others had collected comes back, part by
// part, as a new record under the old name, and never over another.
func TestRestore_Collected(t *testing.T) {
	for register, unsent := range map[string]func(*resource.Resource){
		"desired":                  func(r *resource.Resource) { r.Spec = []byte(`{"size":2}`) },
		"observed":                 func(r *resource.Resource) { r.Status = []byte(`{"ready":true}`) },
		"finalizers/example.dev/f": func(r *resource.Resource) { r.Finalizers = []string{"example.dev/f"} },
	} {
		t.Run(register, func(t *testing.T) {
			b := collectedPair(t, unsent).nodes[1]
			do := func(args ...string) result { return run(t.Context(), "", []string{"DRIFTLESS_NODE=" + b.url}, args...) }
			entry := strings.TrimSpace(do("ledger", "-o", `jsonpath={.items[?(@.register=="`+register+`")].entry}`).stdout)
			if len(entry) != 16 {
				t.Fatalf("ledger: %+v", do("ledger"))
			}
			if shown := do("ledger", "show", entry).stdout; !strings.Contains(shown, "collected: its record had ended") || !strings.Contains(shown, "nothing: the record is gone") {
				t.Errorf("show:\n%s", shown)
			}
			if r := do("ledger", "restore", entry, "--as", "human"); r.code != 0 || !strings.Contains(r.stdout, "skill/summarise restored") {
				t.Fatalf("restore: %+v", r)
			}
			want := skillOf(`{"size":1}`)
			unsent(&want)
			got, err := b.store.Get(t.Context(), "Skill", resource.Scope{}, "summarise")
			if err != nil || string(got.Spec) != string(want.Spec) || string(got.Status) != string(want.Status) || strings.Join(got.Finalizers, ",") != strings.Join(want.Finalizers, ",") {
				t.Errorf("restored %+v, %v", got, err)
			}
			if r := do("ledger", "restore", entry, "--as", "human"); r.code != 1 || !strings.Contains(r.stderr, "another record has the name now") {
				t.Errorf("over the new one: %+v", r)
			}
			if left := do("ledger", "-o", "jsonpath={.items[*].entry}").stdout; !strings.Contains(left, entry) {
				t.Errorf("the entry is gone: %q", left)
			}
		})
	}
}

// Over a record that lives, a lost status is written back
// alone: the rest stays as it is.
func TestRestore_PartOfALiveRecord(t *testing.T) {
	p := newPair(t)
	a, b := p.nodes[0], p.nodes[1]
	kind, err := resource.KindResource(resource.Kind{APIVersion: "skill.example.dev/v1", Name: "Skill", Plural: "skills"}, resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	a.put(t, kind)
	a.put(t, skillOf(`{"size":1}`))
	sync := func() {
		if err := p.sync(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	sync()
	for i, n := range p.nodes {
		r := skillOf(`{"size":1}`)
		r.Status = fmt.Appendf(nil, `{"by":%d}`, i)
		n.put(t, r)
	}
	r := skillOf(`{"size":5}`)
	r.Status = []byte(`{"by":1}`)
	b.put(t, r)
	sync()
	get := func() resource.Resource {
		got, err := a.store.Get(t.Context(), "Skill", resource.Scope{}, "summarise")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := get()
	lost := map[string]string{`{"by":0}`: `{"by":1}`, `{"by":1}`: `{"by":0}`}[string(before.Status)]
	do := func(args ...string) result { return run(t.Context(), "", []string{"DRIFTLESS_NODE=" + a.url}, args...) }
	entry := strings.TrimSpace(do("ledger", "-o", `jsonpath={.items[?(@.register=="observed")].entry}`).stdout)
	out := do("ledger", "restore", entry)
	if out.code != 0 || !strings.Contains(out.stdout, "-  by: ") || !strings.Contains(out.stdout, "+  by: ") {
		t.Fatalf("restore %q: %+v\n%+v", entry, out, do("ledger"))
	}
	if got := get(); string(got.Spec) != `{"size":5}` || string(got.Status) != lost || got.Version != before.Version+1 {
		t.Errorf("restored %s, %s, want %s", got.Spec, got.Status, lost)
	}
}
