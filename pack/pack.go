// Package pack is the canonical subset of MessagePack that everything durable
// or shipped is written in: arrays in a fixed field order, unsigned and signed
// integers, byte strings, UTF-8 strings, booleans and nil. No maps, no floats,
// no extensions, and one spelling per value (the shortest), so equal values
// are equal bytes and a digest can be taken over them.
//
// The writer appends to a slice the caller owns. The reader walks a slice and
// allocates for nothing but the strings of Text: byte strings alias the input. Lengths are checked
// against the bytes that are left before anything is believed, so hostile
// input costs no more than its own size. Any MessagePack library reads what is
// written here; the tests use one as the oracle.
package pack

import (
	"encoding/binary"
	"math"
)

// AppendNil appends nil.
func AppendNil(b []byte) []byte { return append(b, 0xc0) }

// AppendBool appends a boolean.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0xc3)
	}
	return append(b, 0xc2)
}

// AppendUint appends an unsigned integer in its shortest form.
func AppendUint(b []byte, v uint64) []byte {
	switch {
	case v < 1<<7:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
	}
}

// AppendInt appends a signed integer in its shortest form; one that is not
// negative is written as AppendUint writes it.
func AppendInt(b []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, 0xd0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(v))
	}
}

// AppendBin appends a byte string; a nil slice is written as nil, so absent
// and empty stay apart.
func AppendBin(b, v []byte) []byte {
	if v == nil {
		return AppendNil(b)
	}
	switch n := len(v); {
	case n <= math.MaxUint8:
		b = append(b, 0xc4, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, v...)
}

// AppendText appends a string. The caller vouches that it is UTF-8.
func AppendText(b []byte, v string) []byte {
	switch n := len(v); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, v...)
}

// AppendArray appends the head of an array of n values, which the caller
// appends next.
func AppendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
	}
}
