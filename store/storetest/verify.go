package storetest

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"driftless.dev/merkle"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// state is what outlives a restart.
type state struct {
	super   merkle.Root
	head    store.Head
	vector  store.Vector
	records map[resource.ID][]byte
}

// state reads all of a store, records by the keys of its tries.
func (n *node) state(t failer) state {
	t.Helper()
	st := n.State()
	out := state{super: st.Super, head: st.Head, vector: st.Vector, records: map[resource.ID][]byte{}}
	for _, realm := range st.Realms {
		var places []merkle.Key
		for row := range realm.View.Rows(merkle.Prefix{}) {
			places = append(places, row.Key)
		}
		frames, done, err := n.RecordsAt(realm.Realm, places, 1<<30)
		if err != nil || done != len(places) || len(frames) != realm.Records {
			t.Fatalf("realm %s: %d of %d places, %d frames, %v", realm.Realm, done, len(places), len(frames), err)
		}
		for _, f := range frames {
			rec := must(resource.DecodeRecord(f))(t)
			out.records[rec.ID] = f
		}
	}
	return out
}

func (s state) sameAs(t failer, o state) {
	t.Helper()
	if s.super != o.super || s.head != o.head || !maps.Equal(s.vector, o.vector) {
		t.Errorf("the states differ:\n%+v %v %v\n%+v %v %v", s.head, s.super, s.vector, o.head, o.super, o.vector)
	}
	s.sameRecords(t, o)
}

func (s state) sameRecords(t failer, o state) {
	t.Helper()
	if !maps.EqualFunc(s.records, o.records, bytes.Equal) {
		t.Errorf("the records differ: %d and %d of them", len(s.records), len(o.records))
	}
}

// verify checks the whole store: by its own Check, and by a fold of its log
// that shares no code with it.
func (n *node) verify() {
	n.e.Helper()
	n.verifyFor(n.e)
}

func (n *node) verifyFor(t failer) {
	t.Helper()
	problems, err := n.Check()
	if err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %q", err, problems)
	}
	folded := n.fold(t)
	st := n.state(t)
	st.sameRecords(t, state{records: folded})
	if own := st.vector[n.Identity().Incarnation]; own != st.head.Own {
		t.Errorf("the vector says own %+v, the head %+v", own, st.head.Own)
	}
	n.verifyReads(t, folded)
}

// fold is the projection as the log tells it.
func (n *node) fold(t failer) map[resource.ID][]byte {
	t.Helper()
	out := map[resource.ID][]byte{}
	for _, e := range n.entries(t, 0) {
		if e.Collected() {
			delete(out, e.Record.ID)
		} else {
			out[e.Record.ID] = e.Record.AppendTo(nil)
		}
	}
	return out
}

// entries reads the log after a sequence.
func (n *node) entries(t failer, after uint64) (out []store.Entry) {
	t.Helper()
	_, err := n.Entries(after, 1<<30, func(e store.Entry) error {
		out = append(out, e)
		return nil
	})
	return must(out, err)(t)
}

// verifyReads compares listings and reads by id with what they should say.
func (n *node) verifyReads(t failer, records map[resource.ID][]byte) {
	t.Helper()
	ctx := context.Background()
	want := map[resource.GroupKind][]resource.Resource{}
	for id, frame := range records {
		rec := must(resource.DecodeRecord(frame))(t)
		_, known := n.Registry().LookupKind(rec.Kind)
		if _, err := n.GetByID(ctx, id.String()); (err == nil) != (known && !rec.Deleted()) {
			t.Errorf("get %s: %v, deleted %v, kind known %v", id, err, rec.Deleted(), known)
		}
		if known && !rec.Deleted() {
			want[rec.Kind] = append(want[rec.Kind], rec.Resource())
		}
	}
	for _, k := range n.Registry().Kinds() {
		listed := must(n.ListAll(ctx, k.GroupKind().String(), nil))(t)
		expected := want[k.GroupKind()]
		slices.SortFunc(expected, byAddress)
		if !slices.EqualFunc(listed, expected, func(a, b resource.Resource) bool { return a.Digest == b.Digest }) {
			t.Errorf("list of %s: %d records, want %d, or another order", k.GroupKind(), len(listed), len(expected))
		}
	}
}

func byAddress(a, b resource.Resource) int {
	return cmp.Or(a.Scope.Compare(b.Scope), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
