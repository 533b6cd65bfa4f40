package manifest

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// convert translates one schema and those inside it; order is kept.
//
//   - nullable adds the type null, and null to an enum.
//   - x-kubernetes-int-or-string is the type [integer, string].
//   - An object is closed (additionalProperties: false) unless it says
//     additionalProperties or x-kubernetes-preserve-unknown-fields. Kubernetes
//     drops unknown fields there and kubectl refuses them; nothing is dropped here.
//   - x-kubernetes-embedded-resource adds apiVersion, kind and an open metadata.
//   - x-kubernetes-list-type: set is uniqueItems; a list of type map is noted.
//   - required leaves out properties with a default; defaults are noted. A branch
//     that refuses the default of a property requires it, see demand.
//   - format int32 and int64 become bounds; other formats are annotations.
//   - exclusiveMinimum and exclusiveMaximum take the number they exclude.
//   - Patterns that RE2 does not know, CEL rules, example, externalDocs and
//     x-kubernetes-* are left out; the first two are noted.
//
// branch: the schema is in allOf, anyOf, oneOf or not, where structural schemas
// only validate, so objects stay open. base is the structural schema in whose
// place it stands, path that of the value for notes.
func (c *converter) convert(raw jsontext.Value, base *structural, path string, branch bool) (jsontext.Value, error) {
	in, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	s := &schema{converter: c, in: in, base: base, path: path, branch: branch,
		nullable: isTrue(in.get("nullable")), intOrString: isTrue(in.get("x-kubernetes-int-or-string"))}
	for _, m := range in {
		if err := s.keyword(m); err != nil {
			return nil, under(m.name, err)
		}
	}
	return s.finish().raw(), nil
}

// schema is one schema on its way.
type schema struct {
	*converter
	in, out               object
	base                  *structural
	path                  string
	branch                bool
	nullable, intOrString bool
	demanded              []jsontext.Value // names that required gains
}

func (s *schema) add(name string, value jsontext.Value) {
	s.out = append(s.out, member{name, value})
}

// keyword translates one keyword; those with schemas inside are here.
func (s *schema) keyword(m member) error {
	var err error
	value := m.value
	switch m.name {
	case "properties":
		value, err = s.properties(value)
	case "items":
		item := &structural{raw: value}
		if s.branch {
			s.base.parse()
			item = s.base.items
		}
		value, err = s.convert(value, orEmpty(item), s.path+"/*", s.branch)
	case "additionalProperties":
		if value.Kind() == '{' {
			value, err = s.convert(value, &structural{raw: value}, s.path+"/*", s.branch)
		}
	case "allOf", "anyOf", "oneOf":
		value, err = s.branches(m.name, value)
	case "not":
		value, err = s.convert(value, s.base, s.path, true)
	case "required":
		value, err = s.base.required(value)
	case "enum":
		value, err = s.enum(value)
	case "type":
		value = s.types()
	default:
		return s.plain(m)
	}
	if err == nil && value != nil {
		s.add(m.name, value)
	}
	return err
}

// plain translates a keyword without schemas inside.
func (s *schema) plain(m member) error {
	switch m.name {
	case "nullable", "example", "externalDocs", "id", "$schema", "discriminator", "xml", "deprecated", "readOnly", "writeOnly":
		return nil
	case "minimum", "maximum":
		if exclusive := "exclusiveM" + m.name[1:]; isTrue(s.in.get(exclusive)) {
			s.add(exclusive, m.value)
			return nil
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if m.value.Kind() != '0' {
			return nil
		}
	case "pattern":
		if !validPattern(m.value) {
			s.patterns = append(s.patterns, s.path)
			return nil
		}
	case "default":
		s.defaults = append(s.defaults, s.path)
	case "format":
		s.format(m.value)
	case "x-kubernetes-validations":
		s.rules(m.value, s.path)
		return nil
	default:
		if strings.HasPrefix(m.name, "x-kubernetes-") {
			return nil
		}
		if strings.HasPrefix(m.name, "$") || m.name == "definitions" {
			return fault("", "is not allowed in a CustomResourceDefinition")
		}
	}
	s.add(m.name, m.value)
	return nil
}

func orEmpty(s *structural) *structural {
	if s == nil {
		return &structural{}
	}
	return s
}
