package manifest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// crd is a definition with one served version around a schema of spec.
func crd(spec string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.g.io"},"spec":{"group":"g.io","scope":"Namespaced",` +
		`"names":{"kind":"Foo","plural":"foos"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + spec + `}}}}]}}`
}

// specOf imports a CRD around a schema of spec and returns the converted one.
func specOf(t *testing.T, spec string) (schema string, warnings []string) {
	t.Helper()
	kinds, warnings, err := ImportCRD([]byte(crd(spec)), "name")
	if err != nil {
		t.Fatal(err)
	}
	fields, _ := parseObject(kinds[0])
	kind, _ := parseObject(fields.get("spec"))
	return strings.Replace(string(kind.get("schema")), `"$schema":"https://json-schema.org/draft/2020-12/schema",`, "", 1), warnings
}

func TestImportCRD_Schema(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		warnings       []string
	}{
		{"objects are closed", `{"type":"object","description":"d","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`,
			`{"type":"object","description":"d","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":false}},"additionalProperties":false}`, nil},
		{"open where it says so", `{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"m":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"string"}}}},"any":{"x-kubernetes-preserve-unknown-fields":true}}}`,
			`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}},"any":{}}}`, nil},
		{"nullable", `{"type":"object","nullable":true,"properties":{"e":{"type":"string","nullable":true,"enum":["a"]},"i":{"nullable":true,"x-kubernetes-int-or-string":true}}}`,
			`{"type":["object","null"],"properties":{"e":{"type":["string","null"],"enum":["a",null]},"i":{"type":["integer","string","null"]}},"additionalProperties":false}`, nil},
		{"int or string spelled out", `{"type":"object","properties":{"p":{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true,"pattern":"^a"},"q":{"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"minLength":1}]}}}`,
			`{"type":"object","properties":{"p":{"pattern":"^a","type":["integer","string"]},"q":{"allOf":[{"minLength":1}],"type":["integer","string"]}},"additionalProperties":false}`, nil},
		{"embedded", `{"type":"object","properties":{"t":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},"u":{"type":"object","x-kubernetes-embedded-resource":true,"required":["spec"],"properties":{"metadata":{"type":"object"},"spec":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"t":{"type":"object","properties":{"apiVersion":{"type":"string","minLength":1},"kind":{"type":"string","minLength":1},"metadata":{"type":"object"}},"required":["apiVersion","kind"]},` +
				`"u":{"type":"object","required":["spec","apiVersion","kind"],"properties":{"metadata":{"type":"object"},"spec":{"type":"string"},"apiVersion":{"type":"string","minLength":1},"kind":{"type":"string","minLength":1}},"additionalProperties":false}},"additionalProperties":false}`, nil},
		{"lists", `{"type":"object","properties":{"s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},"m":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string"}}}}}}`,
			`{"type":"object","properties":{"s":{"type":"array","items":{"type":"string"},"uniqueItems":true},"m":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}},"additionalProperties":false}}},"additionalProperties":false}`,
			[]string{"foos.v1.g.io: the keys of lists of type map are not checked: /spec/m"}},
		{"numbers", `{"type":"object","properties":{"i":{"type":"integer","format":"int32","minimum":1},"l":{"type":"integer","format":"int64"},"x":{"type":"number","minimum":1.50,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"i":{"type":"integer","format":"int32","minimum":1,"maximum":2147483647},"l":{"type":"integer","format":"int64","minimum":-9223372036854775808,"maximum":9223372036854775807},"x":{"type":"number","exclusiveMinimum":1.50,"maximum":9}},"additionalProperties":false}`, nil},
		{"defaults", `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","default":"x"},"b":{"type":"string"}}}`,
			`{"type":"object","required":["b"],"properties":{"a":{"type":"string","default":"x"},"b":{"type":"string"}},"additionalProperties":false}`,
			[]string{"foos.v1.g.io: defaults are not filled in: /spec/a"}},
		{"defaults in branches", `{"type":"object","properties":{"t":{"type":"string","default":"A"}},"oneOf":[{"required":["t"],"properties":{"t":{"enum":["A"]}}},{"properties":{"t":{"not":{"enum":["A"]}}}}]}`,
			`{"type":"object","properties":{"t":{"type":"string","default":"A"}},"oneOf":[{"properties":{"t":{"enum":["A"]}}},{"properties":{"t":{"not":{"enum":["A"]}}},"required":["t"]}],"additionalProperties":false}`,
			[]string{"foos.v1.g.io: defaults are not filled in: /spec/t"}},
		{"branches stay open", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}},"anyOf":[{"properties":{"a":{"required":["b"],"properties":{"b":{"minLength":1}}}}},{"not":{"required":["a"]}}]}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":false}},"anyOf":[{"properties":{"a":{"required":["b"],"properties":{"b":{"minLength":1}}}}},{"not":{"required":["a"]}}],"additionalProperties":false}`, nil},
		{"rules, formats, patterns", `{"type":"object","x-kubernetes-validations":[{"rule":"1"},{"rule":"2"}],"properties":{"a/b":{"type":"array","items":{"type":"string","format":"date-time","pattern":"(?=x)","example":"y","externalDocs":{},"x-kubernetes-validations":[{"rule":"3"}]}}}}`,
			`{"type":"object","properties":{"a/b":{"type":"array","items":{"type":"string","format":"date-time"}}},"additionalProperties":false}`,
			[]string{"foos.v1.g.io: CEL rules are not checked: 3, at /spec, /spec/a~1b/*", "foos.v1.g.io: formats are not checked: date-time", "foos.v1.g.io: patterns that are no RE2 are dropped: /spec/a~1b/*"}},
		{"big numbers", `{"type":"object","additionalProperties":{"type":"number","maximum":9007199254740993.10}}`, `{"type":"object","additionalProperties":{"type":"number","maximum":9007199254740993.10}}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, warnings := specOf(t, c.in)
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if diff := cmp.Diff(c.warnings, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImportCRD_DefaultsCountInBranches(t *testing.T) {
	kinds, _, err := ImportCRD([]byte(crd(`{"type":"object","required":["t"],"properties":{"t":{"type":"string","default":"A"},"v":{"type":"string"}},`+
		`"oneOf":[{"properties":{"t":{"enum":["A"]},"v":{"pattern":"^a"}}},{"properties":{"t":{"not":{"enum":["A"]}}}}]}`)), "name")
	if err != nil {
		t.Fatal(err)
	}
	_, _, schema := compileKind(t, kinds[0])
	for in, valid := range map[string]bool{
		`{"v":"ax"}`: true, `{"v":"bx"}`: false, `{"t":"A","v":"bx"}`: false, `{"t":"B","v":"bx"}`: true, `{"t":"B","u":1}`: false, `{}`: true,
	} {
		value, _ := jsonschema.UnmarshalJSON(strings.NewReader(in))
		if err := schema.Validate(value); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %v", in, err, valid)
		}
	}
}

func TestImportCRD_Kind(t *testing.T) {
	in := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"g.io","scope":"Cluster","conversion":{"strategy":"Webhook"},
	"names":{"kind":"Foo","plural":"foos","shortNames":["f","fo"]},"versions":[
	{"name":"v2","served":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-validations":[{"rule":"r"}],"properties":{"data":{"type":"string"},"metadata":{"type":"object","properties":{"name":{"maxLength":9}}}}}},
	 "subresources":{"scale":{}},"selectableFields":[{}],"deprecated":true,"additionalPrinterColumns":[{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"},{"name":"X","jsonPath":".spec.x","priority":1}]},
	{"name":"v1","served":false,"schema":{}}]}}`
	kinds, warnings, err := ImportCRD([]byte(in), "unique")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"core.driftless.dev/v1alpha1","kind":"Kind","metadata":{"name":"foos.v2.g.io"},"spec":{"apiVersion":"g.io/v2","name":"Foo","singular":"foo","plural":"foos",` +
		`"aliases":["f","fo"],"identity":"unique","level":"fleet","printColumns":[{"name":"Age","jsonPath":".metadata.createdAt","type":"date"},{"name":"X","jsonPath":".spec.x"}]}}`
	if len(kinds) != 1 || string(kinds[0]) != want {
		t.Errorf("\n got %s\nwant %s", bytes.Join(kinds, nil), want)
	}
	if diff := cmp.Diff([]string{
		"foos.v2.g.io: restrictions on metadata are not checked",
		"foos.v2.g.io: manifests with /data are refused: driftless records keep their content in spec",
		"foos.v2.g.io: the schema has no properties.spec: the kind gets no schema and takes any spec",
		"foos.v2.g.io: CEL rules are not checked: 1, at /",
		"foos.v2.g.io: the scale subresource is not kept",
		"foos.v2.g.io: selectableFields are not kept",
		"foos.v2.g.io: this version is deprecated",
		"foos.v1.g.io: not imported, it is not served",
		"foos.g.io: the conversion webhook is not called; versions address the same record as it is stored",
	}, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestImportCRD_Errors(t *testing.T) {
	good := crd(`{"type":"object"}`)
	for _, c := range []struct{ in, want string }{
		{strings.Replace(good, `"group":"g.io",`, "", 1), "/spec/group: is missing"},
		{strings.Replace(good, `"plural":"foos"`, `"plural":1`, 1), "/spec/names/plural: is missing"},
		{strings.Replace(good, "Namespaced", "Galaxy", 1), `/spec/scope: "Galaxy"`},
		{strings.Replace(good, `"served":true`, `"served":false`, 1), "/spec/versions: no version is served"},
		{strings.Replace(good, `"versions":[`, `"versions":[{"name":"v1"},`, 1), "/spec/versions/1/name: v1 is there twice"},
		{strings.Replace(good, `"schema":{`, `"schema":[],"x":{`, 1), "/spec/versions/0/schema: want an object"},
		{strings.Replace(good, "io/v1", "io/v1beta1", 1), "/apiVersion: apiextensions.k8s.io/v1beta1 is not supported"},
		{crd(`{"$ref":"#/x"}`), "/spec/versions/0/schema/openAPIV3Schema/properties/spec/$ref: is not allowed"},
		{crd(`{"properties":{"a":{"items":[{}]}}}`), "properties/spec/properties/a/items: want an object, have an array"},
		{crd(`{"required":{}}`), "spec/required: want an array"},
		{crd(`true`), "spec: want an object"},
		{`{`, "EOF"},
	} {
		if _, _, err := ImportCRD([]byte(c.in), "name"); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrNotCRD) {
			t.Errorf("ImportCRD(%.120s): %v, want %q", c.in, err, c.want)
		}
	}
	for _, in := range []string{`[]`, `{}`, `{"apiVersion":"v1","kind":"CustomResourceDefinition"}`, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"X"}`} {
		if _, _, err := ImportCRD([]byte(in), "name"); !errors.Is(err, ErrNotCRD) {
			t.Errorf("ImportCRD(%s): %v, want ErrNotCRD", in, err)
		}
	}
	if _, _, err := ImportCRD([]byte(good), "other"); err == nil {
		t.Error("identity other was accepted")
	}
}
