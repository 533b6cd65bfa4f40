package manifest

import "github.com/go-json-experiment/json/jsontext"

// intOrString is how structural schemas must spell x-kubernetes-int-or-string,
// if they do.
const intOrString = `[{"type":"integer"},{"type":"string"}]`

// finish adds the keywords that extensions stand for.
func (s *schema) finish() object {
	if s.intOrString && s.in.get("type") == nil {
		s.add("type", s.types())
	}
	s.bounds()
	switch text(s.in, "x-kubernetes-list-type") {
	case "set":
		s.out = s.out.set("uniqueItems", jsontext.Value("true"))
	case "map":
		s.keyedLists = append(s.keyedLists, s.path)
	}
	embedded := isTrue(s.in.get("x-kubernetes-embedded-resource"))
	if embedded {
		s.embed()
	}
	s.require(s.demanded...)
	isObject := text(s.in, "type") == "object" || s.in.get("properties") != nil || embedded
	open := s.branch || isTrue(s.in.get("x-kubernetes-preserve-unknown-fields")) || s.in.get("additionalProperties") != nil
	if isObject && !open {
		s.add("additionalProperties", jsontext.Value("false"))
	}
	return s.out
}

// bounds gives integer formats the limits that are not tightened already.
func (s *schema) bounds() {
	low, high := "", ""
	switch text(s.in, "format") {
	case "int32":
		low, high = "-2147483648", "2147483647"
	case "int64":
		low, high = "-9223372036854775808", "9223372036854775807"
	default:
		return
	}
	if kind := text(s.in, "type"); kind != "integer" && kind != "number" {
		return
	}
	if s.in.get("minimum") == nil {
		s.add("minimum", jsontext.Value(low))
	}
	if s.in.get("maximum") == nil {
		s.add("maximum", jsontext.Value(high))
	}
}

// embed makes an object a whole resource: it has a type, and may have metadata.
func (s *schema) embed() {
	word := jsontext.Value(`{"type":"string","minLength":1}`)
	implied := object{{"apiVersion", word}, {"kind", word}, {"metadata", jsontext.Value(`{"type":"object"}`)}}
	properties, _ := parseObject(s.out.get("properties"))
	for _, m := range implied {
		if properties.get(m.name) == nil {
			properties = append(properties, m)
		}
	}
	s.out = s.out.set("properties", properties.raw())
	s.require(quote("apiVersion"), quote("kind"))
}

// require adds names to required.
func (s *schema) require(names ...jsontext.Value) {
	if len(names) == 0 {
		return
	}
	required, _ := parseArray(s.out.get("required"))
	for _, name := range names {
		if !contains(required, name) {
			required = append(required, name)
		}
	}
	s.out = s.out.set("required", array(required...))
}

func contains(items []jsontext.Value, item jsontext.Value) bool {
	for _, i := range items {
		if string(i) == string(item) {
			return true
		}
	}
	return false
}
