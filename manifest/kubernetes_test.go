package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	const top = `{"apiVersion":"g/v1","kind":"K","metadata":`
	for _, c := range []struct {
		name, in, want string
		warnings       []string
	}{
		{"as it is", top + `{"name":"a"},"spec":{"z":1.0,"a":9007199254740993}}`, top + `{"name":"a"},"spec":{"z":1.0,"a":9007199254740993}}`, nil},
		{"namespace", top + `{"name":"a","namespace":"p","labels":{"x":"y"}}}`, top + `{"name":"a","labels":{"x":"y"},"scope":{"project":"p"}}}`, nil},
		{"namespace and the same project", top + `{"namespace":"p","scope":{"project":"p","workspace":"w"},"name":"a"}}`,
			top + `{"scope":{"project":"p","workspace":"w"},"name":"a"}}`, nil},
		{"namespace joins a scope", top + `{"namespace":"p","scope":{"instance":"i"},"name":"a"}}`,
			top + `{"scope":{"instance":"i","project":"p"},"name":"a"}}`, nil},
		{"empty namespace", top + `{"namespace":"","name":"a"}}`, top + `{"name":"a"}}`, nil},
		{"bookkeeping", top + `{"uid":"u","name":"a","resourceVersion":"1","generation":2,"creationTimestamp":"t","managedFields":[1],"selfLink":"l",` +
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","b":"c"}}}`,
			top + `{"name":"a","annotations":{"b":"c"}}}`,
			[]string{"dropped cluster bookkeeping: /metadata/uid, /metadata/resourceVersion, /metadata/generation, /metadata/creationTimestamp, " +
				"/metadata/managedFields, /metadata/selfLink, /metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"}},
		{"only kubectl's annotation", top + `{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`, top + `{"name":"a"}}`,
			[]string{"dropped cluster bookkeeping: /metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"}},
		{"empty leftovers are silent", top + `{"name":"a","creationTimestamp":null},"spec":{},"status":{}}`, top + `{"name":"a"},"spec":{}}`, nil},
		{"status", top + `{"name":"a"},"status":{"x":1}}`, top + `{"name":"a"}}`, []string{"dropped /status: status is written by /status alone"}},
		{"status of our own", top + `{"name":"a","scope":{},"deletionTimestamp":"t"},"status":{"x":1}}`,
			top + `{"name":"a","scope":{},"deletionTimestamp":"t"},"status":{"x":1}}`, nil},
		{"owners", top + `{"name":"a","ownerReferences":[{"uid":"u"},{"id":"i"}]}}`, top + `{"name":"a","ownerReferences":[{"id":"i"}]}}`,
			[]string{"dropped /metadata/ownerReferences by uid: ids of a cluster mean nothing here"}},
		{"only owners by uid", top + `{"name":"a","ownerReferences":[{"uid":"u"}]}}`, top + `{"name":"a"}}`,
			[]string{"dropped /metadata/ownerReferences by uid: ids of a cluster mean nothing here"}},
		{"white space and escapes", " {\n\"apiVersion\": \"g/v1\", \"kind\":\"K\",\"metadata\":{\"generateName\":\"\\u00e9-\"},\"spec\":{\"a\":\"\\/\"}}",
			top + `{"generateName":"\u00e9-"},"spec":{"a":"\/"}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, warnings, err := Normalize([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if diff := cmp.Diff(c.warnings, warnings); diff != "" {
				t.Error(diff)
			}
			again, warnings, err := Normalize(got)
			if err != nil || string(again) != string(got) || len(warnings) > 0 {
				t.Errorf("not idempotent: %s, %v, %v", again, warnings, err)
			}
		})
	}
}

func TestNormalize_Errors(t *testing.T) {
	const meta = `"metadata":{"name":"a"}`
	for _, c := range []struct{ in, want string }{
		{`{"apiVersion":"v1","kind":"ConfigMap",` + meta + `,"data":{"a":"b"}}`, "field /data is outside spec and status; driftless records keep their content in spec"},
		{`{"apiVersion":"v1","kind":"Secret",` + meta + `,"type":"Opaque","stringData":{},"a/b":1}`, "fields /type, /stringData, /a~1b are outside spec and status"},
		{`{"kind":"K",` + meta + `}`, "/apiVersion: is missing"},
		{`{"apiVersion":"v1","kind":"",` + meta + `}`, "/kind: want a text"},
		{`{"apiVersion":"v1","kind":1,` + meta + `}`, "/kind: want a text, have a number"},
		{`{"apiVersion":"v1","kind":"K"}`, "/metadata: is missing"},
		{`{"apiVersion":"v1","kind":"K","metadata":[]}`, "/metadata: want an object, have an array"},
		{`{"apiVersion":"v1","kind":"K","metadata":{}}`, "/metadata: name or generateName is missing"},
		{`{"apiVersion":"v1","kind":"K","metadata":{"name":1}}`, "/metadata/name: want a text"},
		{`{"apiVersion":"v1","kind":"K","metadata":{"name":"a","namespace":"p","scope":{"project":"q"}}}`, `/metadata/namespace: "p" means scope.project, but that is "q"`},
		{`{"apiVersion":"v1","kind":"K","metadata":{"name":"a","namespace":"p","scope":"q"}}`, "/metadata/scope: want an object"},
		{`{"apiVersion":"v1","kind":"K","metadata":{"name":"a","namespace":1}}`, "/metadata/namespace: want a text"},
		{`{"apiVersion":"v1","apiVersion":"v1"}`, "duplicate object member name"},
		{`[]`, "want an object, have an array"},
		{``, "EOF"},
		{`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "nested deeper than 64"},
	} {
		if got, _, err := Normalize([]byte(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Normalize(%.80s) = %s, %v; want %q", c.in, got, err, c.want)
		}
	}
}
