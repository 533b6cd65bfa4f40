package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

var typeOfProblem = reflect.TypeFor[fleet.Problem]()

// schemaOf is the schema of a value's type.
func (d *document) schemaOf(v any) object { return d.schema(reflect.TypeOf(v)) }

// schema is the JSON Schema of what a type is marshalled to. Structs become
// components, named like the type.
func (d *document) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[resource.Resource]():
		return object{"$ref": "#/components/schemas/Resource"}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		return d.component(t)
	default:
		return object{"type": "integer"}
	}
}

func (d *document) component(t reflect.Type) object {
	name := t.Name()
	if i := strings.IndexByte(name, '['); i >= 0 { // List[driftless.dev/fleet.Loss]
		arg := name[strings.LastIndexByte(name, '.')+1:]
		name = strings.TrimSuffix(arg, "]") + name[:i]
	}
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := d.schemas[name]; done {
		return ref
	}
	properties, required := object{}, []string{}
	d.schemas[name] = object{"type": "object", "properties": properties}
	for _, f := range reflect.VisibleFields(t) {
		field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if field == "" || field == "-" {
			continue
		}
		properties[field] = d.schema(f.Type)
		if !strings.Contains(options, "omit") {
			required = append(required, field)
		}
	}
	d.schemas[name].(object)["required"] = required
	return ref
}

// resourceSchema is the resource form, which no Go type spells out. What the
// system owns is read only: accepted in a body, and ignored.
const resourceSchema = `{
  "type": "object",
  "required": ["metadata"],
  "properties": {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {
      "type": "object",
      "properties": {
        "name": {"type": "string"},
        "generateName": {"type": "string"},
        "scope": {
          "type": "object",
          "properties": {"instance": {"type": "string"}, "project": {"type": "string"}, "workspace": {"type": "string"}}
        },
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}, "description": "Absent leaves them; an empty list clears them."},
        "ownerReferences": {
          "type": "array",
          "description": "Absent leaves them; an empty list clears them.",
          "items": {
            "type": "object",
            "required": ["id"],
            "properties": {
              "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}, "id": {"type": "string"},
              "incarnation": {"type": "string"}, "creation": {"type": "string"}, "controller": {"type": "boolean"}
            }
          }
        },
        "owner": {"type": "string"},
        "validFrom": {"type": "string", "format": "date-time"},
        "validTo": {"type": "string", "format": "date-time"},
        "id": {"type": "string", "readOnly": true},
        "digest": {"type": "string", "readOnly": true},
        "version": {"type": "integer", "readOnly": true},
        "syncVersion": {"type": "integer", "readOnly": true},
        "contentHash": {"type": "string", "readOnly": true},
        "specHash": {"type": "string", "readOnly": true},
        "release": {"type": "integer", "readOnly": true},
        "epoch": {"type": "integer", "readOnly": true},
        "epochClaim": {"type": "string", "readOnly": true},
        "incarnation": {"type": "string", "readOnly": true},
        "originInstance": {"type": "string", "readOnly": true},
        "createdAt": {"type": "string", "format": "date-time", "readOnly": true},
        "updatedAt": {"type": "string", "format": "date-time", "readOnly": true},
        "deletionTimestamp": {"type": "string", "format": "date-time", "readOnly": true},
        "deletionStrength": {"enum": ["teardown", "delete"], "readOnly": true},
        "deleted": {"type": "boolean", "readOnly": true},
        "desired": {"type": "object", "readOnly": true},
        "deletion": {"type": "object", "readOnly": true},
        "observed": {"type": "object", "readOnly": true}
      }
    },
    "spec": {},
    "status": {}
  }
}`
