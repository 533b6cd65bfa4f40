package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

func writeNote(t *testing.T, s *store.Store, name, spec string) {
	t.Helper()
	if _, err := s.Put(t.Context(), with(named(name), func(r *resource.Resource) { r.Spec = []byte(spec) })); err != nil {
		t.Fatal(err)
	}
}

// P1: a write whose past nobody could confirm goes under a new incarnation; a
// write that is refused, or changes nothing, mints none.
func TestIncarnation_UnansweredMintsWithTheFirstWrite(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	writeNote(t, s, "a", `{"n":1}`)
	before, head := s.Identity(), s.Head()
	s.Await()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Await() // asking twice is asking once
	if _, err := s.Put(ended, named("b")); !errors.Is(err, store.ErrUnconfirmed) && !errors.Is(err, context.Canceled) {
		t.Errorf("put before the answer: %v", err)
	}
	s.Unanswered()
	writeNote(t, s, "a", `{"n":1}`) // says what is there
	if _, err := s.Put(t.Context(), with(named("a"), func(r *resource.Resource) { r.SyncVersion = 99 })); !errors.Is(err, resource.ErrConflict) {
		t.Errorf("put under a stale version: %v", err)
	}
	if s.Identity() != before {
		t.Fatal("nothing was written, and the incarnation changed")
	}
	writeNote(t, s, "a", `{"n":2}`)
	after := s.Identity()
	if after.Incarnation == before.Incarnation || after.Instance != before.Instance || after.LogID != before.LogID {
		t.Errorf("identity %+v, was %+v", after, before)
	}
	if v := s.State().Vector; v[before.Incarnation] != head.Own || v[after.Incarnation].Seq != 1 {
		t.Errorf("vector %v", v)
	}
	if n := len(outbox(t, s)); n != int(head.Own.Seq)+1 {
		t.Errorf("%d events in the outbox, want all of both incarnations", n)
	}
	sound(t, s)
	reopened := open(t, e.Reopen())
	if reopened.Identity() != after || len(outbox(t, reopened)) != int(head.Own.Seq)+1 {
		t.Error("a restart forgot the new incarnation, or the old one's events")
	}
	peer := open(t, memory.NewEngine())
	pull(t, peer, s)
	if peer.State().Super != s.State().Super {
		t.Error("the peer has something else")
	}
}

func TestIncarnation_ConfirmedKeepsItsOwn(t *testing.T) {
	s := notes(t, memory.NewEngine())
	before := s.Identity()
	s.Await()
	s.Confirm()
	writeNote(t, s, "a", `{}`)
	if s.Identity() != before {
		t.Error("a confirmed store changed its incarnation")
	}
}

// P5: two copies of one store both wrote on. The one that learns of it gives
// its own part to a new incarnation, and nothing of either is lost.
func TestIncarnation_ForkIsReissued(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	writeNote(t, s, "shared", `{"n":1}`)
	keep := s.Head().Own
	clone := open(t, e.Reopen())
	writeNote(t, s, "shared", `{"by":"s"}`)
	writeNote(t, s, "s", `{}`)
	for i := range 3 {
		writeNote(t, clone, "shared", fmt.Sprintf(`{"by":"clone","n":%d}`, i))
	}
	writeNote(t, clone, "clone", `{}`)
	peer := open(t, memory.NewEngine())
	pull(t, peer, s)
	for claim, want := range map[store.Position]store.Vouching{
		{}: store.Shared, keep: store.Shared, s.Head().Own: store.Forked, {Seq: 99}: store.Beyond,
	} {
		if got, err := clone.Vouch(claim); err != nil || got != want {
			t.Errorf("vouch for %d: %v, %v, want %v", claim.Seq, got, err, want)
		}
	}
	// The clone's own events are of another chain: none of them is taken.
	before := peer.State().Super
	if out := pull(t, peer, clone); out.Held == 0 || out.Applied != 0 || peer.State().Super != before {
		t.Errorf("a forked chain was taken: %+v", out)
	}
	if err := clone.Reincarnate(t.Context(), store.Reincarnation{Fork: true, Keep: keep.Seq}); err != nil {
		t.Fatal(err)
	}
	sound(t, clone)
	if v := clone.State().Vector; v[s.Identity().Incarnation] != keep || clone.Identity().Instance != s.Identity().Instance {
		t.Errorf("vector %v after the fork at %+v", v, keep)
	}
	for range 2 {
		pull(t, peer, clone)
		pull(t, clone, peer)
		pull(t, clone, s)
		pull(t, s, clone)
	}
	if peer.State().Super != s.State().Super || clone.State().Super != s.State().Super {
		t.Error("the three do not agree")
	}
	if _, err := peer.Get(t.Context(), "Note", resource.Scope{}, "clone"); err != nil {
		t.Errorf("the clone's record is lost: %v", err)
	}
	lost, err := peer.Ledger(100)
	if err != nil || len(lost) != 1 {
		t.Errorf("one of the two writes to the shared record lost: ledger %+v, %v", lost, err)
	}
}

// Everything in a record that named the shared incarnation's later writes names
// the new one's.
func TestReissue_RenamesWhatRefersToTheWrites(t *testing.T) {
	e := memory.NewEngine()
	s := notes(t, e)
	writeNote(t, s, "keep", `{}`)
	keep := s.Head().Own
	r := named("a")
	r.Finalizers = []string{"example.dev/f"}
	for _, w := range []store.Write{
		{Resource: r}, {Op: store.OpDelete, Kind: "Note", Name: "a"}, {Op: store.OpStatus, Kind: "Note", Name: "a", Resource: resource.Resource{Status: []byte(`{}`)}},
	} {
		if _, err := s.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	old := s.Identity().Incarnation
	if err := s.Reincarnate(t.Context(), store.Reincarnation{Fork: true, Keep: keep.Seq}); err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	rec := outbox(t, s)
	last := &rec[len(rec)-1].Record
	var points []resource.Point
	for p := range last.Points() {
		points = append(points, p)
	}
	points = append(points, last.Observed.Value.Incarnation)
	points = append(points, last.Desired.Context...)
	points = append(points, last.Deletion.Context...)
	for _, p := range points {
		if p.Writer == old && p.HLC > keep.HLC {
			t.Errorf("%s still names the shared incarnation", p)
		}
	}
	if !slices.Contains(points, resource.Point{HLC: last.Deletion.Stamp.HLC, Writer: s.Identity().Incarnation}) {
		t.Error("the deletion was not renamed")
	}
}
