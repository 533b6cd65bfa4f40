package resource_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"driftless.dev/resource"
)

func compile(t testing.TB, schema string) resource.Validator {
	t.Helper()
	v, err := resource.NewSchemaCompiler().Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func verdict(t testing.TB, v resource.Validator, spec string) string {
	t.Helper()
	instance, err := resource.DecodeInstance([]byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Validate(instance); err != nil {
		return err.Error()
	}
	return ""
}

func TestSchema_Verdicts(t *testing.T) {
	for _, c := range []struct{ schema, spec, want string }{
		{`true`, `{"a":1}`, ""},
		{`false`, `1`, "false schema"},
		{`{"type":"object"}`, `[]`, "got array, want object"},
		{`{"properties":{"a/b":{"properties":{"c~":{"type":"null"}}}}}`, `{"a/b":{"c~":1}}`, "/a~1b/c~0: got number, want null"},
		{`{"items":{"type":"integer"}}`, `[1,1.0,10e-1,1e400,1.5]`, "/4: got number, want integer"},
		{`{"items":{"type":"integer"}}`, `[0,0,"x",0,0,0,0,0,0,0,"y"]`, "/2: got string, want integer"},
		{`{"minLength":1000}`, `"x"`, "minLength: got 1, want 1000"},
		// Exact numbers.
		{`{"minimum":9007199254740993}`, `9007199254740992`, "minimum: got 9007199254740992, want 9007199254740993"},
		{`{"minimum":9007199254740993}`, `9007199254740993`, ""},
		{`{"maximum":1e3}`, `1000.25`, "maximum: got 1000.25, want 1000"},
		{`{"exclusiveMinimum":0}`, `0`, "exclusiveMinimum: got 0, want 0"},
		{`{"multipleOf":0.01}`, `1.005`, "multipleOf: got 1.005, want 0.01"},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `1`, "no alternative fits: got number, want string; or got number, want null"},
		{`{"exclusiveMaximum":0.1}`, `0.1`, "exclusiveMaximum: got 0.1, want 0.1"},
		{`{"multipleOf":0.01}`, `4.35`, ""},
		{`{"const":1}`, `1.0`, ""},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, "value must be 9007199254740993"},
		// 2020-12, by default.
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, "/1: false schema"},
		{`{"properties":{"a":true},"unevaluatedProperties":false}`, `{"b":1,"a":1}`, "/b: false schema"},
		{`{"$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n","type":"null"}}}`, `1`, "got number, want null"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "properties 'b' required, if 'a' exists"},
		{`{"format":"date"}`, `"not a date"`, ""},
		// Older drafts, when asked for; ids and local references.
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`, "/0: got number, want string"},
		{`{"$id":"https://example.com/s","$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}`, `1`, "got number, want null"},
		// Alternatives say why.
		{`{"anyOf":[{"type":"string"},{"required":["a"],"type":"object"}]}`, `{}`, "no alternative fits: got object, want string; or missing property 'a'"},
		{`{"oneOf":[{"type":"integer"},{"minimum":0}]}`, `1`, "'oneOf' failed, subschemas 0, 1 matched"},
		{`{"allOf":[{"properties":{"b":{"type":"null"}}},{"properties":{"a":{"type":"null"}}}]}`, `{"a":1,"b":1}`, "/a: got number, want null"},
		{`{"propertyNames":{"pattern":"^a"}}`, `{"b":1}`, `property name "b": 'b' does not match pattern '^a'`},
	} {
		if got := verdict(t, compile(t, c.schema), c.spec); got != c.want {
			t.Errorf("%s on %s\n got %q\nwant %q", c.schema, c.spec, got, c.want)
		}
	}
}

// Of several violations the same one is named, every time: two nodes, or one
// node asked twice, give one answer.
func TestSchema_FirstViolationIsFixed(t *testing.T) {
	v := compile(t, `{
		"properties": {"n": {"additionalProperties": {"propertyNames": {"pattern": "^a"}}}},
		"patternProperties": {"^o": {"items": {"propertyNames": {"pattern": "^a"}}}, "^x": {"type": "null"}, "1$": {"type": "boolean"}, "^l": {"items": {"type": "null"}}},
		"dependentRequired": {"x1": ["p"], "x2": ["q"]},
		"additionalProperties": false
	}`)
	for spec, want := range map[string]string{
		`{"n":{"p":{"b":1,"ab":1},"q":{"ab":2},"r":{},"s":{"c":1}}}`: `/n/p: property name "b": 'b' does not match pattern '^a'`,
		`{"x9":1,"x1":1,"x5":1,"x3":1}`:                              "properties 'p' required, if 'x1' exists",
		`{"x9":1,"x5":1,"x3":1,"x31":1}`:                             "/x3: got number, want null",
		`{"o":[{"a":1},{"b":{"b":1}},{"a":2,"b":3}]}`:                `/o/1: property name "b": 'b' does not match pattern '^a'`,
		`{"x31":1}`: "/x31: got number, want boolean",
		`{"l":[null,null,1,null,null,null,null,null,null,null,2]}`: "/l/2: got number, want null",
		`{"c":1,"b":1,"d":1,"a":1}`:                                "additional properties 'a', 'b', 'c', 'd' not allowed",
	} {
		for range 50 {
			if got := verdict(t, v, spec); got != want {
				t.Fatalf("%s\n got %q\nwant %q", spec, got, want)
			}
		}
	}
}

func TestSchema_NothingIsLoaded(t *testing.T) {
	for _, ref := range []string{"https://example.com/s.json", "file:///etc/passwd", "/etc/passwd", "other.json", "../x", "urn:x:y"} {
		for _, schema := range []string{`{"$ref":%q}`, `{"$schema":%q}`, `{"properties":{"a":{"$dynamicRef":%q}}}`} {
			_, err := resource.NewSchemaCompiler().Compile(fmt.Appendf(nil, schema, ref))
			wantInvalid(t, err, "schema", "not loaded", "$defs")
		}
	}
}

func TestSchema_Bounds(t *testing.T) {
	c := resource.NewSchemaCompiler()
	_, err := c.Compile([]byte(`{"description":"` + strings.Repeat("x", resource.MaxSchemaSize) + `"}`))
	wantInvalid(t, err, "schema", "over 262144")
	_, err = c.Compile([]byte(strings.Repeat(`{"not":`, 65) + "true" + strings.Repeat("}", 65)))
	wantInvalid(t, err, "schema/not/not", "nested over 64")
	_, err = c.Compile([]byte(`{"maximum":1e9999999}`))
	wantInvalid(t, err, "schema/maximum", "digits")
	_, err = c.Compile([]byte(`{"pattern":"a{1001}"}`))
	wantInvalid(t, err, "schema/pattern")
	long := compile(t, `{"pattern":"^a*$"}`)
	if got := verdict(t, long, `"`+strings.Repeat("b", 1<<20)+`"`); len(got) > 1100 {
		t.Fatalf("an error of %d bytes", len(got))
	}
}

// The library panics on these, or takes seconds.
func TestSchema_NumbersThatCannotBeJudged(t *testing.T) {
	v := compile(t, `{"properties":{"a":{"minimum":0}},"items":{"multipleOf":3},"uniqueItems":true}`)
	for spec, want := range map[string]string{
		`{"b":1e2000000,"a":1e2000000}`:        "/a: number 1e2000000: over 1024 digits",
		`{"a":1e-99999999999999999999}`:        "/a: number",
		`[1,-1E+5000000]`:                      "/1: number",
		`[1` + strings.Repeat("0", 1024) + `]`: "/0: number",
	} {
		if got := verdict(t, v, spec); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if err := v.Validate([]any{f}); err == nil || err.Error() != "/0: number is not finite" {
			t.Error(err)
		}
	}
	for _, instance := range []any{
		map[string]any{"a": json.Number("1e400")}, map[string]any{"a": 1.5}, []any{3, 6.0, json.Number("9e1000")},
	} {
		if err := v.Validate(instance); err != nil {
			t.Errorf("%v: %v", instance, err)
		}
	}
}

// A schema that refers to itself ends.
func TestSchema_Recursion(t *testing.T) {
	tree := compile(t, `{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}`)
	if got := verdict(t, tree, `{"next":{"next":{"x":1}}}`); got != "/next/next: additional properties 'x' not allowed" {
		t.Error(got)
	}
	if got := verdict(t, compile(t, `{"$ref":"#"}`), `1`); !strings.Contains(got, "cycle") {
		t.Error(got)
	}
}
