package resource

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxSchemaSize bounds a kind's schema, in bytes.
const MaxSchemaSize = 256 << 10

// SchemaCompiler compiles a JSON Schema into a reusable Validator. It is a
// port: NewSchemaCompiler is the engine that admission uses unless
// WithSchemaCompiler gives another.
type SchemaCompiler interface {
	Compile(schema []byte) (Validator, error)
}

// Validator checks a decoded JSON value (DecodeInstance) and returns an error
// that describes the first violation. It is safe for concurrent use.
type Validator interface {
	Validate(instance any) error
}

// NewSchemaCompiler returns the default engine, all of JSON Schema 2020-12
// (older drafts where "$schema" names them): exact numbers, patterns in RE2
// syntax, formats as annotations. Nothing is ever loaded: a "$ref" outside the
// schema makes the schema a bad one.
//
// Compile wraps ErrInvalid. Validate returns texts like
// "/size: got string, want integer", the same for the same instance: of
// several violations the first by place, then by text.
func NewSchemaCompiler() SchemaCompiler { return compiler{} }

type compiler struct{}

// schemaURL names the schema inside the library. No loader knows its scheme.
const schemaURL = "driftless:///schema"

func (compiler) Compile(schema []byte) (Validator, error) {
	if len(schema) > MaxSchemaSize {
		return nil, invalidAt("schema", fmt.Sprintf("%d bytes, over %d", len(schema), MaxSchemaSize))
	}
	doc, err := decodeInstance("schema", schema)
	if err != nil {
		return nil, err
	}
	if bad := unjudgeable(doc); bad != nil {
		return nil, bad.in("schema")
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, badSchema(err, doc)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, badSchema(err, doc)
	}
	return engine{compiled}, nil
}

// noLoader refuses every reference that leaves the schema.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references outside the schema are not loaded: copy the definition into $defs")
}

// badSchema says what is wrong with a schema without the library's name for it.
func badSchema(err error, doc any) error {
	if mismatch, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if v, ok := errors.AsType[*jsonschema.ValidationError](mismatch.Err); ok {
			return firstViolation(v, doc).in("schema")
		}
	}
	return invalidAt("schema", strings.ReplaceAll(err.Error(), schemaURL, ""))
}

type engine struct{ schema *jsonschema.Schema }

func (e engine) Validate(instance any) error {
	if bad := unjudgeable(instance); bad != nil {
		return bad
	}
	err := e.schema.Validate(instance)
	if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return firstViolation(v, instance)
	}
	return err
}

// DecodeInstance decodes JSON for a Validator, as strictly as Canonical does
// and without loss: numbers are json.Number.
func DecodeInstance(src []byte) (any, error) { return decodeInstance("", src) }

func decodeInstance(field string, src []byte) (any, error) {
	canonical, err := canonicalAt(field, src)
	if err != nil {
		return nil, err
	}
	return decodeCanonical(canonical), nil
}
