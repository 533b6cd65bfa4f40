package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Bounds of a selector's text and of its requirements.
const (
	maxSelectorSize  = 1 << 10
	maxSelectorTerms = 32
)

// Op is a label-selector match operator.
type Op int

// The operators.
const (
	// OpExists matches when the key is present, with any value.
	OpExists Op = iota
	// OpNotExists matches when the key is absent.
	OpNotExists
	// OpEquals matches when the key's value is the one given.
	OpEquals
	// OpNotEquals matches when the key is absent or its value differs.
	OpNotEquals
	// OpIn matches when the key's value is one of those given.
	OpIn
	// OpNotIn matches when the key is absent or its value is none of those
	// given.
	OpNotIn
)

// Requirement is one label constraint. Values is empty for OpExists and
// OpNotExists, a single element for OpEquals and OpNotEquals, a set for the
// rest.
type Requirement struct {
	Key    string
	Op     Op
	Values []string
}

// Selector is a conjunction of requirements. The empty and the nil Selector
// match everything.
type Selector []Requirement

// Everything is the selector that matches every resource.
func Everything() Selector { return nil }

// ParseSelector reads comma-separated requirements, each one of `key`, `!key`,
// `key=value`, `key==value`, `key!=value`, `key in (a,b)`, `key notin (a,b)`.
// The grammar is Kubernetes' own parser's, less what a fleet has no use for:
// `<`, `>` and the empty set. An empty string is Everything. Requirements come
// back ordered by key, so that one selector has one text. Errors wrap
// ErrInvalid.
func ParseSelector(s string) (Selector, error) {
	if len(s) > maxSelectorSize {
		return nil, invalidAt("selector", fmt.Sprintf("%d bytes, over %d", len(s), maxSelectorSize))
	}
	// The library reads a NUL as the end of the text.
	if i := strings.IndexAny(s, "<>\x00"); i >= 0 {
		return nil, invalidAt("selector", fmt.Sprintf("%q: %q is not supported", s, s[i]))
	}
	parsed, err := labels.ParseToRequirements(s)
	if err != nil {
		return nil, invalidAt("selector", fmt.Sprintf("%q: %v", s, err))
	}
	if len(parsed) > maxSelectorTerms {
		return nil, invalidAt("selector", fmt.Sprintf("%d requirements, over %d", len(parsed), maxSelectorTerms))
	}
	var out Selector
	for _, p := range parsed {
		r, err := requirement(p)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, Requirement.compare)
	return out, nil
}

// requirement translates one from the library's type.
func requirement(p labels.Requirement) (Requirement, error) {
	r := Requirement{Key: p.Key(), Values: p.ValuesUnsorted()}
	slices.Sort(r.Values)
	switch p.Operator() {
	case selection.Exists:
		r.Op, r.Values = OpExists, nil
	case selection.DoesNotExist:
		r.Op, r.Values = OpNotExists, nil
	case selection.Equals, selection.DoubleEquals:
		r.Op = OpEquals
	case selection.NotEquals:
		r.Op = OpNotEquals
	case selection.In:
		r.Op = OpIn
	case selection.NotIn:
		r.Op = OpNotIn
	default:
		return r, invalidAt("selector", fmt.Sprintf("operator %q is not supported", p.Operator()))
	}
	// The library reads `in ()` as a set that holds the empty value alone.
	if (r.Op == OpIn || r.Op == OpNotIn) && len(r.Values) == 1 && r.Values[0] == "" {
		return r, invalidAt("selector", fmt.Sprintf("the set of %q is empty: write %s= or %s!= to ask for the empty value", r.Key, r.Key, r.Key))
	}
	return r, nil
}

func (r Requirement) compare(o Requirement) int {
	return cmp.Or(strings.Compare(r.Key, o.Key), cmp.Compare(r.Op, o.Op), slices.Compare(r.Values, o.Values))
}

// Matches reports whether the labels satisfy all requirements.
func (s Selector) Matches(labels map[string]string) bool {
	for _, r := range s {
		if !r.matches(labels) {
			return false
		}
	}
	return true
}

func (r Requirement) matches(labels map[string]string) bool {
	v, present := labels[r.Key]
	switch r.Op {
	case OpExists:
		return present
	case OpNotExists:
		return !present
	case OpEquals, OpIn:
		return present && slices.Contains(r.Values, v)
	case OpNotEquals, OpNotIn:
		return !present || !slices.Contains(r.Values, v)
	default:
		return false
	}
}

// String is the text that ParseSelector reads back to an equal selector.
func (s Selector) String() string {
	terms := make([]string, len(s))
	for i, r := range s {
		terms[i] = r.String()
	}
	return strings.Join(terms, ",")
}

// String is the requirement's text.
func (r Requirement) String() string {
	values := strings.Join(r.Values, ",")
	switch r.Op {
	case OpExists:
		return r.Key
	case OpNotExists:
		return "!" + r.Key
	case OpEquals:
		return r.Key + "=" + values
	case OpNotEquals:
		return r.Key + "!=" + values
	case OpIn:
		return r.Key + " in (" + values + ")"
	default:
		return r.Key + " notin (" + values + ")"
	}
}
