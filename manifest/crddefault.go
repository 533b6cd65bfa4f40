package manifest

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxJudged bounds the bytes that one import compiles and validates to judge
// defaults: many branches may speak about one large default.
const maxJudged = 64 << 20

// demand makes a branch require the properties whose default it refuses.
// Kubernetes fills defaults in before it validates, so there an absent property
// fails such a branch; JSON Schema would let it pass, and two branches of a oneOf
// would match. properties are the branch's own, converted.
func (s *schema) demand(properties object) error {
	var names []jsontext.Value
	for _, m := range properties {
		value := s.base.property(m.name).value
		if value == nil {
			continue
		}
		if s.judged += len(value) + len(m.value); s.judged > maxJudged {
			return fault("", "too many branches speak about properties with defaults")
		}
		if !accepts(m.value, value) {
			names = append(names, quote(m.name))
		}
	}
	s.demanded = names
	return nil
}

// accepts tells whether a schema takes a value. A schema that does not compile
// is not for here to report.
func accepts(schema, value jsontext.Value) bool {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return true
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return true
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if c.AddResource("mem:///branch", parsed) != nil {
		return true
	}
	compiled, err := c.Compile("mem:///branch")
	return err != nil || compiled.Validate(instance) == nil
}
