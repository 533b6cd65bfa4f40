package manifest

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// strictJSON checks one JSON text (syntax, duplicate names, UTF-8, depth, size)
// and returns it without insignificant white space, in memory of its own.
func strictJSON(doc []byte) (jsontext.Value, error) {
	if len(doc) > maxBytes {
		return nil, fault("", "document has %d bytes, the limit is %d", len(doc), maxBytes)
	}
	value := jsontext.Value(bytes.Clone(doc))
	if err := value.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil {
		return nil, jsonFault(doc, err)
	}
	_, err := measure(value)
	return value, err
}

// measure counts the values in a valid JSON text and checks its depth.
func measure(raw jsontext.Value) (count int, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	for {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return count, nil
		case err != nil:
			return count, jsonFault(raw, err)
		case dec.StackDepth() > maxDepth:
			e := fault(string(dec.StackPointer()), "nested deeper than %d", maxDepth)
			return count, e
		case token.Kind() != '}' && token.Kind() != ']':
			count++
		}
	}
}

// jsonFault gives a jsontext error its line and pointer.
func jsonFault(text []byte, err error) error {
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return fault("", "%s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	at := min(int(syntactic.ByteOffset), len(text))
	return &Error{
		Line:    1 + bytes.Count(text[:at], []byte{'\n'}),
		Pointer: string(syntactic.JSONPointer),
		Message: syntactic.Err.Error(),
	}
}

// kindName names a JSON kind for people.
func kindName(kind jsontext.Kind) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "nothing"
}

// sameValue tells whether two JSON texts are equal up to order and white space.
func sameValue(a, b jsontext.Value) bool {
	a, b = bytes.Clone(a), bytes.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
