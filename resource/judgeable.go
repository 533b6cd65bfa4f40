package resource

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxDigits bounds a number's length and exponent where a schema judges it.
// The library computes with exact fractions: past an exponent of 10^6 it
// panics, and well before that a few bytes cost a second.
const maxDigits = 1 << 10

// unjudgeable returns the first number in a value that the library must not
// see, nil when there is none.
func unjudgeable(v any) (least *violation) {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			if bad := unjudgeable(m); bad != nil {
				bad.path = append([]string{k}, bad.path...)
				least = first(least, bad)
			}
		}
	case []any:
		for i, m := range v {
			if bad := unjudgeable(m); bad != nil {
				bad.path = append([]string{strconv.Itoa(i)}, bad.path...)
				return bad
			}
		}
	case json.Number:
		if digits(string(v)) > maxDigits {
			return &violation{what: fmt.Sprintf("number %.32s: over %d digits, a schema cannot judge it", v, maxDigits)}
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &violation{what: "number is not finite"}
		}
	}
	return least
}

// digits is how long a number literal is, or its exponent says it is.
func digits(literal string) int {
	i := strings.IndexAny(literal, "eE")
	if i < 0 {
		return len(literal)
	}
	exponent, err := strconv.Atoi(literal[i+1:])
	if err != nil {
		return math.MaxInt
	}
	return max(len(literal), exponent, -exponent)
}
