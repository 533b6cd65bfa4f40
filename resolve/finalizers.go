package resolve

import (
	"slices"
	"strings"

	"driftless.dev/resource"
)

// joinFinalizers keeps the higher entry of each key. Both lists are sorted by
// key and so is the result.
func joinFinalizers(cur, in []resource.Finalizer) ([]resource.Finalizer, Outcome) {
	out, outcome := unionFinalizers(cur, in)
	if len(out) > resource.MaxFinalizers {
		if out = bound(out); slices.Equal(out, cur) {
			outcome = Ignored
		}
	}
	return out, outcome
}

func unionFinalizers(cur, in []resource.Finalizer) ([]resource.Finalizer, Outcome) {
	outcome := Unchanged
	out := make([]resource.Finalizer, 0, len(cur)+len(in))
	for len(cur) > 0 || len(in) > 0 {
		switch {
		case len(in) == 0 || len(cur) > 0 && cur[0].Key < in[0].Key:
			out, cur = append(out, cur[0]), cur[1:]
			outcome = max(outcome, Ignored)
		case len(cur) == 0 || in[0].Key < cur[0].Key:
			out, in = append(out, in[0]), in[1:]
			outcome = Applied
		default:
			c := in[0].Compare(cur[0])
			if c > 0 {
				out, outcome = append(out, in[0]), Applied
			} else {
				out = append(out, cur[0])
			}
			if c < 0 {
				outcome = max(outcome, Ignored)
			}
			cur, in = cur[1:], in[1:]
		}
	}
	if len(out) == 0 {
		return nil, outcome
	}
	return out, outcome
}

// bound keeps the MaxFinalizers highest entries. The order it goes by never
// falls for a key, so an entry that is dropped in one order of merges is
// dropped in every order, and the join stays associative.
func bound(fs []resource.Finalizer) []resource.Finalizer {
	slices.SortFunc(fs, func(a, b resource.Finalizer) int {
		if c := b.Compare(a); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	fs = fs[:resource.MaxFinalizers]
	slices.SortFunc(fs, func(a, b resource.Finalizer) int { return strings.Compare(a.Key, b.Key) })
	return fs
}
