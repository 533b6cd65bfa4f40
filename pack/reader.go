package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// ErrMalformed is returned when bytes are not the canonical form of the value
// that was asked for: truncated, of another type, a longer spelling than
// needed, not UTF-8, nested too deep, or with bytes left over.
var ErrMalformed = errors.New("malformed bytes")

// maxDepth bounds the nesting of values that are skipped unread.
const maxDepth = 32

// Reader walks canonical bytes. The first error sticks: every later read
// returns a zero value, so a decoder reads all its fields and asks once.
type Reader struct {
	b   []byte
	err error
}

// NewReader returns a reader over b, which it aliases and does not change.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err returns the first error met.
func (r *Reader) Err() error { return r.err }

// Close returns the first error met, or ErrMalformed when bytes are left.
func (r *Reader) Close() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes left over", len(r.b))
	}
	return r.err
}

// Fail records an error of the caller's own, for a value that is well formed
// but not allowed where it stands.
func (r *Reader) Fail(format string, args ...any) { r.fail(format, args...) }

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
	r.b = nil
}

func (r *Reader) take(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.b)) {
		r.fail("%d bytes wanted, %d left", n, len(r.b))
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *Reader) head() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0xc1 // never used by MessagePack
}

// number reads n big-endian bytes and insists on more than least, the largest
// value that a shorter spelling could have held.
func (r *Reader) number(n, least uint64) uint64 {
	b := r.take(n)
	if b == nil {
		return 0
	}
	var w [8]byte
	copy(w[8-n:], b)
	v := binary.BigEndian.Uint64(w[:])
	if v <= least {
		r.fail("number is not in its shortest form")
		return 0
	}
	return v
}

// Nil consumes a nil if one is next and says so.
func (r *Reader) Nil() bool {
	if len(r.b) > 0 && r.b[0] == 0xc0 {
		r.b = r.b[1:]
		return true
	}
	return false
}

// Bool reads a boolean.
func (r *Reader) Bool() bool {
	switch h := r.head(); h {
	case 0xc3:
		return true
	case 0xc2:
		return false
	default:
		r.fail("boolean wanted, found 0x%02x", h)
		return false
	}
}

// Uint reads an unsigned integer.
func (r *Reader) Uint() uint64 {
	switch h := r.head(); {
	case h < 0x80:
		return uint64(h)
	case h == 0xcc:
		return r.number(1, 1<<7-1)
	case h == 0xcd:
		return r.number(2, math.MaxUint8)
	case h == 0xce:
		return r.number(4, math.MaxUint16)
	case h == 0xcf:
		return r.number(8, math.MaxUint32)
	default:
		r.fail("unsigned integer wanted, found 0x%02x", h)
		return 0
	}
}

// Int reads a signed integer.
func (r *Reader) Int() int64 {
	if len(r.b) == 0 {
		r.fail("integer wanted, nothing left")
		return 0
	}
	h := r.b[0]
	if h < 0x80 || h >= 0xcc && h <= 0xcf {
		v := r.Uint()
		if v > math.MaxInt64 {
			r.fail("integer overflows 64 signed bits")
			return 0
		}
		return int64(v)
	}
	r.b = r.b[1:]
	switch {
	case h >= 0xe0:
		return int64(int8(h))
	case h == 0xd0:
		return r.negative(1, -32)
	case h == 0xd1:
		return r.negative(2, math.MinInt8)
	case h == 0xd2:
		return r.negative(4, math.MinInt16)
	case h == 0xd3:
		return r.negative(8, math.MinInt32)
	default:
		r.fail("integer wanted, found 0x%02x", h)
		return 0
	}
}

// negative reads n two's-complement bytes and insists on less than most, the
// lowest value that a shorter spelling could have held.
func (r *Reader) negative(n uint64, most int64) int64 {
	b := r.take(n)
	if b == nil {
		return 0
	}
	w := [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	copy(w[8-n:], b)
	v := int64(binary.BigEndian.Uint64(w[:]))
	if b[0] < 0x80 || v >= most {
		r.fail("number is not in its shortest form")
		return 0
	}
	return v
}

// Bin reads a byte string, or nil. The result aliases the input.
func (r *Reader) Bin() []byte {
	var n uint64
	switch h := r.head(); h {
	case 0xc0:
		return nil
	case 0xc4:
		if b := r.take(1); b != nil {
			n = uint64(b[0])
		}
	case 0xc5:
		n = r.number(2, math.MaxUint8)
	case 0xc6:
		n = r.number(4, math.MaxUint16)
	default:
		r.fail("byte string wanted, found 0x%02x", h)
		return nil
	}
	if v := r.take(n); v != nil {
		return v
	}
	if r.err == nil {
		return []byte{}
	}
	return nil
}

// Fixed reads a byte string of exactly len(dst) bytes into dst.
func (r *Reader) Fixed(dst []byte) {
	v := r.Bin()
	if r.err != nil {
		return
	}
	if len(v) != len(dst) {
		r.fail("%d bytes wanted, found %d", len(dst), len(v))
		return
	}
	copy(dst, v)
}

// Text reads a UTF-8 string.
func (r *Reader) Text() string { return string(r.text()) }

func (r *Reader) text() []byte {
	var n uint64
	switch h := r.head(); {
	case h&0xe0 == 0xa0:
		n = uint64(h & 0x1f)
	case h == 0xd9:
		n = r.number(1, 31)
	case h == 0xda:
		n = r.number(2, math.MaxUint8)
	case h == 0xdb:
		n = r.number(4, math.MaxUint16)
	default:
		r.fail("string wanted, found 0x%02x", h)
		return nil
	}
	v := r.take(n)
	if !utf8.Valid(v) {
		r.fail("string is not UTF-8")
		return nil
	}
	return v
}

// Array reads the head of an array and returns how many values follow. Since
// each takes a byte at least, a count beyond what is left is refused here, and
// a caller may allocate by it.
func (r *Reader) Array() int {
	var n uint64
	switch h := r.head(); {
	case h&0xf0 == 0x90:
		n = uint64(h & 0x0f)
	case h == 0xdc:
		n = r.number(2, 15)
	case h == 0xdd:
		n = r.number(4, math.MaxUint16)
	default:
		r.fail("array wanted, found 0x%02x", h)
		return 0
	}
	if n > uint64(len(r.b)) {
		r.fail("array of %d values, %d bytes left", n, len(r.b))
		return 0
	}
	return int(n)
}

// ArrayOf reads the head of an array that must hold at least n values and
// returns how many more follow those: fields of a later version, to Skip.
func (r *Reader) ArrayOf(n int) (extra int) {
	got := r.Array()
	if r.err == nil && got < n {
		r.fail("%d fields wanted, found %d", n, got)
	}
	return max(0, got-n)
}
