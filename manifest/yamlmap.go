package manifest

import (
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// mapping writes an object: its own fields in order, then the merged ones that
// it does not have.
func (w *writer) mapping(n *yaml.Node, depth int) error {
	if err := checkCollection(n, "!!map", depth); err != nil {
		return err
	}
	seen := make(map[string]bool, len(n.Content)/2)
	var merged object
	w.out = append(w.out, '{')
	empty := true
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name, err := w.key(key)
		if err != nil {
			return err
		}
		if seen[name] {
			return under(name, faultLine(key.Line, "duplicate key"))
		}
		seen[name] = true
		if isPlain(key) && key.Value == "<<" && tagOf(key) == "" {
			if merged, err = w.merge(value, depth); err != nil {
				return under(name, err)
			}
			continue
		}
		w.name(name, &empty)
		if err := w.value(value, depth); err != nil {
			return under(name, err)
		}
	}
	for _, m := range merged {
		if !seen[m.name] {
			seen[m.name] = true
			w.name(m.name, &empty)
			w.out = append(w.out, m.value...)
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// name writes the name of a field, and the comma before it.
func (w *writer) name(name string, first *bool) {
	if !*first {
		w.out = append(w.out, ',')
	}
	*first = false
	w.out = append(append(w.out, quote(name)...), ':')
}

// key returns the name a key stands for: its text as written, also where that
// text alone would be a number, a boolean or null.
func (w *writer) key(n *yaml.Node) (string, error) {
	switch n.Kind {
	case yaml.AliasNode:
		raw, ok := w.anchors[n.Value]
		if !ok {
			return "", faultLine(n.Line, "alias *%s has no anchor before it, or is inside it", n.Value)
		}
		if name, ok := unquote(raw); ok {
			return name, nil
		}
		if kind := raw.Kind(); kind == '{' || kind == '[' {
			return "", faultLine(n.Line, "a key must be a scalar, not %s", kindName(kind))
		}
		return string(raw), nil
	case yaml.ScalarNode:
	default:
		return "", faultLine(n.Line, "a key must be a scalar")
	}
	if tagOf(n)+n.Anchor == "" {
		return n.Value, nil // a bare 012 or .inf is a fine name
	}
	// The value is written only to judge the tag and to fill the anchor.
	side := &writer{anchors: w.anchors, copied: w.copied}
	if err := side.value(n, 0); err != nil {
		return "", err
	}
	if tagOf(n) != "" && side.out[0] != '"' {
		return string(side.out), nil
	}
	return n.Value, nil
}

// merge reads the value of a merge key: a mapping, or a list of mappings of
// which the earlier ones win.
func (w *writer) merge(n *yaml.Node, depth int) (object, error) {
	side := &writer{anchors: w.anchors, copied: w.copied}
	if err := side.value(n, depth); err != nil {
		return nil, err
	}
	raw := jsontext.Value(side.out)
	parts := []jsontext.Value{raw}
	if raw.Kind() == '[' {
		parts, _ = parseArray(raw)
	}
	var merged object
	for _, part := range parts {
		fields, err := parseObject(part)
		if err != nil {
			return nil, faultLine(n.Line, "a merge key takes mappings, not %s", kindName(part.Kind()))
		}
		merged = append(merged, fields...)
	}
	return merged, nil
}

// validBase64 accepts standard base64 with padding.
func validBase64(text string) bool {
	_, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil
}
