package hlc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrSyntax is returned for a text that is not the canonical form of a stamp.
var ErrSyntax = errors.New("hlc: not a timestamp")

const (
	counterBits = 16
	millisBits  = 48
	maxMillis   = 1<<millisBits - 1
)

// Timestamp is a hybrid logical time: 48 bits of Unix milliseconds above 16
// bits of counter. Integer order is time order, so its big-endian bytes sort.
// The zero value means "never".
type Timestamp uint64

// Max is the last stamp there is, in the year 10889.
const Max Timestamp = math.MaxUint64

// At returns the stamp of ms Unix milliseconds and a counter. It keeps order at
// the ends: a time before 1970 is the zero stamp, one past 48 bits is Max.
func At(ms int64, counter uint16) Timestamp {
	switch {
	case ms < 0:
		return 0
	case ms > maxMillis:
		return Max
	}
	return Timestamp(ms)<<counterBits | Timestamp(counter)
}

// Parse reads the form written by String, and only that: no sign, space or
// leading zero, so that one stamp has one spelling.
func Parse(s string) (Timestamp, error) {
	millis, counter, ok := strings.Cut(s, ".")
	ms, err := parseField(millis, millisBits)
	n, err2 := parseField(counter, counterBits)
	if !ok || err != nil || err2 != nil {
		return 0, fmt.Errorf("parse %.48q: %w", s, ErrSyntax)
	}
	return Timestamp(ms<<counterBits | n), nil
}

func parseField(s string, bits int) (uint64, error) {
	if len(s) > 1 && s[0] == '0' {
		return 0, ErrSyntax
	}
	return strconv.ParseUint(s, 10, bits)
}

// Millis returns the wall part in Unix milliseconds.
func (t Timestamp) Millis() int64 { return int64(t >> counterBits) }

// Counter returns the logical part.
func (t Timestamp) Counter() uint16 { return uint16(t) }

// Time returns the wall part as a time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMilli(t.Millis()).UTC() }

// IsZero reports whether t is the zero stamp.
func (t Timestamp) IsZero() bool { return t == 0 }

// Compare returns -1, 0 or +1 as t is before, equal to or after u.
func (t Timestamp) Compare(u Timestamp) int { return cmp.Compare(t, u) }

// Next returns the smallest stamp above t, or Max. The carry out of a full
// counter is the next millisecond.
func (t Timestamp) Next() Timestamp {
	if t == Max {
		return Max
	}
	return t + 1
}

// Add moves the wall part by d and keeps the counter. What d has below a
// millisecond is dropped. Past either end it stops at zero or Max.
func (t Timestamp) Add(d time.Duration) Timestamp {
	// A Duration is at most 2^44 ms, so the sum cannot overflow.
	return At(t.Millis()+d.Milliseconds(), t.Counter())
}

// String returns "<milliseconds>.<counter>", both in decimal. The counter is a
// number of its own, not a fraction: 5.10 is after 5.9.
func (t Timestamp) String() string {
	text, _ := t.AppendText(nil)
	return string(text)
}

// AppendText appends the form of String to b. It never fails.
func (t Timestamp) AppendText(b []byte) ([]byte, error) {
	b = strconv.AppendInt(b, t.Millis(), 10)
	b = append(b, '.')
	return strconv.AppendUint(b, uint64(t.Counter()), 10), nil
}

// MarshalText returns the form of String. It never fails.
func (t Timestamp) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText reads the form of String, as strictly as Parse. After an error
// t is unchanged.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*t = parsed
	}
	return err
}
