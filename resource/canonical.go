package resource

import (
	"bytes"
	"slices"
)

// MaxDepth bounds how deep objects and arrays of a spec or status may nest.
const MaxDepth = 64

// Canonical returns the one spelling of a JSON value that is stored, hashed
// and shipped: object keys in the order of RFC 8785 (by UTF-16 code unit), no
// insignificant white space, RFC 8785's minimal escapes. Unlike RFC 8785 it
// keeps number literals as written, because 2^53+1, 1e400 and 1.0 do not
// survive a double. Canonical(Canonical(x)) is Canonical(x).
//
// ErrInvalid, with the JSON pointer and what is wrong there: duplicate keys
// (compared unescaped), invalid UTF-8, lone surrogates, nesting over MaxDepth,
// anything before or after the value. The result never aliases src.
func Canonical(src []byte) ([]byte, error) { return canonicalAt("", src) }

// canonicalAt is Canonical for the value of a field: errors read
// "spec/size: ...".
func canonicalAt(field string, src []byte) ([]byte, error) {
	// The canonical form is never longer than the source.
	c := canonicalizer{src: src, out: make([]byte, 0, len(src))}
	if err := c.document(); err != nil {
		return nil, err.in(field)
	}
	return slices.Clip(c.out), nil
}

// canonicalizer parses src and appends its canonical form to out in one pass.
// Recursion is bounded by MaxDepth.
type canonicalizer struct {
	src   []byte
	pos   int
	out   []byte
	depth int
	// members is a stack: the members met so far of every open object.
	members []member
	// unescaped holds keys and strings that were written with escapes. It only
	// grows, so slices of it stay as they are.
	unescaped []byte
	// scratch holds an object's members while they are put in order.
	scratch []byte
}

// member is an object's member: its unescaped key, and where in out
// `"key":value` stands.
type member struct {
	key        []byte
	start, end int
}

func (c *canonicalizer) document() *syntaxError {
	if bytes.HasPrefix(c.src, []byte("\ufeff")) {
		return c.fail("byte order mark before the value")
	}
	c.space()
	if err := c.value(); err != nil {
		return err
	}
	c.space()
	if c.pos < len(c.src) {
		return c.fail("data after the value")
	}
	return nil
}

func (c *canonicalizer) value() *syntaxError {
	switch c.peek() {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		s, err := c.text()
		c.out = appendQuoted(c.out, s)
		return err
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	default:
		return c.number()
	}
}

func (c *canonicalizer) array() *syntaxError {
	if err := c.open('['); err != nil {
		return err
	}
	for i := 0; ; i++ {
		c.space()
		if i == 0 && c.peek() == ']' {
			return c.close(']')
		}
		if err := c.value(); err != nil {
			return err.below(i)
		}
		if !c.comma() {
			return c.close(']')
		}
	}
}

func (c *canonicalizer) object() *syntaxError {
	if err := c.open('{'); err != nil {
		return err
	}
	base, sorted := len(c.members), true
	for {
		c.space()
		if len(c.members) == base && c.peek() == '}' {
			return c.close('}')
		}
		m, err := c.member()
		if err != nil {
			return err
		}
		if n := len(c.members); n > base && compareKeys(c.members[n-1].key, m.key) >= 0 {
			sorted = false
		}
		c.members = append(c.members, m)
		if !c.comma() {
			break
		}
	}
	if !sorted {
		if err := c.sort(c.members[base:]); err != nil {
			return err
		}
	}
	c.members = c.members[:base]
	return c.close('}')
}

func (c *canonicalizer) member() (m member, err *syntaxError) {
	m.start = len(c.out)
	if c.peek() != '"' {
		return m, c.fail("key wanted, found %s", c.found())
	}
	if m.key, err = c.text(); err != nil {
		return m, err
	}
	c.out = appendQuoted(c.out, m.key)
	c.space()
	if c.peek() != ':' {
		return m, c.fail("':' wanted, found %s", c.found()).below(string(m.key))
	}
	c.out = append(c.out, ':')
	c.pos++
	c.space()
	if err := c.value(); err != nil {
		return m, err.below(string(m.key))
	}
	m.end = len(c.out)
	return m, nil
}

// sort puts the members of the innermost object, the last thing in out, in
// order.
func (c *canonicalizer) sort(members []member) *syntaxError {
	start := members[0].start
	slices.SortFunc(members, func(a, b member) int { return compareKeys(a.key, b.key) })
	c.scratch = append(c.scratch[:0], c.out[start:]...)
	c.out = c.out[:start]
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(members[i-1].key, m.key) {
				return c.fail("duplicate key").below(string(m.key))
			}
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, c.scratch[m.start-start:m.end-start]...)
	}
	return nil
}

// compareKeys orders valid UTF-8 by UTF-16 code units. That is byte order,
// except that characters beyond U+FFFF (lead bytes from 0xf0), being written
// with surrogates, sort below U+E000 to U+FFFF (lead bytes 0xee and 0xef).
func compareKeys(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
