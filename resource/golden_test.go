package resource_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

var update = flag.Bool("update", false, "rewrite testdata/{records,hashes,events}.json")

// The golden files fix the formats for ever, so that another implementation
// can be held against them: docs/PROTOCOL.md says how each value is made.
type (
	goldenRecord struct {
		Name   string `json:"name"`
		Frame  string `json:"frame"`
		Digest string `json:"digest"`
	}
	goldenEvent struct {
		Name  string `json:"name"`
		Realm string `json:"realm"`
		Frame string `json:"frame"`
		Hash  string `json:"hash"`
	}
	goldenHashes struct {
		Resources []goldenResource `json:"resources"`
		NameIDs   []goldenID       `json:"nameIDs"`
	}
	goldenResource struct {
		Name        string            `json:"name"`
		Resource    map[string]string `json:"resource"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		Deleted     bool              `json:"deleted"`
		Hash        string            `json:"hash"`
		SpecHash    string            `json:"specHash"`
	}
	goldenID struct {
		Group, Kind, Instance, Project, Workspace, Name string
		ID, Hex                                         string
	}
)

func checkGolden(t *testing.T, file string, v any) {
	path := "testdata/" + file
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(buf.Bytes(), want) {
		t.Fatalf("%s no longer holds: this breaks every fleet (go test -update to mean it)", path)
	}
}

type namedRecord struct {
	name string
	resource.Record
}

// goldenRecords are records of every shape.
func goldenRecords(t *testing.T) []namedRecord {
	created := whole()
	created.Scope, created.Finalizers, created.Fence = resource.Scope{}, nil, resource.Epoch{}
	created.SyncVersion, created.Version, created.Deletion, created.Observed = 1, 1, nil, nil
	created.Creation.Actor = resource.Agent
	created.Desired = resource.NewRegister(by(resource.Agent, created.Creation.Point()), nil, resource.Desired{APIVersion: "skill.example.dev/v1"})

	noGroup := created
	noGroup.Kind, noGroup.Name = resource.GroupKind{Kind: "Note"}, "é"
	noGroup.Desired = resource.NewRegister(by(resource.Human, at(10, 1)), nil, resource.Desired{APIVersion: "v1", Spec: []byte(`[1.0,1e400,"\u0000"]`)})

	tombstone := created
	tombstone.Deletion = del(resource.Agent, at(20, 2), resource.Delete, resource.Point{})
	returned := tombstone
	returned.Desired = resource.NewRegister(by(resource.Agent, at(30, 1)), resource.Context{at(10, 1), at(20, 2)}, created.Desired.Value)
	returned.Observed = status(at(40, 3), at(20, 2))

	large := created
	var context resource.Context
	for i := range byte(resource.MaxContext) {
		context = append(context, at(int64(i)+1, i))
	}
	large.Fence = resource.Epoch{Number: resource.MaxRank, Claim: resource.Point{HLC: resource.MaxHLC, Writer: resource.ID{0: 255}}}
	top := resource.Stamp{Release: resource.MaxRank, Actor: resource.System, Epoch: large.Fence, HLC: resource.MaxHLC, Writer: resource.ID{0: 255}}
	large.Desired = resource.NewRegister(top, context, resource.Desired{
		APIVersion: "skill.example.dev/v1", Labels: map[string]string{"b": "2", "a": "1", "é": "3"}, Spec: fmt.Appendf(nil, "%q", bytes.Repeat([]byte("x"), 300)),
	})
	large.SyncVersion, large.Version = resource.MaxCounter, resource.MaxCounter
	for i := range resource.MaxFinalizers {
		large.Finalizers = append(large.Finalizers, resource.Finalizer{Key: fmt.Sprintf("example.dev/%02d", i), At: at(int64(11+i), 1), Present: i%2 == 0})
	}

	later, err := resourcetest.Extend(whole(), resourcetest.DesiredField, true, pack.AppendText(nil, "field 9"))
	if err == nil {
		later, err = resourcetest.Extend(later, resourcetest.ObservedField, false, []byte{0x92, 0xc3, 0xcd, 0x01, 0x00})
	}
	if err != nil {
		t.Fatal(err)
	}
	return []namedRecord{
		{"created", created}, {"without group, unicode name, numbers as written", noGroup}, {"tombstone", tombstone},
		{"returned, with a status of its own", returned}, {"every part", whole()}, {"every bound", large}, {"fields of a later version", later},
	}
}

func TestGolden_Records(t *testing.T) {
	var got []goldenRecord
	for _, r := range goldenRecords(t) {
		b, digest := r.AppendTo(nil), r.Digest()
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		if again := decodeRecord(t, b); again.Digest() != digest {
			t.Errorf("%s: decodes to another record", r.name)
		}
		got = append(got, goldenRecord{r.name, hex.EncodeToString(b), hex.EncodeToString(digest[:])})
	}
	checkGolden(t, "records.json", got)
}

func TestGolden_Events(t *testing.T) {
	var got []goldenEvent
	var prev resource.Event
	for i, r := range goldenRecords(t)[:5] { // one incarnation's log, in two realms
		e := resource.Event{Incarnation: resource.ID{15: 1}, Seq: uint64(i) + 1, HLC: hlc.At(100+int64(i), 0), Record: r.Record, Deleted: r.Deleted()}
		if i > 0 {
			e.PrevHash = prev.Hash()
		}
		if i > 0 && prev.Record.Realm() == r.Realm() {
			e.RealmPrev = prev.Seq
		}
		hash := e.Hash()
		got = append(got, goldenEvent{r.name, r.Realm(), hex.EncodeToString(e.AppendTo(nil)), hex.EncodeToString(hash[:])})
		prev = e
	}
	checkGolden(t, "events.json", got)
}

func TestGolden_Hashes(t *testing.T) {
	var got goldenHashes
	for _, r := range goldenRecords(t) {
		v := r.Resource()
		got.Resources = append(got.Resources, goldenResource{
			Name: r.name,
			Resource: map[string]string{
				"apiVersion": v.APIVersion, "kind": v.Kind, "name": v.Name, "instance": v.Scope.Instance, "project": v.Scope.Project,
				"workspace": v.Scope.Workspace, "spec": string(v.Spec), "status": string(v.Status),
				"validFrom": r.Desired.Value.ValidFrom, "validTo": r.Desired.Value.ValidTo,
			},
			Labels: v.Labels, Annotations: v.Annotations, Deleted: v.Deleted, Hash: v.ContentHash, SpecHash: v.SpecHash,
		})
	}
	for _, a := range []goldenID{
		{Group: "core.driftless.dev", Kind: "Kind", Name: "skills.v1.skill.example.dev"},
		{Kind: "Note", Name: "é"},
		{Group: "skill.example.dev", Kind: "Skill", Instance: "i", Project: "p", Workspace: "w", Name: "summarise"},
	} {
		id := resource.NameID(resource.GroupKind{Group: a.Group, Kind: a.Kind}, resource.Scope{Instance: a.Instance, Project: a.Project, Workspace: a.Workspace}, a.Name)
		a.ID, a.Hex = id.String(), hex.EncodeToString(id[:])
		got.NameIDs = append(got.NameIDs, a)
	}
	checkGolden(t, "hashes.json", got)
}
