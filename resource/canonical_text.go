package resource

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// text reads a string and returns what it says, in valid UTF-8. Without
// escapes that is a part of src.
func (c *canonicalizer) text() ([]byte, *syntaxError) {
	c.pos++
	part, err := c.plain()
	if err != nil || c.peek() == '"' {
		c.pos++
		return part, err
	}
	base := len(c.unescaped)
	for {
		c.unescaped = append(c.unescaped, part...)
		end := c.peek() == '"'
		c.pos++
		if end {
			return c.unescaped[base:len(c.unescaped):len(c.unescaped)], nil
		}
		if err := c.escape(); err != nil {
			return nil, err
		}
		if part, err = c.plain(); err != nil {
			return nil, err
		}
	}
}

// plain reads a string on to its next quote or backslash.
func (c *canonicalizer) plain() ([]byte, *syntaxError) {
	start := c.pos
	for ; c.pos < len(c.src); c.pos++ {
		b := c.src[c.pos]
		if b < ' ' {
			return nil, c.fail("control character in a string: write \\u%04x", b)
		}
		if b != '"' && b != '\\' {
			continue
		}
		part := c.src[start:c.pos]
		if !utf8.Valid(part) {
			return nil, c.fail("invalid UTF-8 in a string")
		}
		return part, nil
	}
	return nil, c.fail("string without an end")
}

// escape reads what follows a backslash.
func (c *canonicalizer) escape() *syntaxError {
	const names, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(names, c.peek()); i >= 0 {
		c.unescaped = append(c.unescaped, means[i])
		c.pos++
		return nil
	}
	r, ok := c.unit()
	if !ok {
		return c.fail("unknown escape")
	}
	if utf16.IsSurrogate(r) {
		high, low := r, rune(0)
		if c.peek() == '\\' {
			c.pos++
			low, _ = c.unit()
		}
		if r = utf16.DecodeRune(high, low); r == utf8.RuneError {
			return c.fail("lone surrogate \\u%04x", high)
		}
	}
	c.unescaped = utf8.AppendRune(c.unescaped, r)
	return nil
}

// unit reads uXXXX, one UTF-16 code unit.
func (c *canonicalizer) unit() (rune, bool) {
	if c.peek() != 'u' || len(c.src)-c.pos < 5 {
		return 0, false
	}
	var unit rune
	for _, b := range c.src[c.pos+1 : c.pos+5] {
		if b >= 'A' && b <= 'F' {
			b |= 0x20
		}
		digit := strings.IndexByte(hexDigits, b)
		if digit < 0 {
			return 0, false
		}
		unit = unit<<4 | rune(digit)
	}
	c.pos += 5
	return unit, true
}

// appendQuoted writes a string with RFC 8785's escapes: for '"', '\' and the
// control characters, these in their short form where they have one.
func appendQuoted(b, s []byte) []byte {
	const short, names = "\"\\\b\f\n\r\t", `"\bfnrt`
	b = append(b, '"')
	run := 0
	for i, ch := range s {
		if ch >= ' ' && ch != '"' && ch != '\\' {
			continue
		}
		b = append(append(b, s[run:i]...), '\\')
		run = i + 1
		if j := strings.IndexByte(short, ch); j >= 0 {
			b = append(b, names[j])
		} else {
			b = append(b, 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
		}
	}
	return append(append(b, s[run:]...), '"')
}
