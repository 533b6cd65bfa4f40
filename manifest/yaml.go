package manifest

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// ToJSON translates one YAML document to JSON without white space. It keeps the
// order of keys and the spelling of numbers that are JSON numbers; an empty
// document is null. Merge keys are resolved, the merged fields come last.
//
// Errors are *Error with line and pointer: syntax, duplicate keys, keys that are
// no scalars, tags without a JSON meaning, numbers without a JSON spelling,
// aliases that expand too far, nesting over 64, 8 MiB of text or result.
func ToJSON(doc []byte) ([]byte, error) {
	root, err := parseYAML(doc)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return []byte("null"), nil
	}
	w := &writer{anchors: map[string]jsontext.Value{}, copied: &copied{most: min(maxBytes, aliasFree+aliasPerByte*len(doc))}}
	if err := w.value(root, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// writer writes a tree of nodes as JSON.
type writer struct {
	out []byte
	// anchors holds the JSON of each anchor seen. The bytes alias out, which
	// only grows, so an alias is a copy of bytes and cannot be recursive.
	anchors map[string]jsontext.Value
	*copied
}

// copied counts what aliases have added, also where a merge threw it away, and
// bounds it by what the document paid for.
type copied struct{ values, bytes, most int }

// value writes one node at a depth of containers around it.
func (w *writer) value(n *yaml.Node, depth int) error {
	start := len(w.out)
	var err error
	switch n.Kind {
	case yaml.AliasNode:
		err = w.alias(n, depth)
	case yaml.ScalarNode:
		err = w.scalar(n)
	case yaml.SequenceNode:
		err = w.sequence(n, depth+1)
	case yaml.MappingNode:
		err = w.mapping(n, depth+1)
	}
	switch {
	case err != nil:
		return err
	case len(w.out) > maxBytes:
		return faultLine(n.Line, "document is larger than %d bytes as JSON", maxBytes)
	case n.Anchor != "":
		w.anchors[n.Anchor] = w.out[start:len(w.out):len(w.out)]
	}
	return nil
}

// alias copies what its anchor wrote, within the bound of expansion.
func (w *writer) alias(n *yaml.Node, depth int) error {
	raw, ok := w.anchors[n.Value]
	if !ok {
		return faultLine(n.Line, "alias *%s has no anchor before it, or is inside it", n.Value)
	}
	if w.bytes += len(raw); w.bytes > w.most {
		return faultLine(n.Line, "aliases expand to more than %d bytes", w.most)
	}
	count, deepest := tally(raw)
	if w.values += count; w.values > maxAliased {
		return faultLine(n.Line, "aliases expand to more than %d values", maxAliased)
	}
	if depth+deepest > maxDepth {
		return faultLine(n.Line, "nested deeper than %d", maxDepth)
	}
	w.out = append(w.out, raw...)
	return nil
}

// tally counts the containers and separators of a compact JSON text, which
// bounds its values, and its depth.
func tally(raw []byte) (count, deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			count++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		case c == ',':
			count++
		}
	}
	return count + 1, deepest
}

// scalar writes a scalar under its tag, or by the core schema.
func (w *writer) scalar(n *yaml.Node) error {
	value, err := resolveNode(n)
	if err != nil {
		e := err.(*Error)
		e.Line = n.Line
		return e
	}
	if value.kind == '"' {
		w.out = append(w.out, quote(value.json)...)
	} else {
		w.out = append(w.out, value.json...)
	}
	return nil
}

// sequence writes an array.
func (w *writer) sequence(n *yaml.Node, depth int) error {
	if err := checkCollection(n, "!!seq", depth); err != nil {
		return err
	}
	w.out = append(w.out, '[')
	for i, item := range n.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(item, depth); err != nil {
			return under(strconv.Itoa(i), err)
		}
	}
	w.out = append(w.out, ']')
	return nil
}

// tagOf is the tag that a node carries in the text, in short form.
func tagOf(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	return n.ShortTag()
}

// isPlain tells an unquoted scalar, which the core schema resolves.
func isPlain(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind == yaml.ScalarNode && n.Style&quoted == 0
}

// resolveNode gives a scalar its JSON kind.
func resolveNode(n *yaml.Node) (resolved, error) {
	tag := tagOf(n)
	switch tag {
	case "":
		if isPlain(n) {
			return resolve(n.Value)
		}
		return resolved{'"', n.Value}, nil
	case "!!str", "!!timestamp":
		return resolved{'"', n.Value}, nil
	case "!!binary":
		return binary(n.Value)
	}
	kinds, ok := map[string]string{"!!int": "0", "!!float": "0", "!!bool": "tf", "!!null": "n"}[tag]
	if !ok {
		return resolved{}, fault("", "tag %s is not supported", tag)
	}
	value, err := resolve(n.Value)
	if err == nil && (!strings.ContainsRune(kinds, rune(value.kind)) || tag == "!!int" && strings.ContainsAny(value.json, ".eE")) {
		err = fault("", "%q is not a %s", n.Value, tag)
	}
	return value, err
}

// checkCollection checks the depth and the tag of a sequence or mapping.
func checkCollection(n *yaml.Node, want string, depth int) error {
	switch tag := tagOf(n); {
	case depth > maxDepth:
		return faultLine(n.Line, "nested deeper than %d", maxDepth)
	case tag != "" && tag != want:
		return faultLine(n.Line, "tag %s on a collection is not supported", tag)
	}
	return nil
}

// binary checks base64 and strips its white space. JSON carries the base64 text,
// as Kubernetes does for bytes.
func binary(text string) (resolved, error) {
	stripped := strings.Join(strings.Fields(text), "")
	if !validBase64(stripped) {
		return resolved{}, fault("", "!!binary is not base64")
	}
	return resolved{'"', stripped}, nil
}
