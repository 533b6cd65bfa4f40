package resource_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"driftless.dev/fuzztest"
	"driftless.dev/hlc"
	"driftless.dev/resource"
)

func point(ms int64, writer byte) resource.Point {
	return resource.Point{HLC: hlc.At(ms, 7), Writer: resource.ID{1, writer}}
}

// full is a resource with every field set.
func full() resource.Resource {
	at := func(s int64) *time.Time { t := time.Unix(s, 5000).UTC(); return &t }
	p := point(1000, 9)
	return resource.Resource{
		APIVersion: "skill.example.dev/v1", Kind: "Skill", ID: resource.ID{1, 2}.String(), Name: "summarise", GenerateName: "mem-",
		Scope:  resource.Scope{Instance: "i", Project: "atlas", Workspace: "w1"},
		Labels: map[string]string{"b": "1", "a": "2"}, Annotations: map[string]string{"n": "<x>"},
		Spec: json.RawMessage(`{"big":9007199254740993,"huge":1e400,"one":1.0,"text":"<€` + "\u2028" + `>"}`), Status: json.RawMessage(`[-0]`),
		Owner: "controller",
		Envelope: resource.Envelope{
			SyncVersion: 4, Version: 3, OriginInstanceID: resource.ID{3}.String(),
			UpdatedHLC: p.HLC, LastWriterID: p.Writer.String(), WriterActor: resource.Human,
			Deleted: true, Finalizers: []string{"a", "b"}, DeletionTimestamp: at(30), DeletionStrength: resource.Delete,
			OwnerReferences: []resource.OwnerReference{{APIVersion: "v1", Kind: "Run", Name: "r", ID: "x", Incarnation: p, Creation: point(1, 1), Controller: true}},
			ContentHash:     "c0", SpecHash: "50", Digest: "d1",
			ValidFrom: at(10), ValidTo: at(20), CreatedAt: *at(1), UpdatedAt: *at(2), Incarnation: point(5, 5),
			DesiredStamp:  resource.Stamp{Release: 1, Actor: resource.System, Epoch: resource.Epoch{Number: 2, Claim: point(2, 2)}, HLC: 77, Writer: resource.ID{7}},
			DeletionStamp: resource.Stamp{Release: 2, Actor: resource.Human, Epoch: resource.Epoch{Number: 3, Claim: point(3, 3)}, HLC: p.HLC, Writer: p.Writer},
			ObservedStamp: resource.Stamp{Release: 3, Epoch: resource.Epoch{Number: 1<<64 - 1, Claim: point(4, 4)}, HLC: 99, Writer: resource.ID{8}},
		},
	}
}

func TestForm_FieldOrder(t *testing.T) {
	b, err := full().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	order := []string{
		"apiVersion", "kind", "metadata", "name", "generateName", "scope", "labels", "annotations", "finalizers", "ownerReferences",
		"owner", "validFrom", "validTo", "id", "digest", "version", "syncVersion", "contentHash", "specHash", "release", "epoch",
		"epochClaim", "incarnation", "originInstance", "createdAt", "updatedAt", "deletionTimestamp", "deletionStrength", "deleted",
		"desired", "deletion", "observed", "spec", "status",
	}
	text, at := string(b), 0
	for _, name := range order {
		i := strings.Index(text[at:], `"`+name+`":`)
		if i < 0 {
			t.Fatalf("%s is missing or out of order in %s", name, text)
		}
		at += i
	}
	for _, verbatim := range []string{
		`"spec":{"big":9007199254740993,"huge":1e400,"one":1.0,"text":"<€` + "\u2028" + `>"},"status":[-0]}`,
		`"labels":{"a":"2","b":"1"},"annotations":{"n":"<x>"},"finalizers":["a","b"],`,
		`"release":1,"epoch":2,"epochClaim":"2.7@` + point(2, 2).Writer.String() + `"`,
		`"desired":{"hlc":"0.77","writer":"` + resource.ID{7}.String() + `","actor":"system"}`,
		`"createdAt":"1970-01-01T00:00:01.000005Z"`,
	} {
		if !strings.Contains(text, verbatim) {
			t.Errorf("no %s in %s", verbatim, text)
		}
	}
}

func TestForm_EmptyThingsAreLeftOut(t *testing.T) {
	r := resource.Resource{Kind: "Skill", Labels: map[string]string{}, Spec: json.RawMessage{}, Envelope: resource.Envelope{Finalizers: []string{}}}
	b, err := json.Marshal(r)
	if want := `{"kind":"Skill","metadata":{}}`; err != nil || string(b) != want {
		t.Fatalf("%s, %v, want %s", b, err, want)
	}
}

func TestForm_RoundTripOfEveryField(t *testing.T) {
	checkRoundTrip(t, full())
}

// checkRoundTrip fails unless a client reads back all that was written, be it
// through encoding/json, which escapes '<' on the way.
func checkRoundTrip(t interface{ Fatalf(string, ...any) }, in resource.Resource) {
	direct, err := in.MarshalJSON()
	if err != nil {
		t.Fatalf("%v", err)
	}
	nested, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, b := range [][]byte{direct, nested} {
		var out resource.Resource
		if err := json.Unmarshal(b, &out); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatalf("%s\n%s", diff, b)
		}
	}
}

func TestForm_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawResource(t)
		checkRoundTrip(t, in)

		// A server drops what the system owns, and keeps the rest.
		b, _ := in.MarshalJSON()
		got, given, err := resource.ParseForm(b)
		if err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		want := in
		want.ID, want.Envelope = "", resource.Envelope{
			Finalizers: in.Finalizers, OwnerReferences: in.OwnerReferences, ValidFrom: in.ValidFrom, ValidTo: in.ValidTo,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, b)
		}
		wantGiven := resource.Given{
			Finalizers: in.Finalizers != nil, OwnerReferences: in.OwnerReferences != nil, Status: in.Status != nil,
			Labels: in.Labels != nil, Annotations: in.Annotations != nil,
		}
		if given != wantGiven {
			t.Fatalf("%+v, want %+v", given, wantGiven)
		}
	})
}

// drawResource draws a resource such as a store returns: canonical, with the
// envelope's triple being that of its stamps.
func drawResource(t *rapid.T) resource.Resource {
	text := rapid.StringMatching(`[a-z<é]{0,6}`)
	id := func(name string) resource.ID {
		var out resource.ID
		copy(out[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, name))
		return out
	}
	at := func(name string) resource.Point { // zero, or with a writer
		p := resource.Point{HLC: hlc.Timestamp(rapid.Uint64().Draw(t, name)), Writer: id(name)}
		if p.Writer.IsZero() {
			return resource.Point{}
		}
		return p
	}
	stamp := func(name string) resource.Stamp {
		if rapid.Bool().Draw(t, name) {
			return resource.Stamp{}
		}
		p := at(name)
		return resource.Stamp{
			Release: rapid.Uint64().Draw(t, name), Actor: resource.Actor(rapid.IntRange(0, 2).Draw(t, name)),
			Epoch: resource.Epoch{Number: rapid.Uint64().Draw(t, name), Claim: at(name)}, HLC: p.HLC, Writer: p.Writer,
		}
	}
	moment := func(name string) *time.Time {
		if rapid.Bool().Draw(t, name) {
			return nil
		}
		m := time.Unix(rapid.Int64Range(0, 200_000_000_000).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name)).UTC()
		return &m
	}
	strs := func(name string) map[string]string {
		return resource.NormalizeStrings(rapid.MapOfN(text, text, 0, 3).Draw(t, name))
	}
	value := func(name string) json.RawMessage {
		b, err := resource.Canonical([]byte(drawJSON(t, 3)))
		if err != nil || rapid.Bool().Draw(t, name) || string(b) == "null" {
			return nil
		}
		return b
	}
	r := resource.Resource{
		APIVersion: text.Draw(t, "apiVersion"), Kind: text.Draw(t, "kind"), Name: text.Draw(t, "name"), Owner: text.Draw(t, "owner"),
		ID: id("id").String(), Scope: resource.Scope{Project: text.Draw(t, "project")},
		Labels: strs("labels"), Annotations: strs("annotations"), Spec: value("spec"), Status: value("status"),
	}
	r.Finalizers = slices.Sorted(maps.Keys(strs("finalizers")))
	for _, k := range slices.Sorted(maps.Keys(strs("owners"))) {
		r.OwnerReferences = append(r.OwnerReferences, resource.OwnerReference{ID: k, Incarnation: at("incarnation"), Controller: rapid.Bool().Draw(t, "controller")})
	}
	r.ValidFrom, r.ValidTo, r.DeletionTimestamp = moment("from"), moment("to"), moment("deletion")
	if m := moment("created"); m != nil {
		r.CreatedAt, r.UpdatedAt = *m, *m
	}
	r.DeletionStrength = resource.Strength(rapid.IntRange(0, 2).Draw(t, "strength"))
	r.Deleted, r.Version, r.SyncVersion = rapid.Bool().Draw(t, "deleted"), rapid.Int64().Draw(t, "version"), rapid.Int64().Draw(t, "sync")
	r.Digest, r.OriginInstanceID, r.Incarnation = text.Draw(t, "digest"), id("origin").String(), at("incarnation")
	r.DesiredStamp, r.DeletionStamp, r.ObservedStamp = stamp("desired"), stamp("deletion"), stamp("observed")
	last := r.DesiredStamp
	if !r.DeletionStamp.IsZero() && r.DeletionStamp.Point().Compare(last.Point()) >= 0 {
		last = r.DeletionStamp
	}
	r.UpdatedHLC, r.LastWriterID, r.WriterActor = last.HLC, last.Writer.String(), last.Actor
	return r
}

func TestParseForm_Given(t *testing.T) {
	for doc, want := range map[string]resource.Given{
		`{}`:              {},
		`{"metadata":{}}`: {},
		`{"status":null}`: {Status: true},
		`{"status":{}}`:   {Status: true},
		`{"metadata":{"finalizers":[],"labels":{}}}`:                                 {Finalizers: true, Labels: true},
		`{"metadata":{"finalizers":null,"ownerReferences":null,"annotations":null}}`: {Finalizers: true, OwnerReferences: true, Annotations: true},
	} {
		r, given, err := resource.ParseForm([]byte(doc))
		if err != nil || given != want {
			t.Errorf("%s: %+v, %v, want %+v", doc, given, err, want)
		}
		if r.Labels != nil || r.Annotations != nil || r.Finalizers != nil || r.OwnerReferences != nil {
			t.Errorf("%s: empty is not nil: %+v", doc, r)
		}
	}
}

func TestParseForm_SpecAndStatusComeOutCanonical(t *testing.T) {
	r, _, err := resource.ParseForm([]byte(" {\"spec\" : { \"b\" : 9007199254740993, \"a\" : [ 1e400 , 1.0 , -0 ], \"\\u0061a\": \"\\u003c\" },\n\"status\": null }\n"))
	if want := `{"a":[1e400,1.0,-0],"aa":"<","b":9007199254740993}`; err != nil || string(r.Spec) != want || r.Status != nil {
		t.Fatalf("%s, %s, %v, want %s", r.Spec, r.Status, err, want)
	}
	b, err := r.MarshalJSON()
	if want := `{"metadata":{},"spec":{"a":[1e400,1.0,-0],"aa":"<","b":9007199254740993}}`; err != nil || string(b) != want {
		t.Fatalf("%s, %v", b, err)
	}
}

// A document that a newer server wrote can be written back: whatever stands in
// the system's fields is passed over.
func TestParseForm_IgnoresWhatTheSystemOwns(t *testing.T) {
	doc := `{"kind":"Skill","metadata":{"name":"a","id":7,"digest":[],"epoch":"later","desired":{"later":{"x":1}},"observed":null,"deleted":"yes"}}`
	r, _, err := resource.ParseForm([]byte(doc))
	if err != nil || !cmp.Equal(r, resource.Resource{Kind: "Skill", Name: "a"}, cmpopts.EquateEmpty()) {
		t.Fatalf("%+v, %v", r, err)
	}
}

// B34: one reading of a document, or none.
func TestParseForm_Refuses(t *testing.T) {
	for doc, says := range map[string]string{
		``:                                       "",
		`null`:                                   "object",
		`[]`:                                     "got array, want object",
		`"x"`:                                    "got string, want object",
		`{} {}`:                                  "after top-level value",
		"\ufeff{}":                               "invalid",
		`{"kind":1}`:                             "kind: got number, want string",
		`{"Kind":"Skill"}`:                       "Kind: unknown field",
		`{"kind":"a","\u006bind":"b"}`:           "kind: duplicate",
		`{"\u017fpec":{}}`:                       "unknown field",
		`{"later":1}`:                            "later: unknown field",
		`{"metadata":[]}`:                        "metadata: got array, want object",
		`{"metadata":{"owner":"a","OWNER":"b"}}`: "metadata/OWNER: unknown field",
		`{"metadata":{"owner":"a","owner":"b"}}`: "metadata/owner: duplicate",
		`{"metadata":{"actor":"human"}}`:         "metadata/actor: unknown field",
		`{"metadata":{"desired":{"actor":"node","actor":"human"}}}`:            "metadata/desired/actor: duplicate",
		`{"metadata":{"ID":"x"}}`:                                              "metadata/ID: unknown field",
		`{"metadata":{"labels":{"a":"1","\u0061":"2"}}}`:                       "metadata/labels/a: duplicate",
		`{"metadata":{"labels":{"a":1}}}`:                                      "metadata/labels/a: got number, want string",
		`{"metadata":{"scope":{"region":"x"}}}`:                                "metadata/scope/region: unknown field",
		`{"metadata":{"finalizers":{"a":1}}}`:                                  "metadata/finalizers: got object, want array",
		`{"metadata":{"ownerReferences":[{"uid":"x"}]}}`:                       "metadata/ownerReferences/0/uid: unknown field",
		`{"metadata":{"ownerReferences":[{"creation":"5"}]}}`:                  "metadata/ownerReferences/0/creation: point \"5\"",
		`{"metadata":{"validTo":"tomorrow"}}`:                                  "metadata/validTo",
		`{"spec":{"actor":"node","a\u0063tor":"human"}}`:                       "spec/actor: duplicate",
		`{"spec":{"a":"\ud800"}}`:                                              "spec/a",
		"{\"spec\":{\"a\":\"\xff\"}}":                                          "spec/a",
		`{"status":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`: "nested over 64",
		`{"spec":{"a":01}}`:                                                    "spec",
	} {
		r, given, err := resource.ParseForm([]byte(doc))
		wantInvalid(t, err, says)
		if !cmp.Equal(r, resource.Resource{}) || given != (resource.Given{}) {
			t.Errorf("%s: an error came with %+v, %+v", doc, r, given)
		}
	}
}

func TestResource_UnmarshalJSON(t *testing.T) {
	r := full()
	for doc, says := range map[string]string{
		`{"metadata":{"desired":{"actor":"robot"}}}`: "metadata/desired/actor",
		`{"metadata":{"deletion":{"writer":"x"}}}`:   "metadata/deletion/writer",
		`{"metadata":{"observed":{"hlc":"7"}}}`:      "metadata/observed/hlc",
		`{"metadata":{"deletionStrength":"soft"}}`:   "metadata/deletionStrength",
		`{"metadata":{"incarnation":"x"}}`:           "metadata/incarnation",
		`{"metadata":{"version":"1"}}`:               "metadata/version: got string, want number",
		`{"metadata":{"epoch":1,"epoch":2}}`:         "metadata/epoch: duplicate",
		`null`:                                       "object",
	} {
		wantInvalid(t, r.UnmarshalJSON([]byte(doc)), says)
	}
	if !cmp.Equal(r, full()) {
		t.Fatal("an error changed the receiver")
	}
	// A newer server says more; another case is not the field.
	if err := r.UnmarshalJSON([]byte(`{"kind":"A","later":1,"metadata":{"NAME":"x","desired":{"hlc":"5.1","later":2}}}`)); err != nil {
		t.Fatal(err)
	}
	if r.Kind != "A" || r.Name != "" || r.DesiredStamp.HLC != hlc.At(5, 1) || r.UpdatedHLC != hlc.At(5, 1) {
		t.Fatalf("%+v", r)
	}
}

func FuzzParseForm(f *testing.F) {
	b, err := full().MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"metadata":{"labels":null},"spec":null}`))
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(s))
	}
	for _, s := range fuzztest.Texts() {
		f.Add([]byte(`{"metadata":{"labels":{},"annotations":` + s + `},"spec":` + s + `}`))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, doc []byte) {
		cost.Run(t, doc, func() { _, _, _ = resource.ParseForm(doc) })
		r, _, err := resource.ParseForm(doc)
		if err != nil {
			wantInvalid(t, err)
			return
		}
		b, err := r.MarshalJSON()
		if err != nil {
			t.Fatalf("%v of %+v", err, r)
		}
		again, _, err := resource.ParseForm(b)
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}
