// Package jsonpath picks values out of JSON texts: the part of kubectl's
// JSONPath that print columns and -o jsonpath= need.
//
//	.metadata.name  .metadata.labels.app\.io/name  ['spec']["size"]
//	.items[0]  .items[-1]  .items[*].spec.*  $.spec  @.spec
//	.status.conditions[?(@.type=="Ready")].status
//
// Everything else (.. descent, slices, unions, scripts) is refused by name, not
// misread. Values stay the bytes that they were: no number passes through a
// float.
package jsonpath

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrSyntax is returned for a path or template that cannot be read, or that
// uses what is not supported.
var ErrSyntax = errors.New("jsonpath")

// Path leads from a value to values in it. The zero Path leads to the value
// itself.
type Path struct{ steps []step }

// step leads from one value to any number of others.
type step interface {
	walk(v jsontext.Value) []jsontext.Value
}

// Find returns the values that the path leads to, in order; what is absent is
// no error. root must be valid JSON; the values share its memory.
func (p Path) Find(root jsontext.Value) []jsontext.Value {
	found := []jsontext.Value{root}
	for _, s := range p.steps {
		var next []jsontext.Value
		for _, v := range found {
			next = append(next, s.walk(v)...)
		}
		found = next
	}
	return found
}

// Text is a value as people read it: a string without its quotes, anything else
// as compact JSON with its numbers as written.
func Text(v jsontext.Value) string {
	if v.Kind() == jsontext.KindString {
		s, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(v))
		if err == nil {
			return string(s)
		}
	}
	v = v.Clone()
	if err := v.Compact(); err != nil {
		return string(v)
	}
	return string(v)
}

type member string

func (m member) walk(v jsontext.Value) (out []jsontext.Value) {
	each(v, jsontext.KindBeginObject, func(name string, value jsontext.Value) {
		if name == string(m) {
			out = append(out, value)
		}
	})
	return out
}

// index counts from the end when it is negative.
type index int

func (i index) walk(v jsontext.Value) []jsontext.Value {
	var items []jsontext.Value
	each(v, jsontext.KindBeginArray, func(_ string, value jsontext.Value) { items = append(items, value) })
	at := int(i)
	if at < 0 {
		at += len(items)
	}
	if at < 0 || at >= len(items) {
		return nil
	}
	return items[at : at+1]
}

// every is all elements of an array, or all values of an object.
type every struct{}

func (every) walk(v jsontext.Value) (out []jsontext.Value) {
	each(v, v.Kind(), func(_ string, value jsontext.Value) { out = append(out, value) })
	return out
}

// filter keeps the elements that a condition holds for. Without an operator
// the path must lead somewhere.
type filter struct {
	path    Path
	op      string // "", "==" or "!="
	literal jsontext.Value
}

func (f filter) walk(v jsontext.Value) (out []jsontext.Value) {
	each(v, jsontext.KindBeginArray, func(_ string, value jsontext.Value) {
		if f.holds(value) {
			out = append(out, value)
		}
	})
	return out
}

func (f filter) holds(v jsontext.Value) bool {
	found := f.path.Find(v)
	if f.op == "" || len(found) == 0 {
		return len(found) > 0
	}
	// Kinds first: the string "1" is not the number.
	same := found[0].Kind() == f.literal.Kind() && Text(found[0]) == Text(f.literal)
	return same == (f.op == "==")
}

// each calls fn for the members or elements of a value of that kind. A value of
// another kind has none.
func each(v jsontext.Value, kind jsontext.Kind, fn func(name string, value jsontext.Value)) {
	if v.Kind() != kind || kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for {
		name := ""
		switch dec.PeekKind() {
		case jsontext.KindEndObject, jsontext.KindEndArray, jsontext.KindInvalid:
			return
		}
		if kind == jsontext.KindBeginObject {
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			name = token.String()
		}
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		end := int(dec.InputOffset())
		fn(name, v[end-len(value):end:end])
	}
}

func syntax(text, format string, args ...any) error {
	return fmt.Errorf("%w %q: %s", ErrSyntax, text, fmt.Sprintf(format, args...))
}
