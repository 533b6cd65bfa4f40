package resource

import "fmt"

// CoreKinds returns the kinds that come with the system. All live in the
// global scope and are identified by name, so that nodes which write one apart
// write the same record. A fresh slice each time.
func CoreKinds() []Kind {
	member := coreKind(MemberKind, "member", "members", memberSchema)
	member.PrintColumns = []PrintColumn{{Name: "Member", JSONPath: ".spec.name"}}
	return []Kind{
		coreKind(KindKind, "kind", "kinds", kindSchema),
		member,
		coreKind(PolicyKind, "policy", "policies", ""),
	}
}

func coreKind(name, singular, plural, schema string) Kind {
	k := Kind{
		APIVersion: CoreGroupVersion,
		Name:       name,
		Singular:   singular,
		Plural:     plural,
		Identity:   IdentityName,
		Level:      LevelFleet,
	}
	if schema != "" {
		k.Schema = []byte(schema)
	}
	return k
}

// RegisterCoreKinds registers CoreKinds, Kind among them: from then on a kind
// can be stored and validated as a resource.
func RegisterCoreKinds(reg *Registry) error {
	for _, k := range CoreKinds() {
		if err := reg.Register(k); err != nil {
			return fmt.Errorf("register core kind %s: %w", k.Name, err)
		}
	}
	return nil
}

// kindSchema is the shape of a Kind's spec; it admits itself. What a schema
// cannot say (identity never changes, the nested schema compiles) is judged by
// Registry.Check.
const kindSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["apiVersion", "name"],
  "additionalProperties": false,
  "properties": {
    "apiVersion": {"type": "string", "minLength": 1, "maxLength": 317},
    "name": {"type": "string", "pattern": "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$", "maxLength": 63},
    "singular": {"$ref": "#/$defs/word"},
    "plural": {"$ref": "#/$defs/word"},
    "aliases": {"type": "array", "items": {"$ref": "#/$defs/word"}, "uniqueItems": true},
    "schema": {"type": ["object", "boolean"]},
    "identity": {"enum": ["unique", "name"]},
    "level": {"enum": ["scoped", "fleet"]},
    "defaultScope": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "instance": {"type": "string"},
        "project": {"type": "string"},
        "workspace": {"type": "string"}
      }
    },
    "printColumns": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["name", "jsonPath"],
        "additionalProperties": false,
        "properties": {
          "name": {"type": "string", "minLength": 1},
          "jsonPath": {"type": "string", "pattern": "^\\."},
          "type": {"enum": ["string", "integer", "number", "boolean", "date"]}
        }
      }
    }
  },
  "$defs": {
    "word": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
  }
}`

// memberSchema is open: a newer node may say more of itself.
const memberSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["name"],
  "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 253},
    "incarnations": {"type": "array", "items": {"type": "string"}},
    "realms": {"type": "array", "items": {"type": "string"}},
    "evicted": {"type": "boolean"}
  }
}`
