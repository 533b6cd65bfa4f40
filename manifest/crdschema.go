package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// specSchema converts the schema of spec of one version; nil if there is none.
func specSchema(version object) (jsontext.Value, []string, error) {
	outer, err := parseObject(version.get("schema"))
	if err != nil {
		return nil, nil, under("schema", err)
	}
	root, err := parseObject(outer.get("openAPIV3Schema"))
	if err != nil {
		return nil, nil, under("schema", under("openAPIV3Schema", err))
	}
	c := &converter{}
	c.rules(root.get("x-kubernetes-validations"), "/")
	var properties object
	if raw := root.get("properties"); raw != nil {
		if properties, err = parseObject(raw); err != nil {
			return nil, nil, under("schema", under("openAPIV3Schema", under("properties", err)))
		}
	}
	outside := outsideSpec(properties)
	spec := properties.get("spec")
	if spec == nil {
		outside = append(outside, "the schema has no properties.spec: the kind gets no schema and takes any spec")
		return nil, append(outside, c.notes()...), nil
	}
	converted, err := c.convert(spec, &structural{raw: spec}, "/spec", false)
	if err != nil {
		return nil, nil, under("schema", under("openAPIV3Schema", under("properties", under("spec", err))))
	}
	fields, err := parseObject(converted)
	if err != nil {
		return nil, nil, err
	}
	fields = append(object{{"$schema", quote(draft)}}, fields...)
	return fields.raw(), append(outside, c.notes()...), nil
}

// outsideSpec names what a root schema says about fields that are not in spec.
func outsideSpec(properties object) (notes []string) {
	var outside []string
	for _, m := range properties {
		switch m.name {
		case "apiVersion", "kind", "spec", "status":
		case "metadata":
			if meta, err := parseObject(m.value); err == nil && meta.get("properties") != nil {
				notes = append(notes, "restrictions on metadata are not checked")
			}
		default:
			outside = append(outside, "/"+escapePointer(m.name))
		}
	}
	if len(outside) > 0 {
		notes = append(notes, "manifests with "+strings.Join(outside, ", ")+" are refused: driftless records keep their content in spec")
	}
	return notes
}

// structural is the part of a structural schema that the branches of allOf,
// anyOf, oneOf and not speak about: it knows which properties have defaults.
// Parts are parsed when asked for, once.
type structural struct {
	raw        jsontext.Value
	parsed     bool
	properties map[string]*structural
	items      *structural
	value      jsontext.Value // the default, nil if there is none
}

func (s *structural) parse() {
	if s.parsed {
		return
	}
	s.parsed = true
	fields, _ := parseObject(s.raw)
	s.value = fields.get("default")
	if properties, err := parseObject(fields.get("properties")); err == nil {
		s.properties = make(map[string]*structural, len(properties))
		for _, m := range properties {
			s.properties[m.name] = &structural{raw: m.value}
		}
	}
	s.items = &structural{raw: fields.get("items")}
}

// property returns a property's part, an empty one if there is none.
func (s *structural) property(name string) *structural {
	s.parse()
	if p := s.properties[name]; p != nil {
		p.parse()
		return p
	}
	return &structural{}
}

// required leaves out the properties that have a default: Kubernetes fills them
// in before it validates, driftless stores what is written.
func (s *structural) required(raw jsontext.Value) (jsontext.Value, error) {
	names, err := parseArray(raw)
	if err != nil {
		return nil, err
	}
	kept := names[:0:0]
	for _, name := range names {
		if text, ok := unquote(name); !ok || s.property(text).value == nil {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return array(kept...), nil
}

// converter turns OpenAPI v3 schemas of CRDs into JSON Schema and gathers what
// cannot be said there.
type converter struct {
	celCount                                       int
	cel, defaults, keyedLists, patterns, formatted []string
	formats                                        map[string]bool
	judged                                         int // bytes, see maxJudged
}

// rules counts CEL rules at a path.
func (c *converter) rules(raw jsontext.Value, path string) {
	if items, err := parseArray(raw); err == nil && len(items) > 0 {
		c.celCount += len(items)
		c.cel = append(c.cel, path)
	}
}

// format notes a format that nothing checks.
func (c *converter) format(raw jsontext.Value) {
	name, _ := unquote(raw)
	if name == "" || name == "int32" || name == "int64" || c.formats[name] {
		return
	}
	if c.formats == nil {
		c.formats = map[string]bool{}
	}
	c.formats[name] = true
	c.formatted = append(c.formatted, name)
}

// notes are the warnings, in a fixed order.
func (c *converter) notes() (out []string) {
	if c.celCount > 0 {
		out = append(out, fmt.Sprintf("CEL rules are not checked: %d, at %s", c.celCount, few(c.cel)))
	}
	if len(c.defaults) > 0 {
		out = append(out, "defaults are not filled in: "+few(c.defaults))
	}
	if len(c.keyedLists) > 0 {
		out = append(out, "the keys of lists of type map are not checked: "+few(c.keyedLists))
	}
	if len(c.formatted) > 0 {
		out = append(out, "formats are not checked: "+few(c.formatted))
	}
	if len(c.patterns) > 0 {
		out = append(out, "patterns that are no RE2 are dropped: "+few(c.patterns))
	}
	return out
}

// few lists the first names and counts the rest.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
}

// validPattern tells whether this program's regular expressions know a pattern.
func validPattern(raw jsontext.Value) bool {
	pattern, ok := unquote(raw)
	if !ok {
		return false
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}
