package resource

import (
	"reflect"
	"slices"
	"testing"
)

// What MarshalJSON writes of the system's, ParseForm passes over.
func TestIgnoredMeta_HasTheSystemsNames(t *testing.T) {
	names := func(v any) (out []string) {
		for f := range reflect.TypeOf(v).Fields() {
			out = append(out, f.Name+" "+f.Tag.Get("json"))
		}
		return out
	}
	want := names(systemMeta{})
	for i, name := range want {
		want[i] = name[:len(name)-len(",omitzero")]
	}
	if got := names(ignoredMeta{}); !slices.Equal(got, want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}
}
