package resource

import (
	"encoding/json"
	"strconv"
)

// instance builds the value that a schema judges from canonical JSON, which is
// known to be well formed: admission decodes every spec, so it does not pay for
// checking again. Objects are map[string]any, numbers json.Number.
type instance struct {
	b []byte
	i int
}

func decodeCanonical(canonical []byte) any {
	d := &instance{b: canonical}
	return d.value()
}

func (d *instance) value() any {
	switch c := d.b[d.i]; c {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.text()
	case 't':
		d.i += len("true")
		return true
	case 'f':
		d.i += len("false")
		return false
	case 'n':
		d.i += len("null")
		return nil
	default:
		return d.number()
	}
}

func (d *instance) object() map[string]any {
	m := map[string]any{}
	for d.i++; d.b[d.i] != '}'; {
		if d.b[d.i] == ',' {
			d.i++
		}
		key := d.text()
		d.i++ // the colon
		m[key] = d.value()
	}
	d.i++
	return m
}

func (d *instance) array() []any {
	out := []any{}
	for d.i++; d.b[d.i] != ']'; {
		if d.b[d.i] == ',' {
			d.i++
		}
		out = append(out, d.value())
	}
	d.i++
	return out
}

func (d *instance) number() json.Number {
	start := d.i
	for d.i < len(d.b) && d.b[d.i] != ',' && d.b[d.i] != '}' && d.b[d.i] != ']' {
		d.i++
	}
	return json.Number(d.b[start:d.i])
}

// text reads a string; most hold no escape and are copied as they stand.
func (d *instance) text() string {
	d.i++
	start := d.i
	for d.b[d.i] != '"' {
		if d.b[d.i] == '\\' {
			return d.escaped(start)
		}
		d.i++
	}
	d.i++
	return string(d.b[start : d.i-1])
}

// escaped reads on from the first escape. Canonical text escapes the quote, the
// backslash and control characters alone.
func (d *instance) escaped(start int) string {
	out := append([]byte(nil), d.b[start:d.i]...)
	for ; d.b[d.i] != '"'; d.i++ {
		c := d.b[d.i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		d.i++
		switch c = d.b[d.i]; c {
		case 'b':
			c = '\b'
		case 't':
			c = '\t'
		case 'n':
			c = '\n'
		case 'f':
			c = '\f'
		case 'r':
			c = '\r'
		case 'u':
			code, _ := strconv.ParseUint(string(d.b[d.i+1:d.i+5]), 16, 8)
			c = byte(code)
			d.i += 4
		}
		out = append(out, c)
	}
	d.i++
	return string(out)
}
