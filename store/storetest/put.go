package storetest

import (
	"maps"
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
	"github.com/google/go-cmp/cmp"
)

var putTests = []test{
	{"Put/CountsVersions", testVersions},
	{"Put/IdenticalWritesNoEvent", testIdentical},
	{"Put/RankRiseRestamps", testRankRise},
	{"Put/WholeRecordClearsWhatIsAbsent", testWhole},
	{"Put/PartsNotGivenStay", testGiven},
	{"Put/StampsOnlyWhatChanges", testStampsOnlyChanges},
	{"Put/SystemFieldsAreIgnored", testSystemFields},
	{"Put/OneStampPerWrite", testEnvelopeTriple},
	{"Put/ResultsShareNoMemory", testNoAliases},
	{"Status/WritesObservedAlone", testStatusAlone},
	{"Status/CannotUndeleteOrCreate", testStatusCannotUndelete},
	{"Status/RaisedRankRestamps", testStatusRank},
}

// SyncVersion counts writes, Version those that changed desired or observed.
func testVersions(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	for _, step := range []struct {
		what          string
		change        func(*resource.Resource)
		sync, version int64
	}{
		{"create", func(r *resource.Resource) { r.Status = []byte("{}") }, 1, 1},
		{"spec", func(r *resource.Resource) { r.Spec = []byte(`{"size":1}`) }, 2, 2},
		{"nothing", func(*resource.Resource) {}, 2, 2},
		{"label", func(r *resource.Resource) { r.Labels = map[string]string{"a": "b"} }, 3, 3},
		{"annotation", func(r *resource.Resource) { r.Annotations = map[string]string{"a": "b"} }, 4, 4},
		{"status", func(r *resource.Resource) { r.Status = []byte(`{"ready":true}`) }, 5, 5},
		{"spec and status", func(r *resource.Resource) { r.Spec, r.Status = []byte("{}"), []byte("[]") }, 6, 6},
		{"finalizer", func(r *resource.Resource) { r.Finalizers = []string{"f"} }, 7, 6},
		{"owner", func(r *resource.Resource) { r.OwnerReferences = []resource.OwnerReference{{ID: owner.ID}} }, 8, 7},
		{"valid time", func(r *resource.Resource) { r.ValidTo = &r.CreatedAt }, 9, 8},
		{"no finalizer", func(r *resource.Resource) { r.Finalizers = nil }, 10, 8},
	} {
		r := skill("a", "")
		if step.sync > 1 {
			r = n.get("a")
		}
		r = n.put(with(r, step.change))
		if r.SyncVersion != step.sync || r.Version != step.version {
			e.Errorf("%s: versions %d and %d, want %d and %d", step.what, r.SyncVersion, r.Version, step.sync, step.version)
		}
	}
}

func testIdentical(e *env) {
	n := e.open()
	r := finalizers(status(skill("a", `{"size":1,"text":"<é>"}`), `{"ok":1.0}`), "f", "e")
	r.Labels = map[string]string{"a": "b"}
	first := n.put(r)
	before := n.Head()
	n.wall.advance(1e9)
	r.Spec, r.Status, r.Finalizers = []byte(" {\"text\":\"<\\u00e9>\",\n\"size\":1}"), []byte(`{ "ok" : 1.0 }`), []string{"e", "f"}
	w := n.write(store.Write{Resource: r})
	if w.Changed || w.Created || w.OriginSeq != 0 || w.Seq != before.Seq || w.HLC != first.UpdatedHLC {
		e.Errorf("an identical put came to %+v", w)
	}
	if diff := cmp.Diff(first, w.Resource); diff != "" || n.Head() != before {
		e.Errorf("an identical put changed something: %s", diff)
	}
	r.Status = []byte(`{"ok":1}`)
	if !n.write(store.Write{Resource: r}).Changed {
		e.Error("1.0 and 1 are one number in a status")
	}
}

// A call that raises the rank writes an event though the content is the same.
func testRankRise(e *env) {
	n := e.open()
	n.put(skill("a", `{}`))
	w := n.write(by(resource.Human, store.Write{Resource: skill("a", `{}`)}))
	if !w.Changed || w.Resource.SyncVersion != 2 || w.Resource.Version != 1 || w.Resource.WriterActor != resource.Human {
		e.Errorf("a person's identical put came to %+v", w)
	}
	if w := n.write(by(resource.Human, store.Write{Resource: skill("a", `{}`)})); w.Changed {
		e.Error("the second one wrote an event")
	}
	// Agent and system rank alike; automation asking for what is there is fine.
	if w := n.write(by(resource.System, store.Write{Resource: skill("a", `{}`)})); w.Changed || w.Resource.WriterActor != resource.Human {
		e.Errorf("an identical automated put came to %+v", w)
	}
}

func testWhole(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	full := finalizers(status(skill("a", `{"size":1}`), `{}`), "f")
	full.Labels, full.Annotations = map[string]string{"l": "1"}, map[string]string{"a": "1"}
	full.OwnerReferences = []resource.OwnerReference{{ID: owner.ID}}
	n.put(full)
	r := n.put(skill("a", ""))
	if r.Finalizers != nil || r.Status != nil || r.OwnerReferences != nil || r.Labels != nil || r.Annotations != nil || r.Spec != nil {
		e.Errorf("a whole-record put left %+v", r)
	}
}

func testGiven(e *env) {
	n := e.open()
	owner := n.put(skill("owner", ""))
	full := finalizers(status(skill("a", `{"size":1}`), `{"s":1}`), "f")
	full.OwnerReferences = []resource.OwnerReference{{ID: owner.ID}}
	full = n.put(full)
	w := n.write(store.Write{Resource: skill("a", `{"size":2}`), Given: &resource.Given{}})
	got := w.Resource
	if len(got.Finalizers) != 1 || len(got.OwnerReferences) != 1 || string(got.Status) != `{"s":1}` || string(got.Spec) != `{"size":2}` {
		e.Errorf("parts that were not given came to %+v", got)
	}
	if got.ObservedStamp != full.ObservedStamp {
		e.Error("a status that was not given was stamped")
	}
	got = n.write(store.Write{Resource: skill("a", `{"size":2}`), Given: &resource.Given{Finalizers: true, OwnerReferences: true}}).Resource
	if got.Finalizers != nil || got.OwnerReferences != nil || got.Status == nil {
		e.Errorf("empty parts that were given came to %+v", got)
	}
	n.write(store.Write{Resource: skill("new", ""), Given: &resource.Given{}})
}

func testStampsOnlyChanges(e *env) {
	n := e.open()
	first := n.put(finalizers(status(skill("a", ""), `{"s":1}`), "f"))
	spec := n.put(finalizers(status(skill("a", `{"size":1}`), `{"s":1}`), "f"))
	if spec.DesiredStamp == first.DesiredStamp || spec.ObservedStamp != first.ObservedStamp {
		e.Error("a spec change stamped otherwise than desired alone")
	}
	state := n.put(finalizers(status(skill("a", `{"size":1}`), `{"s":2}`), "f"))
	if state.DesiredStamp != spec.DesiredStamp || state.ObservedStamp == spec.ObservedStamp {
		e.Error("a status change stamped otherwise than observed alone")
	}
	if fin := n.put(status(skill("a", `{"size":1}`), `{"s":2}`)); fin.DesiredStamp != state.DesiredStamp || fin.ObservedStamp != state.ObservedStamp {
		e.Error("a finalizer change stamped a register")
	}
}

// What the system owns is ignored on write.
func testSystemFields(e *env) {
	n := e.open()
	want := n.put(skill("a", `{}`))
	forged := skill("a", `{"size":1}`)
	forged.Version, forged.OriginInstanceID, forged.UpdatedHLC, forged.LastWriterID = 99, "me", 1<<60, "me"
	forged.WriterActor, forged.Deleted, forged.ContentHash = resource.Human, true, strings.Repeat("0", 64)
	forged.CreatedAt, forged.UpdatedAt = forged.CreatedAt.AddDate(1, 0, 0), forged.UpdatedAt.AddDate(1, 0, 0)
	got := n.put(forged)
	if got.Version != 2 || got.OriginInstanceID != want.OriginInstanceID || got.LastWriterID != want.LastWriterID || got.UpdatedHLC > 1<<59 ||
		got.WriterActor != resource.Agent || got.Deleted || got.ContentHash == forged.ContentHash || got.CreatedAt != want.CreatedAt {
		e.Errorf("forged fields came to %+v", got.Envelope)
	}
}

// UpdatedHLC, LastWriterID and WriterActor are one triple, origin is the
// instance.
func testEnvelopeTriple(e *env) {
	n := e.open()
	w := n.write(by(resource.System, store.Write{Resource: skill("a", `{}`)}))
	r := w.Resource
	if r.UpdatedHLC != w.HLC || r.LastWriterID != n.Identity().Incarnation.String() || r.WriterActor != resource.System ||
		r.OriginInstanceID != n.Identity().Instance.String() || !r.UpdatedAt.Equal(n.wall.now()) || !r.CreatedAt.Equal(n.wall.now()) {
		e.Errorf("envelope %+v", r.Envelope)
	}
}

func testNoAliases(e *env) {
	n := e.open()
	given := finalizers(status(skill("a", `{"size":1}`), `{"s":1}`), "f")
	given.Labels = map[string]string{"l": "1"}
	want := n.put(given)
	spoil := func(r resource.Resource) {
		r.Labels["l"], r.Finalizers[0] = "spoilt", "spoilt"
		r.Spec[2], r.Status[2] = 'X', 'X'
	}
	for _, r := range []resource.Resource{given, n.get("a"), must(n.ListAll(e.Context(), "Skill", nil))(e)[0]} {
		r.Labels = maps.Clone(r.Labels)
		spoil(r)
	}
	if diff := cmp.Diff(want, n.get("a")); diff != "" {
		e.Errorf("changing what was given or returned changed the store: %s", diff)
	}
}

func statusWrite(name, text string) store.Write {
	w := at(store.OpStatus, name)
	w.Resource.Status = []byte(text)
	return w
}

func testStatusAlone(e *env) {
	n := e.open()
	first := n.put(finalizers(skill("a", `{"size":1}`), "f"), human)
	r := n.write(statusWrite("a", `{"b":1, "a":2}`)).Resource
	if string(r.Status) != `{"a":2,"b":1}` || r.DesiredStamp != first.DesiredStamp || len(r.Finalizers) != 1 || r.SpecHash != first.SpecHash {
		e.Errorf("a status write came to %+v", r)
	}
	if r.WriterActor != resource.Human || r.ObservedStamp.Actor != resource.Agent {
		e.Error("a controller's status changed who holds the record")
	}
	if n.write(statusWrite("a", `{"a":2,"b":1}`)).Changed {
		e.Error("an identical status wrote an event")
	}
	if r := n.write(statusWrite("a", `null`)).Resource; r.Status != nil {
		e.Errorf("null left status %s", r.Status)
	}
}

func testStatusCannotUndelete(e *env) {
	n := e.open()
	n.refuse(resource.ErrNotFound, statusWrite("a", `{}`))
	n.put(skill("a", ""))
	n.remove("a")
	n.refuse(resource.ErrNotFound, statusWrite("a", `{}`))
}

// A holder that confirms a status under its own, higher epoch must not lose it
// to the last holder's late write.
func testStatusRank(e *env) {
	n := e.open()
	n.put(status(skill("a", ""), `{"s":1}`))
	epoch := n.write(at(store.OpClaim, "a")).Resource.DesiredStamp.Epoch
	confirm := statusWrite("a", `{"s":1}`)
	confirm.Epoch = epoch
	w := n.write(confirm)
	if !w.Changed || w.Resource.ObservedStamp.Epoch != epoch || w.Resource.Version != 1 {
		e.Errorf("the confirmation came to %+v", w)
	}
	if n.write(confirm).Changed {
		e.Error("the second one wrote an event")
	}
}
