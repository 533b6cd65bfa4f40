package resource_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"driftless.dev/resource"
)

// What admission judges is what the schema library would have decoded itself.
func TestDecodeInstance_IsTheLibrarys(t *testing.T) {
	check := func(t rapid.TB, src []byte) {
		canonical, err := resource.Canonical(src)
		if err != nil {
			return
		}
		want, err := jsonschema.UnmarshalJSON(bytes.NewReader(canonical))
		if err != nil {
			t.Fatalf("library: %v", err)
		}
		got, err := resource.DecodeInstance(src)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n%#v\n%#v\n%v", src, got, want, err)
		}
	}
	for _, src := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `0`, `-1.50e+3`, `""`, `"a\"\\\b\t\n\f\r\u0001\u001f<é€😀"`, `{"a":[1,{"b":[[],{}]},"x"],"":null,"\"":{"\\":[]}}`,
	} {
		check(t, []byte(src))
	}
	rapid.Check(t, func(t *rapid.T) { check(t, []byte(drawJSON(t, 4))) })
}
