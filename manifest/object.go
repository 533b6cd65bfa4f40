package manifest

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one field of an object. Objects are kept as lists of members, so
// that order and number literals survive.
type member struct {
	name  string
	value jsontext.Value
}

// object is a JSON object in the order as written.
type object []member

// parseObject reads an object. The values alias raw.
func parseObject(raw jsontext.Value) (object, error) {
	if raw.Kind() != '{' {
		return nil, fault("", "want an object, have %s", kindName(raw.Kind()))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	var o object
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, jsonFault(raw, err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, jsonFault(raw, err)
		}
		end := int(dec.InputOffset())
		o = append(o, member{key, raw[end-len(value) : end : end]})
	}
	return o, nil
}

// parseArray reads an array. The values alias raw.
func parseArray(raw jsontext.Value) ([]jsontext.Value, error) {
	if raw.Kind() != '[' {
		return nil, fault("", "want an array, have %s", kindName(raw.Kind()))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	var items []jsontext.Value
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, jsonFault(raw, err)
		}
		end := int(dec.InputOffset())
		items = append(items, raw[end-len(value):end:end])
	}
	return items, nil
}

// get returns a member's value, nil if the object has none.
func (o object) get(name string) jsontext.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set replaces a member in place, or appends it.
func (o object) set(name string, value jsontext.Value) object {
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

// without returns the object without a member.
func (o object) without(name string) object {
	out := make(object, 0, len(o))
	for _, m := range o {
		if m.name != name {
			out = append(out, m)
		}
	}
	return out
}

// raw writes the object.
func (o object) raw() jsontext.Value {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, quote(m.name)...)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// array writes an array.
func array(items ...jsontext.Value) jsontext.Value {
	return jsontext.Value("[" + string(bytes.Join(bytesOf(items), []byte{','})) + "]")
}

func bytesOf(items []jsontext.Value) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}

// quote writes a JSON string. Text that is no UTF-8 never gets here: both
// readers refuse it.
func quote(s string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, s)
	return out
}

// unquote reads a JSON string; ok is false for any other value.
func unquote(raw jsontext.Value) (s string, ok bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	out, err := jsontext.AppendUnquote(nil, raw)
	return string(out), err == nil
}

// isTrue tells whether a value is the literal true.
func isTrue(raw jsontext.Value) bool { return raw.Kind() == 't' }

// isEmpty tells whether a value is absent, null, {} or [].
func isEmpty(raw jsontext.Value) bool {
	switch raw.Kind() {
	case '{', '[':
		dec := jsontext.NewDecoder(bytes.NewReader(raw))
		_, _ = dec.ReadToken()
		return dec.PeekKind() == '}' || dec.PeekKind() == ']'
	case '"', '0', 't', 'f':
		return false
	}
	return true
}
