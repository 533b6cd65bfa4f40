package resource_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// foundation is a resource of the foundation model: one envelope, free-form
// writer names.
func foundation() resource.Resource {
	return resource.Resource{
		APIVersion: "skill.example.dev/v1", Kind: "Skill", ID: someID, Name: "summarise", Spec: []byte(`{"b":1,"a":2}`), Status: []byte(`{"ok":true}`),
		Envelope: resource.Envelope{
			SyncVersion: 4, Version: 2, OriginInstanceID: "laptop", UpdatedHLC: hlc.At(50, 3), LastWriterID: "laptop", WriterActor: resource.Human,
			Finalizers: []string{"b", "a"}, CreatedAt: ms(20),
		},
	}
}

func TestFromEnvelope_StampsEveryRegisterByIt(t *testing.T) {
	rec, err := resource.FromEnvelope(foundation())
	if err != nil {
		t.Fatal(err)
	}
	s := rec.Desired.Stamp
	if s.Actor != resource.Human || s.HLC != hlc.At(50, 3) || s.Writer.IsZero() || rec.Observed.Stamp != s || rec.Finalizers[0].At != s.Point() {
		t.Errorf("stamps %+v, %+v, %+v", s, rec.Observed.Stamp, rec.Finalizers)
	}
	r := rec.Resource()
	if rec.Deletion != nil || string(r.Spec) != `{"a":2,"b":1}` || string(r.Status) != `{"ok":true}` || !reflect.DeepEqual(r.Finalizers, []string{"a", "b"}) {
		t.Errorf("became %+v", r)
	}
	if !r.CreatedAt.Equal(ms(20)) || r.SyncVersion != 4 || r.Version != 2 || r.UpdatedHLC != hlc.At(50, 3) || r.WriterActor != resource.Human {
		t.Errorf("envelope became %+v", r.Envelope)
	}
	again, err := resource.FromEnvelope(foundation())
	if err != nil || again.Digest() != rec.Digest() {
		t.Errorf("not a function: %v", err)
	}
	if decoded := decodeRecord(t, rec.AppendTo(nil)); decoded.Digest() != rec.Digest() {
		t.Error("does not survive its own encoding")
	}
}

func TestFromEnvelope_Deletion(t *testing.T) {
	requested := ms(30)
	for name, c := range map[string]struct {
		change   func(*resource.Resource)
		deleted  bool
		strength resource.Strength
	}{
		"tombstone":   {func(r *resource.Resource) { r.Deleted, r.Finalizers = true, nil }, true, resource.Delete},
		"terminating": {func(r *resource.Resource) { r.DeletionTimestamp = &requested }, false, resource.Delete},
		"teardown": {func(r *resource.Resource) {
			r.DeletionTimestamp, r.DeletionStrength, r.Finalizers = &requested, resource.Teardown, nil
		}, false, resource.Teardown},
	} {
		r := foundation()
		c.change(&r)
		rec, err := resource.FromEnvelope(r)
		if err != nil {
			t.Fatal(err)
		}
		got := rec.Resource()
		if got.Deleted != c.deleted || got.DeletionTimestamp == nil || got.DeletionStrength != c.strength || string(got.Status) != `{"ok":true}` {
			t.Errorf("%s: %+v", name, got.Envelope)
		}
		if r.DeletionTimestamp != nil && !got.DeletionTimestamp.Equal(requested) {
			t.Errorf("%s: requested at %s", name, got.DeletionTimestamp)
		}
	}
}

// A resource read from a store comes back as what it says: content, stamps,
// deletion, incarnation, fence. Contexts and removed finalizers are not in it.
func TestFromEnvelope_KeepsStamps(t *testing.T) {
	firstTime, returned, deleted := whole(), whole(), whole()
	firstTime.Deletion.Value.Ends, firstTime.Observed.Value.Incarnation = resource.Point{}, resource.Point{}
	returned.Desired.Stamp.HLC = hlc.At(65, 1)
	returned.Observed.Value.Incarnation = returned.Deletion.Stamp.Point()
	deleted.Deletion.Value.Strength, deleted.Finalizers = resource.Delete, nil
	unclaimed := whole()
	unclaimed.Desired.Stamp.Epoch, unclaimed.Deletion, unclaimed.Observed = resource.Epoch{}, nil, nil
	for name, original := range map[string]resource.Record{
		"first incarnation": firstTime, "later incarnation": whole(), "returned": returned, "deleted": deleted, "claimed, not written since": unclaimed,
	} {
		rebuild(&original)
		want := original.Resource()
		rec, err := resource.FromEnvelope(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := rec.Resource()
		if got.DesiredStamp != want.DesiredStamp || got.DeletionStamp != want.DeletionStamp || got.ObservedStamp != want.ObservedStamp || rec.Fence != original.Fence {
			t.Errorf("%s: stamps became %+v %+v %+v, fence %+v", name, got.DesiredStamp, got.DeletionStamp, got.ObservedStamp, rec.Fence)
		}
		if got.ContentHash != want.ContentHash || got.Terminating() != want.Terminating() || got.DeletionStrength != want.DeletionStrength || rec.Incarnation() != original.Incarnation() {
			t.Errorf("%s: became\n%+v\nwant\n%+v", name, got, want)
		}
	}
}

// A stamp that the envelope says was taken back, and is not outranked, makes
// no tombstone.
func TestFromEnvelope_StampAloneDeletesNothing(t *testing.T) {
	r := foundation()
	r.DeletionStamp = by(resource.Human, at(60, 1))
	r.Incarnation = r.DeletionStamp.Point()
	if rec, err := resource.FromEnvelope(r); err != nil || rec.Deletion != nil {
		t.Errorf("became %+v, %v", rec.Deletion, err)
	}
}

func TestFromEnvelope_Refuses(t *testing.T) {
	var many []string
	for i := range resource.MaxFinalizers + 1 {
		many = append(many, fmt.Sprint("k", i))
	}
	for name, change := range map[string]func(*resource.Resource){
		"no id":           func(r *resource.Resource) { r.ID = "" },
		"bad id":          func(r *resource.Resource) { r.ID = "x" },
		"no apiVersion":   func(r *resource.Resource) { r.APIVersion = "" },
		"no kind":         func(r *resource.Resource) { r.Kind = "" },
		"kind with a dot": func(r *resource.Resource) { r.Kind = "Skill.other" },
		"no name":         func(r *resource.Resource) { r.Name = "" },
		"bad name":        func(r *resource.Resource) { r.Name = "a/b" },
		"no stamp":        func(r *resource.Resource) { r.UpdatedHLC = 0 },
		"no origin":       func(r *resource.Resource) { r.OriginInstanceID = "" },
		"no writer":       func(r *resource.Resource) { r.LastWriterID = "" },
		"release over 2^32": func(r *resource.Resource) {
			r.DesiredStamp = by(resource.Agent, at(1, 1))
			r.DesiredStamp.Release = 1<<32 + 1
		},
		"fence over 2^32":     func(r *resource.Resource) { r.Fence = resource.Epoch{Number: 1<<32 + 1, Claim: at(1, 1)} },
		"bad spec":            func(r *resource.Resource) { r.Spec = []byte(`{"a":1,"a":2}`) },
		"bad status":          func(r *resource.Resource) { r.Status = []byte(`nil`) },
		"finalizer twice":     func(r *resource.Resource) { r.Finalizers = []string{"a", "a"} },
		"65 finalizers":       func(r *resource.Resource) { r.Finalizers = many },
		"finalizer not UTF-8": func(r *resource.Resource) { r.Finalizers = []string{"\xff"} },
		"label not UTF-8":     func(r *resource.Resource) { r.Labels = map[string]string{"a": "\xff"} },
	} {
		r := foundation()
		change(&r)
		if _, err := resource.FromEnvelope(r); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResource_ValidAt(t *testing.T) {
	created, from, to := ms(5), ms(10), ms(20)
	for name, c := range map[string]struct {
		from, to *time.Time
		at       int64
		want     bool
	}{
		"before creation": {nil, nil, 4, false}, "at creation": {nil, nil, 5, true}, "long after": {nil, nil, 1 << 40, true},
		"before from": {&from, &to, 9, false}, "at from": {&from, &to, 10, true}, "last moment": {&from, &to, 19, true}, "at to": {&from, &to, 20, false},
	} {
		r := resource.Resource{Envelope: resource.Envelope{CreatedAt: created, ValidFrom: c.from, ValidTo: c.to}}
		if r.ValidAt(ms(c.at)) != c.want {
			t.Errorf("%s: not %t", name, c.want)
		}
	}
}
