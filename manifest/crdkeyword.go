package manifest

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// types is the value of type.
func (s *schema) types() jsontext.Value {
	types := []jsontext.Value{s.in.get("type")}
	if s.intOrString {
		types = []jsontext.Value{quote("integer"), quote("string")}
	}
	if s.nullable {
		types = append(types, quote("null"))
	}
	if len(types) == 1 {
		return types[0]
	}
	return array(types...)
}

// enum adds null where the schema takes it.
func (s *schema) enum(raw jsontext.Value) (jsontext.Value, error) {
	items, err := parseArray(raw)
	if err != nil || !s.nullable {
		return raw, err
	}
	for _, item := range items {
		if item.Kind() == 'n' {
			return raw, nil
		}
	}
	return array(append(items, jsontext.Value("null"))...), nil
}

// properties converts each property.
func (s *schema) properties(raw jsontext.Value) (jsontext.Value, error) {
	fields, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	embedded := isTrue(s.in.get("x-kubernetes-embedded-resource"))
	for i, m := range fields {
		base := &structural{raw: m.value}
		if s.branch {
			base = s.base.property(m.name)
		}
		// The schema of an embedded metadata is known to Kubernetes, not listed.
		open := s.branch || embedded && m.name == "metadata"
		fields[i].value, err = s.convert(m.value, base, s.path+"/"+escapePointer(m.name), open)
		if err != nil {
			return nil, under(m.name, err)
		}
	}
	if s.branch {
		err = s.demand(fields)
	}
	return fields.raw(), err
}

// branches converts the schemas of allOf, anyOf and oneOf. What only spells out
// x-kubernetes-int-or-string goes: the type says it, and says null too.
func (s *schema) branches(name string, raw jsontext.Value) (jsontext.Value, error) {
	items, err := parseArray(raw)
	if err != nil {
		return nil, err
	}
	if s.intOrString && name == "anyOf" && sameValue(raw, jsontext.Value(intOrString)) {
		return nil, nil
	}
	var out []jsontext.Value
	for i, item := range items {
		if s.intOrString && name == "allOf" && sameValue(item, jsontext.Value(`{"anyOf":`+intOrString+`}`)) {
			continue
		}
		converted, err := s.convert(item, s.base, s.path, true)
		if err != nil {
			return nil, under(strconv.Itoa(i), err)
		}
		out = append(out, converted)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return array(out...), nil
}
