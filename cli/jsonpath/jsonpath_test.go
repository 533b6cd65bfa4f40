package jsonpath_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/cli/jsonpath"
	"driftless.dev/fuzztest"
)

const doc = `{
  "metadata": {"name": "summarise", "labels": {"app.io/name": "x", "tier": "gold"}},
  "spec": {"size": 9007199254740993, "exact": 1.0, "big": 1e400, "on": true, "none": null, "list": [1, "two", {"a": [3]}]},
  "status": {"conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Synced", "status": "False"}]}
}`

func TestTemplate(t *testing.T) {
	for _, tt := range []struct{ name, path, want string }{
		{"plain path", ".metadata.name", "summarise"},
		{"kubectl's relaxed form", "metadata.name", "summarise"},
		{"dollar", "$.metadata.name", "summarise"},
		{"number as written", ".spec.size", "9007199254740993"},
		{"fraction as written", ".spec.exact", "1.0"},
		{"no float overflow", ".spec.big", "1e400"},
		{"literals", "{.spec.on}{.spec.none}", "truenull"},
		{"object compact", ".metadata.labels", `{"app.io/name":"x","tier":"gold"}`},
		{"escaped dot", `.metadata.labels.app\.io/name`, "x"},
		{"quoted member", `.metadata.labels['app.io/name']`, "x"},
		{"double quoted member", `.metadata["labels"]["tier"]`, "gold"},
		{"index", ".spec.list[1]", "two"},
		{"negative index", ".spec.list[-1].a[0]", "3"},
		{"index past the end", ".spec.list[9]", ""},
		{"all elements", ".spec.list[*]", `1 two {"a":[3]}`},
		{"all values", ".metadata.labels.*", "x gold"},
		{"absent", ".spec.nothing.at.all", ""},
		{"step into a scalar", ".metadata.name.first[0]", ""},
		{"filter", `.status.conditions[?(@.type=="Ready")].status`, "True"},
		{"filter, single quotes and spaces", `.status.conditions[?(@.type == 'Synced')].status`, "False"},
		{"filter not equal", `.status.conditions[?(@.type!="Ready")].type`, "Synced"},
		{"filter exists", `.status.conditions[?(@.n)].type`, "Ready"},
		{"filter number", `.status.conditions[?(@.n==1)].type`, "Ready"},
		{"filter keeps kinds apart", `.status.conditions[?(@.n=="1")].type`, ""},
		{"braces", "{.metadata.name}", "summarise"},
		{"text around", `name={.metadata.name}{"\n"}`, "name=summarise\n"},
		{"brace in a quote", `{"}"}{'{'}`, "}{"},
		{"range", `{range .status.conditions[*]}{.type}={.status}{"\n"}{end}!`, "Ready=True\nSynced=False\n!"},
		{"nested range", `{range .spec.list[*]}{range .a[*]}<{@}>{end}{end}`, "<3>"},
		{"root", "{.}", jsonpath.Text(jsontext.Value(doc))},
		{"empty", "", jsonpath.Text(jsontext.Value(doc))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, err := jsonpath.ParseTemplate(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if got := tmpl.Execute(jsontext.Value(doc)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTemplate_Refuses(t *testing.T) {
	for _, tt := range []struct{ name, path, want string }{
		{"descent", "..name", "recursive descent"},
		{"slice", ".a[0:2]", "slices and unions"},
		{"union", ".a[0,1]", "slices and unions"},
		{"name in brackets", ".a[b]", "quoted name"},
		{"order", ".a[?(@.b>1)]", "== or !="},
		{"script", ".a[(1)]", "want a number"},
		{"filter without @", ".a[?(b)]", "begins with @"},
		{"bare literal", ".a[?(@.b==True)]", "quote a text"},
		{"open bracket", ".a[", "want a number"},
		{"open quote", ".a['b", "not closed"},
		{"open brace", "{.a", "want }"},
		{"open range", "{range .a[*]}", "without {end}"},
		{"end alone", "{end}", "without {range}"},
		{"trailing dot", ".a.", "name is missing"},
		{"trailing text", ".a b", "unexpected"},
		{"two", "{.a .b}", "want }"},
		{"backslash at the end", `.a\`, "unexpected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jsonpath.ParseTemplate(tt.path)
			if !errors.Is(err, jsonpath.ErrSyntax) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// A template that is read never panics, whatever it is run over.
func FuzzTemplate(f *testing.F) {
	f.Add(`{range .a[*]}{.b["c"]}{end}`, doc)
	f.Add(`.a[?(@.b=="c")].d[-1]`, `[1]`)
	f.Add(`{.}`, `"x"`)
	f.Add(strings.Repeat(`{range .a[*]}`, 64), doc)
	f.Add(`{..a..b..c}`, `{"a":{"a":{"a":{"a":{"b":{"c":1}}}}}}`)
	f.Add(strings.Repeat("{.a[*]}", 64), doc)
	f.Add(strings.Repeat("[", 1<<10), `[]`)
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, path, text string) {
		cost.Run(t, []byte(path), func() { _, _ = jsonpath.ParseTemplate(path) })
		tmpl, err := jsonpath.ParseTemplate(path)
		if err != nil || !jsontext.Value(text).IsValid() {
			return
		}
		tmpl.Execute(jsontext.Value(text))
	})
}
