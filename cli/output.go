package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/cli/jsonpath"
	"driftless.dev/manifest"
)

// The formats of -o. Those of data keep every number as it was written.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatName  = "name"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatPath  = "jsonpath"
)

// output is the flag -o.
type output struct {
	allowed []string
	format  string
	path    jsonpath.Template
}

// newOutput allows formats; the first is the default.
func newOutput(allowed ...string) *output { return &output{allowed: allowed, format: allowed[0]} }

// String is the flag's value.
func (o *output) String() string { return o.format }

// Type is what help calls the value.
func (o *output) Type() string { return "format" }

// Set reads the flag.
func (o *output) Set(s string) (err error) {
	name, path, hasPath := strings.Cut(s, "=")
	if !slices.Contains(o.allowed, name) || hasPath != (name == formatPath) {
		return fmt.Errorf("want %s%s", o.choice(), meant(name, o.allowed))
	}
	o.format = name
	if hasPath {
		o.path, err = jsonpath.ParseTemplate(path)
	}
	return err
}

func (o *output) choice() string {
	out := strings.Join(o.allowed, "|")
	return strings.Replace(out, formatPath, formatPath+"=PATH", 1)
}

// isData reports whether the format shows whole values rather than lines.
func (o *output) isData() bool {
	return o.format == formatJSON || o.format == formatYAML || o.format == formatPath
}

// writeOne writes a value in a format of data.
func (o *output) writeOne(w io.Writer, value any) error {
	raw, err := marshal(value)
	if err != nil {
		return err
	}
	text, err := o.render(raw)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writeList writes values in a format of data: YAML as one document each, the
// others as one object with items.
func (o *output) writeList(w io.Writer, items []jsontext.Value) error {
	if o.format != formatYAML {
		return o.writeOne(w, struct {
			Items []jsontext.Value `json:"items"`
		}{items})
	}
	for i, item := range items {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if err := o.writeOne(w, item); err != nil {
			return err
		}
	}
	return nil
}

// writeRecords writes records as a list that apply takes: JSON as a v1 List.
func (o *output) writeRecords(w io.Writer, items []jsontext.Value) error {
	if o.format == formatYAML {
		return o.writeList(w, items)
	}
	return o.writeOne(w, struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []jsontext.Value `json:"items"`
	}{"v1", "List", items})
}

func (o *output) render(raw jsontext.Value) ([]byte, error) {
	switch o.format {
	case formatYAML:
		return manifest.FromJSON(raw)
	case formatPath:
		text := o.path.Execute(raw)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return []byte(text), nil
	}
	if err := raw.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}

// marshal writes a value as JSON of its own memory. Raw values go through as
// they are.
func marshal(value any) (jsontext.Value, error) {
	if raw, ok := value.(jsontext.Value); ok {
		return raw.Clone(), nil
	}
	return jsonv2.Marshal(value, jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true))
}
