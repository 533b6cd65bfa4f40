package resource_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// at is the point ms milliseconds into the epoch, by writer 1, 2, 3...
func at(ms int64, writer byte) resource.Point {
	return resource.Point{HLC: hlc.At(ms, 0), Writer: resource.ID{15: writer}}
}

// by is an actor's stamp at a point.
func by(a resource.Actor, p resource.Point) resource.Stamp {
	return resource.Stamp{Actor: a, HLC: p.HLC, Writer: p.Writer}
}

// second is the incarnation of the whole record.
var second = at(15, 3)

// whole is a record with every part set, none to its zero value.
func whole() resource.Record {
	epoch := resource.Epoch{Number: 3, Claim: at(40, 2)}
	stamp := func(ms int64) resource.Stamp {
		return resource.Stamp{Release: 1, Actor: resource.System, Epoch: epoch, HLC: hlc.At(ms, 1), Writer: resource.ID{15: 1}}
	}
	rec := resource.Record{
		ID:   resource.ID{1, 15: 2},
		Kind: resource.GroupKind{Group: "skill.example.dev", Kind: "Skill"}, Scope: resource.Scope{Instance: "i", Project: "p", Workspace: "w"}, Name: "summarise",
		Creation: resource.Creation{HLC: hlc.At(10, 0), Writer: resource.ID{15: 1}, Actor: resource.Human, Origin: resource.ID{15: 9}},
		Desired: resource.NewRegister(stamp(50), resource.Context{at(30, 1), at(40, 2)}, resource.Desired{
			APIVersion: "skill.example.dev/v1",
			Labels:     map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"},
			Spec: []byte(`{"size":1}`), Owner: "keeper",
			OwnerReferences: []resource.OwnerReference{{
				APIVersion: "v1", Kind: "Agent", Name: "boss", ID: resource.ID{15: 7}.String(), Incarnation: at(5, 3), Creation: at(4, 3), Controller: true,
			}},
			ValidFrom: "2026-01-02T03:04:05Z", ValidTo: "2027-01-02T03:04:05.5Z",
		}),
		Finalizers:  []resource.Finalizer{{Key: "example.dev/a", Incarnation: second, At: at(20, 2), Present: true}, {Key: "example.dev/b", Incarnation: second, At: at(21, 2)}},
		SyncVersion: 9, Version: 5, Fence: epoch,
	}
	deletion := resource.NewRegister(stamp(60), resource.Context{at(30, 1)}, resource.Deletion{Strength: resource.Teardown, RequestedAt: hlc.At(55, 0), Ends: second})
	observed := resource.NewRegister(stamp(70), resource.Context{at(30, 1)}, resource.Observed{Incarnation: second, Status: []byte(`{"ok":true}`)})
	rec.Deletion, rec.Observed = &deletion, &observed
	rec.Desired.Signature, deletion.Signature, observed.Signature = []byte("s1"), []byte("s2"), []byte("s3")
	return rec
}

// rebuild derives the registers' bodies anew from their exported fields.
func rebuild(r *resource.Record) {
	r.Desired = renewed(r.Desired, resource.NewRegister(r.Desired.Stamp, r.Desired.Context, r.Desired.Value))
	if r.Deletion != nil {
		d := renewed(*r.Deletion, resource.NewRegister(r.Deletion.Stamp, r.Deletion.Context, r.Deletion.Value))
		r.Deletion = &d
	}
	if r.Observed != nil {
		o := renewed(*r.Observed, resource.NewRegister(r.Observed.Stamp, r.Observed.Context, r.Observed.Value))
		r.Observed = &o
	}
}

func renewed[V any](old, fresh resource.Register[V]) resource.Register[V] {
	fresh.Signature = old.Signature
	return fresh
}

// leaves calls visit for every exported leaf below v, with its path.
func leaves(v reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time](), v.Kind() == reflect.Map,
		(v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Type().Elem().Kind() == reflect.Uint8:
		visit(path, v)
	case v.Kind() == reflect.Pointer:
		leaves(v.Elem(), path, visit)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				leaves(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), visit)
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	default:
		visit(path, v)
	}
}

// change gives a leaf another value of its kind.
func change(t *testing.T, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(v.Uint() ^ 1)
	case reflect.Int64:
		v.SetInt(v.Int() ^ 1)
	case reflect.Array:
		v.Index(v.Len() - 1).SetUint(v.Index(v.Len()-1).Uint() ^ 0x80)
	case reflect.Slice:
		v.SetBytes([]byte(`{"changed":1}`))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"changed": "1"}))
	case reflect.Struct:
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Hour)))
	default:
		t.Fatalf("%s: no rule for a %s", path, v.Kind())
	}
}

// Every field of a record is in its digest, save the signatures.
func TestDigest_CoversEveryField(t *testing.T) {
	original := whole()
	seen := map[[32]byte]string{original.Digest(): "nothing"}
	leaves(reflect.ValueOf(&original), "", func(path string, _ reflect.Value) {
		rec := whole()
		leaves(reflect.ValueOf(&rec), "", func(p string, leaf reflect.Value) {
			if p == path {
				change(t, p, leaf)
			}
		})
		rebuild(&rec)
		d := rec.Digest()
		signature := strings.HasSuffix(path, ".Signature")
		if other, ok := seen[d]; ok != signature {
			t.Errorf("changing %s gives the digest of changing %s", path, other)
		}
		if !signature {
			seen[d] = path
		}
	})
	for name, drop := range map[string]func(*resource.Record){
		"deletion":   func(r *resource.Record) { r.Deletion = nil },
		"observed":   func(r *resource.Record) { r.Observed = nil },
		"finalizers": func(r *resource.Record) { r.Finalizers = nil },
		"finalizer":  func(r *resource.Record) { r.Finalizers = r.Finalizers[:1] },
		"spec":       func(r *resource.Record) { r.Desired.Value.Spec = nil; rebuild(r) },
		"empty spec": func(r *resource.Record) { r.Desired.Value.Spec = []byte{}; rebuild(r) },
		"context":    func(r *resource.Record) { r.Desired.Context = nil; rebuild(r) },
	} {
		rec := whole()
		drop(&rec)
		if other, ok := seen[rec.Digest()]; ok {
			t.Errorf("dropping %s gives the digest of changing %s", name, other)
		}
		seen[rec.Digest()] = name
	}
	if len(seen) < 60 {
		t.Errorf("only %d fields were found", len(seen))
	}
}

func TestRecord_ValidateRefuses(t *testing.T) {
	for name, change := range map[string]func(*resource.Record){
		"zero id":               func(r *resource.Record) { r.ID = resource.ID{} },
		"no kind":               func(r *resource.Record) { r.Kind.Kind = "" },
		"kind with a slash":     func(r *resource.Record) { r.Kind.Kind = "a/b" },
		"kind with a dot":       func(r *resource.Record) { r.Kind.Kind = "a.b" },
		"no name":               func(r *resource.Record) { r.Name = "" },
		"name with a slash":     func(r *resource.Record) { r.Name = "a/b" },
		"name not NFC":          func(r *resource.Record) { r.Name = "e\u0301" },
		"name of 254 bytes":     func(r *resource.Record) { r.Name = strings.Repeat("a", 254) },
		"reserved project":      func(r *resource.Record) { r.Scope.Project = "_" },
		"scope with a comma":    func(r *resource.Record) { r.Scope.Instance = "a,b" },
		"no creation time":      func(r *resource.Record) { r.Creation.HLC = 0 },
		"no creator":            func(r *resource.Record) { r.Creation.Writer = resource.ID{} },
		"no origin":             func(r *resource.Record) { r.Creation.Origin = resource.ID{} },
		"another group":         func(r *resource.Record) { r.Desired.Value.APIVersion = "other.dev/v1" },
		"no version":            func(r *resource.Record) { r.Desired.Value.APIVersion = "skill.example.dev/" },
		"syncVersion over 2^62": func(r *resource.Record) { r.SyncVersion = 1<<62 + 1 },
		"version over 2^62":     func(r *resource.Record) { r.Version = 1<<62 + 1 },
		"release of desired":    func(r *resource.Record) { r.Desired.Stamp.Release = 1<<32 + 1 },
		"release of deletion":   func(r *resource.Record) { r.Deletion.Stamp.Release = 1<<32 + 1 },
		"release of observed":   func(r *resource.Record) { r.Observed.Stamp.Release = 1<<32 + 1 },
		"desired over fence":    func(r *resource.Record) { r.Desired.Stamp.Epoch.Claim.HLC++ },
		"deletion over fence":   func(r *resource.Record) { r.Deletion.Stamp.Epoch.Claim.HLC++ },
		"observed over fence":   func(r *resource.Record) { r.Observed.Stamp.Epoch.Number++ },
		"no fence":              func(r *resource.Record) { r.Fence = resource.Epoch{} },
		"fence over 2^32":       func(r *resource.Record) { r.Fence.Number = 1<<32 + 1 },
		"spec not JSON":         func(r *resource.Record) { r.Desired.Value.Spec = []byte(`{`) },
		"spec with white space": func(r *resource.Record) { r.Desired.Value.Spec = []byte(`{"a": 1}`) },
		"spec out of order":     func(r *resource.Record) { r.Desired.Value.Spec = []byte(`{"b":1,"a":1}`) },
		"spec null":             func(r *resource.Record) { r.Desired.Value.Spec = []byte(`null`) },
		"spec empty":            func(r *resource.Record) { r.Desired.Value.Spec = []byte{} },
		"status of 65 levels": func(r *resource.Record) {
			r.Observed.Value.Status = []byte(strings.Repeat("[", 65) + strings.Repeat("]", 65))
		},
		"status null": func(r *resource.Record) { r.Observed.Value.Status = []byte(`null`) },
	} {
		rec := whole()
		if err := rec.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&rec)
		if err := rec.Validate(); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestContext_Knows(t *testing.T) {
	c := resource.Context{at(30, 1), at(40, 2)}
	for p, want := range map[resource.Point]bool{at(29, 1): true, at(30, 1): true, at(31, 1): false, at(40, 2): true, at(1, 3): false} {
		if c.Knows(p) != want {
			t.Errorf("Knows(%s) is %t", p, !want)
		}
	}
	if resource.Context(nil).Knows(at(1, 1)) {
		t.Error("an empty context knows something")
	}
}

// A clock that accepts a record observes the highest of its points.
func TestRecord_PointsHoldTheNewest(t *testing.T) {
	rec := whole()
	newest, n := resource.Point{}, 0
	for p := range rec.Points() {
		if n++; p.Compare(newest) > 0 {
			newest = p
		}
	}
	if n != 6 || newest != rec.Newest() || newest != rec.Observed.Stamp.Point() {
		t.Errorf("%d points, the highest %s, Newest %s", n, newest, rec.Newest())
	}
	for range rec.Points() {
		break
	}
}
