package resource_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"driftless.dev/resource"
)

type skillSpec struct {
	Size  int64             `json:"size,omitempty"`
	Actor string            `json:"actor"`
	Tags  []string          `json:"tags"`
	Every time.Duration     `json:"every"`
	Big   json.Number       `json:"big,omitzero"`
	Extra map[string]string `json:"extra"`
}

func TestDecode_EmptyIsTheZeroValue(t *testing.T) {
	for _, raw := range []json.RawMessage{nil, {}, json.RawMessage("null")} {
		r := resource.Resource{Spec: raw, Status: raw}
		spec, err := resource.DecodeSpec[skillSpec](r)
		status, err2 := resource.DecodeStatus[skillSpec](r)
		if err != nil || err2 != nil || !cmp.Equal(spec, skillSpec{}) || !cmp.Equal(status, skillSpec{}) {
			t.Errorf("%q: %+v, %v; %+v, %v", raw, spec, err, status, err2)
		}
	}
}

func TestEncode_RoundTripsInCanonicalForm(t *testing.T) {
	in := skillSpec{Actor: "<a>", Tags: []string{"x"}, Every: time.Second, Big: "9007199254740993", Extra: map[string]string{"b": "1", "a": "2"}}
	spec, err := resource.EncodeSpec(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"actor":"<a>","big":9007199254740993,"every":1000000000,"extra":{"a":"2","b":"1"},"tags":["x"]}`; string(spec) != want {
		t.Fatalf("spec %s, want %s", spec, want)
	}
	checkCanonical(t, spec)
	status, err := resource.EncodeStatus(in)
	if err != nil || string(status) != string(spec) {
		t.Fatalf("%s, %v", status, err)
	}
	out, err := resource.DecodeSpec[skillSpec](resource.Resource{Spec: spec})
	if err != nil || !cmp.Equal(in, out) {
		t.Fatalf("%+v, %v", out, err)
	}
}

func TestEncode_NilSliceIsAnArray(t *testing.T) {
	spec, err := resource.EncodeSpec(skillSpec{})
	if want := `{"actor":"","every":0,"extra":{},"tags":[]}`; err != nil || string(spec) != want {
		t.Fatalf("%s, %v, want %s", spec, err, want)
	}
	for _, bad := range []any{math.NaN(), json.Number("0x1"), json.Number("1 2"), json.Number(`"1"`)} {
		_, err = resource.EncodeSpec(bad)
		wantInvalid(t, err, "encode spec")
	}
}

// B34: a key in another case is another key.
func TestDecode_KeysMatchExactly(t *testing.T) {
	r := resource.Resource{Kind: "Skill", Name: "a", Spec: json.RawMessage(`{"ACTOR":"human","actor":"node","later":1}`)}
	if spec, err := resource.DecodeSpec[skillSpec](r); err != nil || spec.Actor != "node" {
		t.Fatalf("%+v, %v", spec, err)
	}
	r.Spec = json.RawMessage(`{"actor":"node","actor":"human"}`)
	_, err := resource.DecodeSpec[skillSpec](r)
	wantInvalid(t, err, "decode spec of Skill \"a\"", "spec/actor")
	r.Spec = json.RawMessage(`{"big":"1"}`)
	_, err = resource.DecodeSpec[skillSpec](r)
	wantInvalid(t, err, "spec/big", "got string, want number")
	r.Status = json.RawMessage(`{"tags":["x",1]}`)
	status, err := resource.DecodeStatus[skillSpec](r)
	wantInvalid(t, err, "status/tags/1", "got number, want string")
	if !cmp.Equal(status, skillSpec{}) {
		t.Fatalf("an error came with %+v", status)
	}
}

func TestSetCondition(t *testing.T) {
	t0, t1, t2 := time.Unix(10, 0), time.Unix(20, 0), time.Unix(30, 0)
	ready := func(status, message string) resource.Condition {
		return resource.Condition{Type: "Ready", Status: status, Message: message}
	}
	first := resource.SetCondition(nil, ready("False", "starting"), t0)
	same := resource.SetCondition(first, ready("False", "still starting"), t1)
	if c := same[0]; c.Message != "still starting" || !c.LastTransitionTime.Equal(t0) {
		t.Fatalf("the same status moved the time: %+v", c)
	}
	if first[0].Message != "starting" {
		t.Fatal("the argument was changed")
	}
	changed := resource.SetCondition(same, ready("True", ""), t2)
	if c := changed[0]; len(changed) != 1 || c.Status != "True" || !c.LastTransitionTime.Equal(t2) {
		t.Fatalf("%+v", changed)
	}
	both := resource.SetCondition(changed, resource.Condition{Type: "Stalled", Status: "False", LastTransitionTime: t0}, t1)
	if len(both) != 2 || both[0].Type != "Ready" || !both[1].LastTransitionTime.Equal(t1) {
		t.Fatalf("%+v", both)
	}
}
