package resource

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// open enters a container; close leaves it.
func (c *canonicalizer) open(b byte) *syntaxError {
	if c.depth == MaxDepth {
		return c.fail("nested over %d deep", MaxDepth)
	}
	c.depth++
	c.pos++
	c.out = append(c.out, b)
	return nil
}

func (c *canonicalizer) close(b byte) *syntaxError {
	if c.peek() != b {
		return c.fail("',' or '%c' wanted, found %s", b, c.found())
	}
	c.depth--
	c.pos++
	c.out = append(c.out, b)
	return nil
}

// comma consumes a comma if one is next and says so.
func (c *canonicalizer) comma() bool {
	c.space()
	if c.peek() != ',' {
		return false
	}
	c.pos++
	c.out = append(c.out, ',')
	return true
}

func (c *canonicalizer) space() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (c *canonicalizer) peek() byte {
	if c.pos < len(c.src) {
		return c.src[c.pos]
	}
	return 0
}

// found says what is next, for an error.
func (c *canonicalizer) found() string {
	if c.pos == len(c.src) {
		return "the end"
	}
	r, n := utf8.DecodeRune(c.src[c.pos:])
	if r == utf8.RuneError && n == 1 {
		return "invalid UTF-8"
	}
	return strconv.QuoteRune(r)
}

func (c *canonicalizer) literal(word string) *syntaxError {
	if !bytes.HasPrefix(c.src[c.pos:], []byte(word)) {
		return c.fail("value wanted, found %s", c.found())
	}
	c.out = append(c.out, word...)
	c.pos += len(word)
	return nil
}

// number copies a literal of the JSON grammar.
func (c *canonicalizer) number() *syntaxError {
	start := c.pos
	if c.peek() == '-' {
		c.pos++
	}
	whole := c.pos
	switch n := c.digits(); {
	case n == 0:
		return c.fail("value wanted, found %s", c.found())
	case n > 1 && c.src[whole] == '0':
		return c.fail("number with a leading zero")
	}
	if c.peek() == '.' {
		c.pos++
		if c.digits() == 0 {
			return c.fail("digit wanted after '.', found %s", c.found())
		}
	}
	if c.peek()|0x20 == 'e' {
		c.pos++
		if c.peek() == '+' || c.peek() == '-' {
			c.pos++
		}
		if c.digits() == 0 {
			return c.fail("digit wanted in the exponent, found %s", c.found())
		}
	}
	c.out = append(c.out, c.src[start:c.pos]...)
	return nil
}

// digits steps over digits and counts them.
func (c *canonicalizer) digits() int {
	start := c.pos
	for c.pos < len(c.src) && c.src[c.pos] >= '0' && c.src[c.pos] <= '9' {
		c.pos++
	}
	return c.pos - start
}
