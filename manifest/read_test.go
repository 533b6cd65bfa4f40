package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// brief is a document for comparison: its name, and its JSON or "error: ...".
func brief(docs []Document) []string {
	var out []string
	for _, d := range docs {
		line := d.String() + " " + string(d.JSON)
		if d.Err != nil {
			line = "error: " + d.Err.Error()
		}
		out = append(out, line)
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"one", "a: 1\n", []string{`s: document 1 (line 1) {"a":1}`}},
		{"markers and comments", "# head\n---\n# c\na: 1\n--- # two\nb: 2\n...\n---\n---\n# nothing\n---\nnull\n--- {c: 3}\n", []string{
			`s: document 1 (line 4) {"a":1}`, `s: document 2 (line 6) {"b":2}`, `s: document 3 (line 13) {"c":3}`}},
		{"marker inside a block scalar", "a: |\n  ---\n  x\n---\nb: 1\n", []string{
			`s: document 1 (line 1) {"a":"---\nx\n"}`, `s: document 2 (line 5) {"b":1}`}},
		{"marker with text", "a: ---x\nb: 1\n---x: 2\n", []string{`s: document 1 (line 1) {"a":"---x","b":1,"---x":2}`}},
		{"bad one among good ones", "a: 1\n---\nb: [\n---\nc: 3\n---\nd: 1\nd: 2\n", []string{
			`s: document 1 (line 1) {"a":1}`,
			`error: s: document 2 (line 3): near line 3: did not find expected node content`,
			`s: document 3 (line 5) {"c":3}`,
			`error: s: document 4 (line 7): line 8: /d: duplicate key`}},
		{"scalar", "a: 1\n---\nhello\n", []string{
			`s: document 1 (line 1) {"a":1}`, `error: s: document 2 (line 3): a document is an object, this is a string`}},
		{"directives", "%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 1\n", []string{
			`s: document 1 (line 1) {"a":1}`, `s: document 2 (line 5) {"b":1}`}},
		{"json stream", "{\"a\": 1}\n{\"b\": 1.0} {\"c\": 2}", []string{
			`s: document 1 (line 1) {"a":1}`, `s: document 2 (line 2) {"b":1.0}`, `s: document 3 (line 2) {"c":2}`}},
		{"json stream that breaks off", "{\"a\": 1}\n{\"b\":", []string{
			`s: document 1 (line 1) {"a":1}`, `error: s: document 2 (line 2): line 2: /b: unexpected EOF`}},
		{"json with a duplicate", "{\"a\": 1,\n\"a\": 2}", []string{
			`error: s: document 1 (line 1): line 2: /a: duplicate object member name`}},
		{"json and yaml", "{\"a\": 1}\n---\nb: 2\n---\n{c: 3}\n", []string{
			`s: document 1 (line 1) {"a":1}`, `s: document 2 (line 3) {"b":2}`, `s: document 3 (line 5) {"c":3}`}},
		{"json array", "[1]", []string{`error: s: document 1 (line 1): a document is an object, this is an array`}},
		{"list", "apiVersion: v1\nkind: List\nitems:\n- a: 1\n- 2\n---\nb: 1\n", []string{
			`s: document 1 (line 1), item /items/0 {"a":1}`,
			`error: s: document 1 (line 1), item /items/1: a document is an object, this is a number`,
			`s: document 2 (line 7) {"b":1}`}},
		{"list without items", "apiVersion: v1\nkind: List\n", []string{`error: s: document 1 (line 1): /items: want an array, have nothing`}},
		{"byte order mark", "\ufeffa: 1\n", []string{`s: document 1 (line 1) {"a":1}`}},
		{"windows", "a: 1\r\n---\r\nb: 2\r\n", []string{`s: document 1 (line 1) {"a":1}`, `s: document 2 (line 3) {"b":2}`}},
		{"nothing", "# only\n---\n\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, brief(Split("s", []byte(c.in)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": "b: 1\n", "a.yml": "a: 1\n", "c.json": `{"c": 1}`, "d.txt": "d: 1\n", "sub/e.yaml": "e: 1\n", "empty/x.txt": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "d.txt"), filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	read := func(recursive bool, paths ...string) (string, error) {
		docs, err := Read(paths, strings.NewReader("s: 1\n"), recursive)
		var out []string
		for _, d := range docs {
			out = append(out, string(d.JSON))
		}
		return strings.Join(out, ""), err
	}
	for _, c := range []struct {
		recursive bool
		paths     []string
		want      string
	}{
		{false, []string{dir}, `{"a":1}{"b":1}{"c":1}{"d":1}`},
		{true, []string{dir}, `{"a":1}{"b":1}{"c":1}{"d":1}{"e":1}`},
		{false, []string{filepath.Join(dir, "d.txt"), "-"}, `{"d":1}{"s":1}`},
		{false, nil, ""},
	} {
		if got, err := read(c.recursive, c.paths...); err != nil || got != c.want {
			t.Errorf("Read(%v, %v) = %s, %v; want %s", c.paths, c.recursive, got, err, c.want)
		}
	}
	if got, err := read(false, dir, filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) || got != "" {
		t.Errorf("missing file: %s, %v", got, err)
	}
	if _, err := read(true, filepath.Join(dir, "empty")); err == nil {
		t.Error("a directory without manifests was accepted")
	}
	if _, err := read(false, "-", "-"); err == nil {
		t.Error("stdin was read twice")
	}
}

func TestDocument_Wrap(t *testing.T) {
	d := Document{Source: "a.yaml", Index: 2, Line: 7}
	if err := d.Wrap(nil); err != nil {
		t.Error(err)
	}
	want := "a.yaml: document 2 (line 7): /spec/x: is missing"
	if err := d.Wrap(fault("/spec/x", "is missing")); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
