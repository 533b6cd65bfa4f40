package manifest

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// FromJSON writes a JSON text as YAML for people: block style, two spaces, keys
// in the order given, number literals as written, text quoted only where a
// reader of YAML 1.1 or 1.2 would take it for something else, text of several
// lines as a literal block where that is safe.
//
// ToJSON(FromJSON(j)) is j without white space. Errors: j is no strict JSON
// (duplicate names, invalid UTF-8), nesting over 64, 8 MiB.
func FromJSON(json []byte) ([]byte, error) {
	value, err := strictJSON(json)
	if err != nil {
		return nil, err
	}
	e := &emitter{dec: jsontext.NewDecoder(bytes.NewReader(value))}
	e.value(0, atStart)
	return e.out, nil
}

// place is what stands before a value on its line.
type place byte

const (
	atStart place = iota // nothing: the document
	afterKey
	afterDash
)

// emitter writes one document. Its input is valid, so reading cannot fail.
type emitter struct {
	dec *jsontext.Decoder
	out []byte
}

// value writes the next value. indent is the column of its children's keys or
// dashes; the lines of a literal block go two columns right of its parent.
func (e *emitter) value(indent int, at place) {
	switch kind := e.dec.PeekKind(); kind {
	case '{', '[':
		_, _ = e.dec.ReadToken()
		if next := e.dec.PeekKind(); next == '}' || next == ']' {
			_, _ = e.dec.ReadToken()
			e.word(at, string(kind)+string(next))
			return
		}
		if kind == '{' {
			e.mapping(indent, at)
		} else {
			e.sequence(indent, at)
		}
		_, _ = e.dec.ReadToken()
	case '"':
		raw, _ := e.dec.ReadValue()
		text, _ := unquote(raw)
		if block, ok := literal(text, indent, at); ok {
			e.word(at, block)
		} else {
			e.word(at, scalar(text))
		}
	default:
		raw, _ := e.dec.ReadValue()
		e.word(at, string(raw))
	}
}

// word writes text that starts on the line of its parent.
func (e *emitter) word(at place, text string) {
	if at != atStart {
		e.out = append(e.out, ' ')
	}
	e.out = append(append(e.out, text...), '\n')
}

// mapping writes fields, the first one on the line of a dash.
func (e *emitter) mapping(indent int, at place) {
	for first := true; e.dec.PeekKind() != '}'; first = false {
		e.lead(indent, at, first)
		raw, _ := e.dec.ReadValue()
		name, _ := unquote(raw)
		key := scalar(name)
		// An implicit key has at most 1024 characters.
		if len(key) > 1000 {
			e.out = append(append(e.out, "? "+key+"\n"...), strings.Repeat(" ", indent)...)
			key = ""
		}
		e.out = append(append(e.out, key...), ':')
		next := indent + 2
		if e.dec.PeekKind() == '[' {
			next = indent // as kubectl does: dashes stand under their key
		}
		e.value(next, afterKey)
	}
}

// sequence writes items, the first one on the line of a dash.
func (e *emitter) sequence(indent int, at place) {
	for first := true; e.dec.PeekKind() != ']'; first = false {
		e.lead(indent, at, first)
		e.out = append(e.out, '-')
		e.value(indent+2, afterDash)
	}
}

// lead starts the line of a key or dash.
func (e *emitter) lead(indent int, at place, first bool) {
	switch {
	case first && at == afterDash:
		e.out = append(e.out, ' ')
		return
	case first && at == afterKey:
		e.out = append(e.out, '\n')
	}
	e.out = append(e.out, strings.Repeat(" ", indent)...)
}
