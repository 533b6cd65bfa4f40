package resource_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

func ms(n int64) time.Time { return time.UnixMilli(n).UTC() }

// put, del and status build registers at ms, by writer 1.
func put(a resource.Actor, at resource.Point) resource.Register[resource.Desired] {
	return resource.NewRegister(by(a, at), nil, resource.Desired{APIVersion: "v1"})
}

func del(a resource.Actor, at resource.Point, s resource.Strength, ends resource.Point) *resource.Register[resource.Deletion] {
	r := resource.NewRegister(by(a, at), nil, resource.Deletion{Strength: s, RequestedAt: hlc.At(1, 0), Ends: ends})
	return &r
}

func status(at, of resource.Point) *resource.Register[resource.Observed] {
	r := resource.NewRegister(by(resource.Agent, at), nil, resource.Observed{Incarnation: of, Status: []byte(`{"ok":true}`)})
	return &r
}

// The derived parts, DESIGN section 3: each a function of identity, registers
// and counters.
func TestRecord_DerivedParts(t *testing.T) {
	creation := resource.Creation{HLC: hlc.At(10, 0), Writer: resource.ID{15: 1}, Origin: resource.ID{15: 9}}
	first := resource.Point{}
	standing := []resource.Finalizer{{Key: "a", Incarnation: first, At: at(11, 1), Present: true}}
	removed := []resource.Finalizer{{Key: "a", Incarnation: first, At: at(99, 1)}}
	agent, human := resource.Agent, resource.Human

	for name, c := range map[string]struct {
		rec                resource.Record
		requested, deleted bool
		incarnation, last  resource.Point
		updated            int64
		status             bool
	}{
		"created": {
			rec:         resource.Record{Desired: put(agent, at(10, 1))},
			incarnation: first, last: at(10, 1), updated: 10,
		},
		"changed, with a status": {
			rec:         resource.Record{Desired: put(agent, at(20, 1)), Observed: status(at(30, 2), first)},
			incarnation: first, last: at(20, 1), updated: 30, status: true,
		},
		"tombstone": {
			rec:       resource.Record{Desired: put(agent, at(20, 1)), Deletion: del(agent, at(30, 2), resource.Delete, first)},
			requested: true, deleted: true, incarnation: first, last: at(30, 2), updated: 30,
		},
		"a person's write outranks the later deletion": {
			rec:         resource.Record{Desired: put(human, at(20, 1)), Deletion: del(agent, at(30, 2), resource.Delete, first)},
			incarnation: at(30, 2), last: at(30, 2), updated: 30,
		},
		"deletion and desired of one stamp": {
			rec:       resource.Record{Desired: put(agent, at(30, 1)), Deletion: del(agent, at(30, 1), resource.Delete, first)},
			requested: true, deleted: true, incarnation: first, last: at(30, 1), updated: 30,
		},
		"terminating": {
			rec:       resource.Record{Desired: put(agent, at(20, 1)), Deletion: del(agent, at(30, 1), resource.Delete, first), Finalizers: standing},
			requested: true, incarnation: first, last: at(30, 1), updated: 30,
		},
		"last finalizer removed": {
			rec:       resource.Record{Desired: put(agent, at(20, 1)), Deletion: del(agent, at(30, 1), resource.Delete, first), Finalizers: removed},
			requested: true, deleted: true, incarnation: first, last: at(30, 1), updated: 99,
		},
		"teardown stays without finalizers": {
			rec:       resource.Record{Desired: put(agent, at(20, 1)), Deletion: del(agent, at(30, 1), resource.Teardown, first)},
			requested: true, incarnation: first, last: at(30, 1), updated: 30,
		},
		"returned": {
			rec:         resource.Record{Desired: put(agent, at(40, 1)), Deletion: del(agent, at(30, 1), resource.Delete, first), Observed: status(at(20, 1), first)},
			incarnation: at(30, 1), last: at(40, 1), updated: 40,
		},
		"returned, with a status of its own": {
			rec:         resource.Record{Desired: put(agent, at(40, 1)), Deletion: del(agent, at(30, 1), resource.Delete, first), Observed: status(at(50, 1), at(30, 1))},
			incarnation: at(30, 1), last: at(40, 1), updated: 50, status: true,
		},
		"deleted again, its status still shown": {
			rec:       resource.Record{Desired: put(agent, at(40, 1)), Deletion: del(agent, at(60, 1), resource.Delete, at(30, 1)), Observed: status(at(50, 1), at(30, 1))},
			requested: true, deleted: true, incarnation: at(30, 1), last: at(60, 1), updated: 60, status: true,
		},
	} {
		rec := c.rec
		rec.ID, rec.Kind, rec.Name, rec.Creation = resource.ID{15: 1}, resource.GroupKind{Kind: "K"}, "n", creation
		r := rec.Resource()
		if rec.Requested() != c.requested || rec.Deleted() != c.deleted || r.Deleted != c.deleted || r.Terminating() != (c.requested && !c.deleted) {
			t.Errorf("%s: requested %t, deleted %t, terminating %t", name, rec.Requested(), r.Deleted, r.Terminating())
		}
		shown := c.incarnation
		if shown == first {
			shown = creation.Point()
		}
		if rec.Incarnation() != c.incarnation || rec.ShownIncarnation() != shown || r.Incarnation != shown {
			t.Errorf("%s: incarnation %s, shown as %s, want %s", name, rec.Incarnation(), r.Incarnation, c.incarnation)
		}
		if r.UpdatedHLC != c.last.HLC || r.LastWriterID != c.last.Writer.String() || !r.UpdatedAt.Equal(ms(c.updated)) {
			t.Errorf("%s: updated %s by %s, at %s", name, r.UpdatedHLC, r.LastWriterID, r.UpdatedAt)
		}
		if (r.Status != nil) != c.status {
			t.Errorf("%s: status %s", name, r.Status)
		}
		if !r.CreatedAt.Equal(ms(10)) || r.OriginInstanceID != creation.Origin.String() {
			t.Errorf("%s: created at %s by %s", name, r.CreatedAt, r.OriginInstanceID)
		}
		if pending := r.DeletionTimestamp != nil && r.DeletionTimestamp.Equal(ms(1)) && r.DeletionStrength == rec.Deletion.Value.Strength; pending != c.requested {
			t.Errorf("%s: deletion %v %s", name, r.DeletionTimestamp, r.DeletionStrength)
		}
		want := rec.Desired.Stamp
		if c.requested {
			want = rec.Deletion.Stamp
		}
		if rec.Top() != want {
			t.Errorf("%s: top is %+v", name, rec.Top())
		}
	}
}

func TestResource_ShowsEveryPart(t *testing.T) {
	rec := whole()
	r := rec.Resource()
	for _, c := range []struct{ got, want any }{
		{r.APIVersion, "skill.example.dev/v1"}, {r.Kind, "Skill"}, {r.ID, rec.ID.String()}, {r.Name, "summarise"}, {r.Scope, rec.Scope},
		{r.Labels, rec.Desired.Value.Labels}, {r.Annotations, rec.Desired.Value.Annotations}, {string(r.Spec), `{"size":1}`}, {string(r.Status), `{"ok":true}`},
		{r.Owner, "keeper"}, {r.SyncVersion, int64(9)}, {r.Version, int64(5)}, {r.WriterActor, resource.System}, {r.Finalizers, []string{"example.dev/a"}},
		{r.OwnerReferences, rec.Desired.Value.OwnerReferences}, {r.ValidFrom.Format(time.RFC3339Nano), rec.Desired.Value.ValidFrom},
		{r.ValidTo.Format(time.RFC3339Nano), rec.Desired.Value.ValidTo}, {r.DesiredStamp, rec.Desired.Stamp}, {r.DeletionStamp, rec.Deletion.Stamp},
		{r.ObservedStamp, rec.Observed.Stamp}, {r.Fence, rec.Fence}, {r.Incarnation, second}, {r.Key(), resource.Key{Kind: "Skill.skill.example.dev", Scope: rec.Scope, Name: "summarise"}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if content, spec := hashesOf(t, r); content != r.ContentHash || spec != r.SpecHash {
		t.Error("the hashes shown are not those of the resource")
	}
	if owner, ok := r.Controller(); !ok || owner.Name != "boss" {
		t.Errorf("controller %+v", owner)
	}
}

// Equal records give equal resources, and a resource owns its memory.
func TestResource_IsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := drawAny(t)
		b := rec.AppendTo(nil)
		one, two := decodeRecord(t, bytes.Clone(b)), decodeRecord(t, bytes.Clone(b))
		r := one.Resource()
		if !reflect.DeepEqual(r, two.Resource()) || !reflect.DeepEqual(r, rec.Resource()) {
			t.Fatal("one record, two resources")
		}
		scribble(&r)
		if !bytes.Equal(one.AppendTo(nil), b) || !reflect.DeepEqual(one.Resource(), two.Resource()) {
			t.Fatal("a change of the resource reached the record")
		}
	})
}

func scribble(r *resource.Resource) {
	for _, b := range [][]byte{r.Spec, r.Status} {
		for i := range b {
			b[i] = 0
		}
	}
	for _, m := range []map[string]string{r.Labels, r.Annotations} {
		for k := range m {
			m[k] = "scribbled"
		}
	}
	for i := range r.OwnerReferences {
		r.OwnerReferences[i].Name = "scribbled"
	}
	for _, at := range []*time.Time{r.ValidFrom, r.ValidTo, r.DeletionTimestamp} {
		if at != nil {
			*at = time.Time{}
		}
	}
}

func TestDesire_Canonicalises(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 500, time.FixedZone("", 3600))
	d, err := resource.Desire(resource.Resource{
		APIVersion: "v1", Labels: map[string]string{}, Spec: []byte(` { "b":1, "a":2 } `),
		Envelope: resource.Envelope{ValidFrom: &noon, OwnerReferences: []resource.OwnerReference{}},
	})
	want := resource.Desired{APIVersion: "v1", Spec: []byte(`{"a":2,"b":1}`), ValidFrom: "2026-01-02T11:00:00.0000005Z"}
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("%+v, %v", d, err)
	}
}

// Whatever Desire accepts, a record can be written with and read again.
func TestDesire_Refuses(t *testing.T) {
	late, early, bad := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), "\xff"
	envelope := func(e resource.Envelope) resource.Resource { return resource.Resource{Envelope: e} }
	for name, r := range map[string]resource.Resource{
		"year 10000": envelope(resource.Envelope{ValidTo: &late}), "year -1": envelope(resource.Envelope{ValidFrom: &early}),
		"spec": {Spec: []byte(`{`)}, "apiVersion": {APIVersion: bad}, "owner": {Owner: bad},
		"label": {Labels: map[string]string{"a": bad}}, "label key": {Labels: map[string]string{bad: ""}}, "annotation": {Annotations: map[string]string{"a": bad}},
		"owner name": envelope(resource.Envelope{OwnerReferences: []resource.OwnerReference{{Name: bad}}}),
	} {
		if _, err := resource.Desire(r); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
