package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var eventTests = []test{
	{"Events/CarryThePostImage", testPostImage},
	{"Events/TellWhatTheRecordWas", testPrevious},
	{"Events/DotsAreContiguousAndChained", testDots},
	{"Events/NameTheirPredecessorInTheRealm", testRealmChain},
	{"Events/P8/EntriesAreReadInOrderFromAnywhere", testEntries},
	{"Events/ChangedClosesAfterACommit", testChanged},
	{"Outbox/HoldsOwnEventsOnly", testOutbox},
	{"Outbox/StagedCursorRidesInTheNextTransaction", testStaged},
	{"Events/SeededRunGivesIdenticalBytes", testSeeded},
}

// wantEvents fails unless the log after a sequence has events of these types.
func (n *node) wantEvents(after uint64, types ...string) {
	n.e.Helper()
	var got []string
	for _, entry := range n.entries(n.e, after) {
		got = append(got, entry.Type())
	}
	if !slices.Equal(got, types) {
		n.e.Errorf("events %v, want %v", got, types)
	}
}

func testPostImage(e *env) {
	n := e.open()
	before := n.Head().Seq
	w := n.write(store.Write{Resource: skill("a", `{"size":1}`)})
	entry := n.entries(e, before)[0]
	rec := n.record(e, w.Resource.ID)
	if entry.Seq != w.Seq || entry.Event == nil || entry.Event.Seq != w.OriginSeq || entry.Event.Incarnation != w.Incarnation || entry.Event.HLC != w.HLC {
		e.Errorf("entry %+v of write %+v", entry, w)
	}
	if !bytes.Equal(entry.Record.AppendTo(nil), rec.AppendTo(nil)) {
		e.Error("the event's record is not the projection's")
	}
	must(0, entry.Event.Validate())(e)
}

func testPrevious(e *env) {
	n := e.open()
	labelled := with(skill("a", ""), func(r *resource.Resource) { r.Labels = map[string]string{"l": "1"} })
	before := n.Head().Seq
	n.put(labelled)
	n.put(skill("other", ""))
	n.put(skill("a", ""))
	n.remove("a")
	n.put(labelled)
	log := slices.DeleteFunc(n.entries(e, before), func(en store.Entry) bool { return en.Record.Name != "a" })
	for i, want := range []struct {
		prev  uint64
		live  bool
		label string
	}{{0, false, ""}, {before + 1, true, "1"}, {before + 3, true, ""}, {before + 4, false, ""}} {
		if got := log[i]; got.PrevSeq != want.prev || got.WasLive != want.live || got.OldLabels["l"] != want.label {
			e.Errorf("entry %d: previous %d, live %v, labels %v, want %+v", i, got.PrevSeq, got.WasLive, got.OldLabels, want)
		}
	}
}

func testDots(e *env) {
	n := e.open()
	spread(n)
	n.reopenIfPossible()
	spread(n) // no change, no event
	n.put(skill("last", ""))
	var seq uint64
	var hash [32]byte
	for _, entry := range n.entries(e, 0) {
		ev := entry.Event
		if seq++; ev.Seq != seq || ev.PrevHash != hash || ev.Incarnation != n.Identity().Incarnation {
			e.Fatalf("event %d of %s does not follow %d", ev.Seq, ev.Incarnation, seq-1)
		}
		hash = ev.Hash()
	}
	if own := n.Head().Own; own.Seq != seq || own.Hash != hash {
		e.Errorf("the head is %+v, the last event %d", own, seq)
	}
}

func testRealmChain(e *env) {
	n := e.open()
	spread(n)
	n.reopenIfPossible()
	n.put(in(resource.Scope{Project: "b"}, skill("z", "")))
	last := map[string]uint64{}
	for _, entry := range n.entries(e, 0) {
		realm := entry.Record.Realm()
		if entry.Event.RealmPrev != last[realm] {
			e.Errorf("event %d of realm %s follows %d, want %d", entry.Event.Seq, realm, entry.Event.RealmPrev, last[realm])
		}
		last[realm] = entry.Event.Seq
	}
	if len(last) != 3 {
		e.Errorf("realms %v", last)
	}
}

func testEntries(e *env) {
	n := e.open()
	spread(n)
	all := n.entries(e, 0)
	for after := range uint64(len(all) + 2) {
		var got []uint64
		last, err := n.Entries(after, 3, func(en store.Entry) error { got = append(got, en.Seq); return nil })
		for i, seq := range got {
			if seq != after+uint64(i)+1 {
				e.Errorf("after %d: %v", after, got)
			}
		}
		if want := min(3, max(0, len(all)-int(after))); err != nil || len(got) != want || last != after+uint64(want) {
			e.Errorf("after %d: %v, last %d, %v", after, got, last, err)
		}
	}
	stop := fmt.Errorf("enough")
	if last, err := n.Entries(0, 10, func(store.Entry) error { return stop }); err != stop || last != 0 {
		e.Errorf("a reader's error came back as %v at %d", err, last)
	}
}

func testChanged(e *env) {
	n := e.open()
	changed, head := n.Changed()
	n.write(store.Write{Resource: skill("a", ""), DryRun: true})
	select {
	case <-changed:
		e.Error("closed by nothing")
	default:
	}
	n.put(skill("a", ""))
	<-changed
	if _, next := n.Changed(); next.Seq != head.Seq+1 {
		e.Errorf("head %d, was %d", next.Seq, head.Seq)
	}
}

func testOutbox(e *env) {
	a, b := e.pair()
	b.put(skill("b", ""))
	a.pullEvents(b)
	mine := a.put(skill("a", ""))
	events, last := a.outbox(e), a.Head().Seq
	for i, in := range events {
		if in.Event.Incarnation != a.Identity().Incarnation || in.Event.Seq != uint64(i+1) {
			e.Errorf("event %d is %s/%d", i, in.Event.Incarnation, in.Event.Seq)
		}
	}
	if got := events[len(events)-1].Record.ID.String(); got != mine.ID {
		e.Errorf("the last is of %s", got)
	}
	if rest, end, err := a.Outbox(last, 10); len(rest) != 0 || end != last || err != nil {
		e.Errorf("past the end: %d events, %d, %v", len(rest), end, err)
	}
}

// A staged cursor rides in the next transaction and makes none of its own.
func testStaged(e *env) {
	n := e.open()
	before := n.Head()
	n.Stage("published", []byte("3"))
	if data := must(n.Cursor("published"))(e); data != nil || n.Head() != before {
		e.Errorf("a staged cursor was written alone: %q", data)
	}
	n.put(skill("a", ""))
	n.apply(e, store.Batch{Cursor: "published", CursorData: []byte("4")})
	n.put(skill("b", "")) // what was staged is not written twice
	n.Stage("published", []byte("5"))
	n.reopenIfPossible()
	if data := must(n.Cursor("published"))(e); string(data) != "4" {
		e.Errorf("cursor %q", data)
	}
}

// Nothing depends on the time of day, the order of a map or a goroutine.
func testSeeded(e *env) {
	run := func() []byte {
		n := e.open(func(c *store.Config) { c.Random = rand.NewChaCha8([32]byte{9}) })
		choice := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			n.wall.advance(time.Duration(choice.IntN(3)) * time.Millisecond)
			w := at(store.Op(choice.IntN(7)), fmt.Sprint("n", choice.IntN(5)))
			w.Actor, w.Resource = resource.Actor(choice.IntN(3)), skill(w.Name, fmt.Sprintf(`{"size":%d}`, choice.IntN(3)))
			w.Resource.Labels = map[string]string{"a": "1", "b": "2", "c": fmt.Sprint(choice.IntN(2))}
			_, _ = n.Write(e.Context(), w) // what is refused is refused twice
		}
		var log []byte
		for _, entry := range n.entries(e, 0) {
			log = entry.Event.AppendTo(log)
		}
		return log
	}
	if a, b := run(), run(); !bytes.Equal(a, b) || len(a) == 0 {
		e.Errorf("two seeded runs wrote %d and %d bytes that differ", len(a), len(b))
	}
}
