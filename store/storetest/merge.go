package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var mergeTests = []test{
	{"Merge/NewRecordIsTakenVerbatim", testMergeVerbatim},
	{"Merge/RepeatChangesNothing", testMergeRepeat},
	{"Merge/P2/OrderRepetitionAndRouteDoNotMatter", testAnyOrder},
	{"Merge/OlderIsIgnored", testMergeOlder},
	{"Merge/TombstoneIsOrderedLikeAWrite", testMergeTombstone},
	{"Merge/P4/SeenDeleteStaysDeleted", testDeleteStays},
	{"Merge/EnvelopeOfTheFoundationModel", testFoundationMerge},
	{"Merge/EnvelopeMustBeComplete", testFoundationInvalid},
	{"Merge/OneStampTwoWritesIsAClone", testClone},
}

func testMergeVerbatim(e *env) {
	a, b := e.pair()
	r := a.put(finalizers(status(skill("a", `{"size":1}`), `{"s":1}`), "f"), human)
	before := b.Head()
	out := b.pullEvents(a)
	if out.Applied != 1 || b.Head().Own != before.Own {
		e.Errorf("the merge came to %+v, own events %+v", out, b.Head().Own)
	}
	b.wantEvents(before.Seq, resource.EvMerged)
	got := b.get("a")
	if got.Digest != r.Digest || got.UpdatedHLC != r.UpdatedHLC || got.LastWriterID != r.LastWriterID || got.OriginInstanceID != r.OriginInstanceID ||
		got.WriterActor != r.WriterActor || got.SyncVersion != r.SyncVersion || got.UpdatedAt != r.UpdatedAt {
		e.Errorf("merged as %+v, was %+v", got.Envelope, r.Envelope)
	}
	entry := b.entries(e, before.Seq)[0]
	if entry.Event != nil || entry.Source != a.Identity().Incarnation || entry.SourceSeq != a.Head().Own.Seq {
		e.Errorf("the entry came by %s/%d", entry.Source, entry.SourceSeq)
	}
	agree(e, a, b)
}

func testMergeRepeat(e *env) {
	a, b := e.pair()
	spread(a)
	b.pullEvents(a)
	before := b.Head()
	for range 2 {
		events, records := b.pullEvents(a), b.pullRecords(e, a)
		if events.Applied+records.Applied+events.Ignored+records.Ignored != 0 || b.Head() != before {
			e.Errorf("a repeat came to %+v and %+v", events, records)
		}
	}
	back := a.pullRecords(e, b)
	if back.Applied != 0 || back.Clones != 0 {
		e.Errorf("a node's own records coming back came to %+v", back)
	}
}

// The same events in another order, twice, by another route: the same bytes.
func testAnyOrder(e *env) {
	nodes := e.fleet(3)
	a, b, c := nodes[0], nodes[1], nodes[2]
	for i := range 6 {
		for j, n := range nodes[:2] {
			n.wall.advance(time.Duration(i*j) * time.Millisecond)
			shared := status(slot("shared", fmt.Sprintf(`{"size":%d}`, i)), fmt.Sprint(j))
			n.write(by(resource.Human, store.Write{Resource: shared}))
			n.write(by(resource.Human, store.Write{Op: store.OpRelease, Kind: "Slot", Name: "shared"}))
			n.write(by(resource.Agent, store.Write{Resource: finalizers(shared, fmt.Sprint("f", i%2))}))
			if i%3 == j {
				n.write(by(resource.Human, store.Write{Op: store.OpDelete, Kind: "Slot", Name: "shared"}))
				n.write(by(resource.Human, store.Write{Resource: shared}))
			}
		}
	}
	records := append(a.outbox(e), b.outbox(e)...)
	shuffled := rand.New(rand.NewPCG(3, 4))
	d := e.bare()
	for _, in := range records {
		d.apply(e, store.Batch{Records: []store.Incoming{in}})
	}
	for range 2 {
		shuffled.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		c.apply(e, store.Batch{Records: records})
	}
	agree(e, c, d)
	converge(e, a, b, c, d)
}

func testMergeOlder(e *env) {
	a, b := e.pair()
	a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	b.put(skill("a", `{"size":2}`))
	before := b.Head()
	out := b.pullRecords(e, a)
	if out.Ignored != 1 || out.Applied != 0 || out.Conflicts != 0 {
		e.Errorf("an older version came to %+v", out)
	}
	if b.Head().Seq != before.Seq || string(b.get("a").Spec) != `{"size":2}` {
		e.Error("an older version changed something")
	}
	agree(e, b, b)
	converge(e, a, b)
}

func testMergeTombstone(e *env) {
	a, b := e.pair()
	for _, name := range []string{"a", "b"} {
		a.put(skill(name, ""))
	}
	b.pullEvents(a)
	a.remove("a")
	a.remove("b")
	b.wall.advance(time.Hour)
	b.put(skill("b", `{"size":1}`)) // later than the delete that it has not seen
	converge(e, a, b)
	for _, n := range []*node{a, b} {
		n.absent("a")
		if r := n.get("b"); r.DeletionTimestamp != nil || string(r.Spec) != `{"size":1}` || r.Incarnation != r.DeletionStamp.Point() {
			e.Errorf("a later write came back as %+v", r)
		}
	}
}

// A status, however late, and every old version of the record, however often,
// leave it deleted.
func testDeleteStays(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	b.pullEvents(a)
	old := b.outbox(e)
	old = append(old, a.outbox(e)...)
	b.wall.advance(time.Hour)
	b.write(statusWrite("a", `{"beat":1}`))
	a.remove("a")
	converge(e, a, b)
	for range 3 {
		a.apply(e, store.Batch{Records: old})
		b.apply(e, store.Batch{Records: old})
	}
	a.absent("a")
	b.absent("a")
	agree(e, a, b)
}

// foundation is a record as the foundation model ships it.
func foundation(n *node) resource.Resource {
	r := skill("a", `{"size":1}`)
	r.ID = resource.NameID(resource.GroupKind{}, resource.Scope{}, "foreign").String()
	r.UpdatedHLC, r.OriginInstanceID, r.LastWriterID, r.SyncVersion, r.Version = n.Clock().Now(), "laptop", "desktop", 7, 5
	r.ContentHash, r.SpecHash = "forged", "forged"
	r.CreatedAt = n.wall.now().Add(-time.Hour)
	return r
}

func testFoundationMerge(e *env) {
	a, b := e.pair()
	r := status(foundation(a), `{"s":1}`)
	if out := must(a.Merge(e.Context(), r))(e); out.Applied != 1 {
		e.Errorf("a merge came to %+v", out)
	}
	got := a.get("a")
	if got.ID != r.ID || got.SyncVersion != 7 || got.Version != 5 || got.UpdatedHLC != r.UpdatedHLC || got.ContentHash == "forged" ||
		got.DesiredStamp != got.ObservedStamp || string(got.Status) != `{"s":1}` || !got.CreatedAt.Equal(r.CreatedAt) {
		e.Errorf("merged as %+v", got)
	}
	if out := must(a.Merge(e.Context(), r))(e); out.Unchanged != 1 {
		e.Errorf("the same again came to %+v", out)
	}
	must(b.Merge(e.Context(), r))(e) // the same derived record on every node
	dead := r
	dead.Deleted, dead.UpdatedHLC = true, b.Clock().Now()
	must(b.Merge(e.Context(), dead))(e)
	if out := must(b.Merge(e.Context(), r))(e); out.Ignored != 1 {
		e.Errorf("an older version came to %+v", out)
	}
	b.absent("a")
	converge(e, a, b)
}

func testFoundationInvalid(e *env) {
	n := e.open()
	before := n.Head()
	for name, change := range map[string]func(*resource.Resource){
		"id": func(r *resource.Resource) { r.ID = "" }, "apiVersion": func(r *resource.Resource) { r.APIVersion = "" },
		"kind": func(r *resource.Resource) { r.Kind = "" }, "name": func(r *resource.Resource) { r.Name = "" },
		"updatedHLC":       func(r *resource.Resource) { r.UpdatedHLC = 0 },
		"originInstanceID": func(r *resource.Resource) { r.OriginInstanceID = "" },
		"lastWriterID":     func(r *resource.Resource) { r.LastWriterID = "" },
	} {
		if _, err := n.Merge(e.Context(), with(foundation(n), change)); !errors.Is(err, resource.ErrInvalid) {
			e.Errorf("without %s: %v", name, err)
		}
	}
	if n.Head() != before {
		e.Error("an invalid record left something")
	}
}

// Only two instances with one incarnation id write one stamp twice: both
// versions are found, on both, and one wins on both.
func testClone(e *env) {
	a, b := e.pair()
	r := foundation(a)
	other := with(r, func(r *resource.Resource) { r.Spec = []byte(`{"size":2}`) })
	must(a.Merge(e.Context(), r))(e)
	must(b.Merge(e.Context(), other))(e)
	for n, r := range map[*node]resource.Resource{a: other, b: r} {
		if out := must(n.Merge(e.Context(), r))(e); out.Clones != 1 || out.Conflicts != 1 {
			e.Errorf("a clone's write came to %+v", out)
		}
	}
	agree(e, a, b)
}
