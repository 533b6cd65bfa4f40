package resolve

import (
	"slices"
	"strings"

	"driftless.dev/resource"
)

// FinalizerRegister names one finalizer's entry as a register of its own, as the
// ledger does.
func FinalizerRegister(key string) string { return "finalizers/" + key }

// joinFinalizers keeps the higher entry of each key, up to the bound. Both
// lists are sorted by key and so is the result.
func (m *merger) joinFinalizers() {
	all, outcome := unionFinalizers(m.current.Finalizers, m.incoming.Finalizers)
	kept := all
	if len(all) > resource.MaxFinalizers {
		kept = bound(slices.Clone(all))
		if slices.Equal(kept, m.current.Finalizers) {
			outcome = Ignored
		}
		m.overflow(all, kept)
	}
	m.Record.Finalizers, m.Finalizers = kept, outcome
}

// overflow reports the finalizers that the bound drops while they stand: what
// they hold back may go now, and its owner must be able to find out why.
func (m *merger) overflow(all, kept []resource.Finalizer) {
	lowest := slices.MinFunc(kept, resource.Finalizer.Compare)
	for _, f := range all {
		if !f.Present || slices.Contains(kept, f) {
			continue
		}
		held := m.current
		if !slices.Contains(held.Finalizers, f) {
			held = m.incoming
		}
		m.Losers = append(m.Losers, Loser{
			Register: FinalizerRegister(f.Key), Reason: Overfull, Record: *held,
			Stamp: resource.Stamp{HLC: f.At.HLC, Writer: f.At.Writer}, Winner: resource.Stamp{HLC: lowest.At.HLC, Writer: lowest.At.Writer},
		})
	}
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
