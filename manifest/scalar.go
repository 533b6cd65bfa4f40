package manifest

import (
	"math/big"
	"regexp"
	"strings"
)

var (
	jsonNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)
	coreInt    = regexp.MustCompile(`^[-+]?[0-9]+$`)
	coreBased  = regexp.MustCompile(`^0(?:x[0-9a-fA-F]+|o[0-7]+)$`)
	coreFloat  = regexp.MustCompile(`^([-+]?)([0-9]*)(\.?)([0-9]*)([eE][-+]?[0-9]+)?$`)
	coreNoNum  = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// maxBased bounds 0x and 0o literals, whose conversion costs more than linear.
const maxBased = 256

// resolved is what the core schema makes of a plain scalar.
type resolved struct {
	kind byte   // as jsontext.Kind: 'n', 't', 'f', '0' or '"'
	json string // the JSON literal, or the text of a string
}

// resolve applies the core schema of YAML 1.2 to a plain scalar. A spelling that
// is a JSON number is kept; others (+5, .5, 5., 0x1F, 0o17) become their decimal
// JSON form. Errors: .inf and .nan, which JSON has no word for, and integers with
// a leading zero, which YAML 1.1 and 1.2 read differently.
func resolve(text string) (resolved, error) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return resolved{'n', "null"}, nil
	case "true", "True", "TRUE":
		return resolved{'t', "true"}, nil
	case "false", "False", "FALSE":
		return resolved{'f', "false"}, nil
	}
	switch {
	case jsonNumber.MatchString(text):
		return resolved{'0', text}, nil
	case coreNoNum.MatchString(text):
		return resolved{}, fault("", "%s is not a JSON number; quote it to mean the text", text)
	case coreBased.MatchString(text):
		return based(text)
	case coreInt.MatchString(text):
		digits := strings.TrimLeft(text, "+-")
		if len(digits) > 1 && digits[0] == '0' {
			return resolved{}, fault("", "%s is octal in YAML 1.1 and decimal in YAML 1.2; write it as decimal or 0o, or quote it", text)
		}
		return resolved{'0', strings.TrimPrefix(text, "+")}, nil
	}
	if number, ok := float(text); ok {
		return resolved{'0', number}, nil
	}
	return resolved{'"', text}, nil
}

// based converts a hexadecimal or octal literal.
func based(text string) (resolved, error) {
	if len(text) > maxBased {
		return resolved{}, fault("", "number literal is longer than %d characters", maxBased)
	}
	number, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return resolved{'"', text}, nil
	}
	return resolved{'0', number.String()}, nil
}

// float gives a YAML float that is no JSON number its JSON spelling.
func float(text string) (string, bool) {
	part := coreFloat.FindStringSubmatch(text)
	if part == nil || part[2]+part[4] == "" || (part[3] == "" && part[4] != "") {
		return "", false
	}
	whole := strings.TrimLeft(part[2], "0")
	if whole == "" {
		whole = "0"
	}
	if part[3] != "" && part[4] == "" {
		part[4] = "0"
	}
	return strings.TrimPrefix(part[1], "+") + whole + part[3] + part[4] + part[5], true
}
