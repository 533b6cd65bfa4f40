package resource

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// violation is one way in which a value breaks its schema.
type violation struct {
	path []string
	what string
}

// Error is "/size: got string, want integer", without the place at the root.
func (v *violation) Error() string {
	if len(v.path) == 0 {
		return legible(v.what)
	}
	return legible(pointerOf(v.path)) + ": " + legible(v.what)
}

// in is the violation as admission's error about a field.
func (v *violation) in(field string) error { return invalidAt(field+pointerOf(v.path), v.what) }

// compare orders violations by place (a parent first, array elements by
// index), then by text.
func (v *violation) compare(o *violation) int {
	return cmp.Or(slices.CompareFunc(v.path, o.path, compareTokens), strings.Compare(v.what, o.what))
}

func compareTokens(a, b string) int {
	i, err := strconv.Atoi(a)
	j, err2 := strconv.Atoi(b)
	if err == nil && err2 == nil && i != j {
		return cmp.Compare(i, j)
	}
	return strings.Compare(a, b)
}

// first is the lower of two violations, either of which may be nil.
func first(a, b *violation) *violation {
	if a == nil || b != nil && b.compare(a) < 0 {
		return b
	}
	return a
}

// firstViolation picks one violation out of the library's tree of them. The
// tree's order follows Go's maps and changes from call to call; what is picked
// does not.
func firstViolation(e *jsonschema.ValidationError, instance any) *violation {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var least *violation
		for _, cause := range e.Causes {
			least = first(least, firstViolation(cause, instance))
		}
		if least != nil {
			return least
		}
	}
	at := placeOf(e, instance)
	return &violation{path: at, what: describe(e, at, instance)}
}

// describe is the library's text, in a fixed order where that has none, and
// with the reasons or the digits where that leaves them out.
func describe(e *jsonschema.ValidationError, at []string, instance any) string {
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.PropertyNames:
		return fmt.Sprintf("property name %q: %s", k.Property, reasons(e, nil, k.Property))
	case *kind.AnyOf:
		return "no alternative fits: " + reasons(e, at, instance)
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return "no alternative fits: " + reasons(e, at, instance)
		}
	case *kind.Minimum:
		return outOfBounds("minimum", k.Got, k.Want)
	case *kind.Maximum:
		return outOfBounds("maximum", k.Got, k.Want)
	case *kind.ExclusiveMinimum:
		return outOfBounds("exclusiveMinimum", k.Got, k.Want)
	case *kind.ExclusiveMaximum:
		return outOfBounds("exclusiveMaximum", k.Got, k.Want)
	case *kind.MultipleOf:
		return outOfBounds("multipleOf", k.Got, k.Want)
	}
	return e.ErrorKind.LocalizedString(message.NewPrinter(plainNumbers))
}

// plainNumbers is the locale that writes 1000 as "1000", not "1,000".
var plainNumbers = language.MustParse("en-US-u-va-posix")

// outOfBounds shows numbers exactly: as doubles, 2^53+1 and 2^53 look alike.
func outOfBounds(keyword string, got, want *big.Rat) string {
	return fmt.Sprintf("%s: got %s, want %s", keyword, exact(got), exact(want))
}

func exact(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}

// reasons are the violations that an error at a place sums up.
func reasons(e *jsonschema.ValidationError, at []string, instance any) string {
	var texts []string
	for _, cause := range e.Causes {
		v := firstViolation(cause, instance)
		text := v.Error()
		if slices.Equal(v.path, at) {
			text = v.what
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; or ")
}

// placeOf is where in the instance the error is. For a property's name the
// library's own answer cannot be trusted: it hands out a slice that it goes on
// to write to, so that the last token may be a sibling's.
func placeOf(e *jsonschema.ValidationError, instance any) []string {
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		if path := holderOf(k.Property, len(e.InstanceLocation), instance); path != nil {
			return path
		}
	}
	return slices.Clone(e.InstanceLocation)
}

// holderOf finds the first object at a depth that has a property.
func holderOf(property string, depth int, instance any) []string {
	below := func(token string, v any) []string {
		if path := holderOf(property, depth-1, v); path != nil {
			return append([]string{token}, path...)
		}
		return nil
	}
	object, _ := instance.(map[string]any)
	if depth == 0 {
		if _, ok := object[property]; ok {
			return []string{}
		}
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		if path := below(k, object[k]); path != nil {
			return path
		}
	}
	list, _ := instance.([]any)
	for i, v := range list {
		if path := below(strconv.Itoa(i), v); path != nil {
			return path
		}
	}
	return nil
}
