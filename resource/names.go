package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Bounds of names and annotations, in bytes.
const (
	MaxNameSize        = 253
	MaxAnnotationsSize = 256 << 10
)

// ValidateName checks a name: of a resource, or of a part of a scope. It is 1
// to MaxNameSize bytes of UTF-8 in normal form C (one spelling for what looks
// the same), without control characters and without '/', ',' and '=', which
// separate names in paths, scopes and selectors. "." and ".." would be lost in
// a URL. Errors wrap ErrInvalid and name the field.
func ValidateName(field, v string) error {
	if err := validateText(field, v, "/,="); err != nil {
		return err
	}
	if v == "." || v == ".." {
		return invalidAt(field, fmt.Sprintf("%q has a meaning in paths", v))
	}
	return nil
}

func validateText(field, v, refused string) error {
	var what string
	switch {
	case v == "":
		return invalidAt(field, "is empty")
	case len(v) > MaxNameSize:
		what = fmt.Sprintf("is %d bytes, over %d", len(v), MaxNameSize)
	case !utf8.ValidString(v):
		what = "is not UTF-8"
	case !norm.NFC.IsNormalString(v):
		what = "is not in Unicode normal form C"
	case strings.ContainsFunc(v, isControl):
		what = "holds a control character"
	case strings.ContainsAny(v, refused):
		what = "holds one of " + refused
	default:
		return nil
	}
	return invalidAt(field, fmt.Sprintf("%.64q %s", v, what))
}

// isControl counts Unicode's line and paragraph separators too: they break a
// line wherever they are shown.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// ValidateLabels checks label keys and values by Kubernetes' syntax. Of several
// errors the one of the lowest key is returned, on every node alike.
func ValidateLabels(labels map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if problems := content.IsLabelKey(k); len(problems) > 0 {
			return invalidAt("labels", fmt.Sprintf("key %.64q: %s", k, problems[0]))
		}
		if problems := content.IsLabelValue(labels[k]); len(problems) > 0 {
			return invalidAt("labels"+pointerOf([]string{k}), fmt.Sprintf("value %.64q: %s", labels[k], problems[0]))
		}
	}
	return nil
}

// ValidateAnnotations checks that keys are label keys, values UTF-8, and all of
// it together at most MaxAnnotationsSize.
func ValidateAnnotations(annotations map[string]string) error {
	size := 0
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		if problems := content.IsLabelKey(k); len(problems) > 0 {
			return invalidAt("annotations", fmt.Sprintf("key %.64q: %s", k, problems[0]))
		}
		if !utf8.ValidString(annotations[k]) {
			return invalidAt("annotations"+pointerOf([]string{k}), "value is not UTF-8")
		}
		size += len(k) + len(annotations[k])
	}
	if size > MaxAnnotationsSize {
		return invalidAt("annotations", fmt.Sprintf("%d bytes, over %d: keep large values in the spec", size, MaxAnnotationsSize))
	}
	return nil
}

// ValidateFinalizers checks that there are at most MaxFinalizers keys, none
// twice, and that each is like a name, save that it may hold '/': a label key
// ("example.dev/worktree") is one.
func ValidateFinalizers(keys []string) error {
	if len(keys) > MaxFinalizers {
		return invalidAt("finalizers", fmt.Sprintf("%d keys, over %d", len(keys), MaxFinalizers))
	}
	for i, k := range keys {
		field := fmt.Sprintf("finalizers/%d", i)
		if err := validateText(field, k, ",="); err != nil {
			return err
		}
		if slices.Contains(keys[:i], k) {
			return invalidAt(field, fmt.Sprintf("%.64q is given twice", k))
		}
	}
	return nil
}

// NormalizeStrings returns a copy of labels or annotations, nil when there are
// none: absent and empty are one, or equal resources would hash apart.
func NormalizeStrings(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}
