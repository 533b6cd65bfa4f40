package resource

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// syntaxError is what is wrong with a JSON text and where. The pointer's
// tokens are collected on the way out of the parser, innermost first, so that
// text without errors pays nothing for it.
type syntaxError struct {
	what   string
	tokens []string
}

// fail makes an error of the place that the parser has reached.
func (c *canonicalizer) fail(format string, args ...any) *syntaxError {
	return &syntaxError{what: fmt.Sprintf(format, args...) + ", at byte " + strconv.Itoa(c.pos)}
}

// below notes the key or index under which the error was met.
func (e *syntaxError) below(token any) *syntaxError {
	e.tokens = append(e.tokens, fmt.Sprint(token))
	return e
}

// in is the error as callers see it.
func (e *syntaxError) in(field string) error {
	slices.Reverse(e.tokens)
	return invalidAt(field+pointerOf(e.tokens), e.what)
}

// invalidAt wraps ErrInvalid with a place ("spec/size": a field and a JSON
// pointer, or either alone) and what is wrong there.
func invalidAt(place, what string) error {
	if place == "" {
		return fmt.Errorf("%w: %s", ErrInvalid, legible(what))
	}
	return fmt.Errorf("%w: %s: %s", ErrInvalid, legible(place), legible(what))
}

// pointerOf is the JSON pointer (RFC 6901) of the tokens, "" for the root.
func pointerOf(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// legible makes text that holds a caller's data fit for an error or a log
// line: bounded, and without control characters.
func legible(s string) string {
	const limit = 512
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// invalidJSON is a JSON library's error as one of ours. field is what was
// decoded, "" for a whole form.
func invalidJSON(field string, err error) error {
	place, what := "", err
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		place, what = string(e.JSONPointer), e.Err
	} else if e, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		place, what = string(e.JSONPointer), e.Err
		if what == nil {
			what = fmt.Errorf("got %s, want %s", kindName(e.JSONKind), wanted(e.GoType))
		}
	}
	if field == "" {
		place = strings.TrimPrefix(place, "/")
	}
	text := strings.TrimPrefix(what.Error(), ErrInvalid.Error()+": ")
	if errors.Is(what, jsonv2.ErrUnknownName) {
		text = "unknown field"
	}
	return invalidAt(field+place, text)
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindBeginObject:
		return "object"
	case jsontext.KindBeginArray:
		return "array"
	default:
		return k.String()
	}
}

// wanted is what JSON a Go type is read from.
func wanted(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.String, reflect.Bool:
		return t.Kind().String()
	default:
		return "number"
	}
}
