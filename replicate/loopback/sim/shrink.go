package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftless.dev/resource"
)

// shrinkRuns bounds the runs that shrinking may take.
const shrinkRuns = 400

// Shrink leaves out steps, faults and nodes for as long as the run fails in
// the same way, within a bound of runs, and returns the smallest that it came
// to.
func Shrink(f *Failure, schemas resource.SchemaCompiler) *Failure {
	s := &shrinker{best: f, schemas: schemas, left: shrinkRuns}
	o := f.Options
	if o.Keep == nil {
		o.Keep = upTo(min(f.At+1, len(f.Steps)))
	}
	if !s.try(o) {
		s.best.Options.Keep = upTo(len(f.Steps))
	}
	for {
		before := s.size()
		s.fewerSteps()
		s.fewerFaults()
		s.fewerNodes()
		if s.size() == before || s.left <= 0 {
			return s.best
		}
	}
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

type shrinker struct {
	best    *Failure
	schemas resource.SchemaCompiler
	left    int
}

func (s *shrinker) size() int {
	return len(s.best.Options.Keep) + len(s.best.Options.Faults) + s.best.Options.Nodes
}

// try reports whether options fail in the same way, and keeps them if so.
func (s *shrinker) try(o Options) bool {
	if s.left--; s.left < 0 {
		return false
	}
	_, err := Run(o, s.schemas)
	var f *Failure
	if !errors.As(err, &f) || f.Promise != s.best.Promise {
		return false
	}
	s.best = f
	return true
}

// fewerSteps leaves out ever smaller parts of the trace.
func (s *shrinker) fewerSteps() {
	for part := max(1, len(s.best.Options.Keep)/2); ; part /= 2 {
		for from := 0; from < len(s.best.Options.Keep) && s.left > 0; {
			o := s.best.Options
			o.Keep = slices.Delete(slices.Clone(o.Keep), from, min(from+part, len(o.Keep)))
			if !s.try(o) {
				from += part
			}
		}
		if part <= 1 {
			return
		}
	}
}

// fewerFaults calms the world; the trace's steps are indexed as they were.
func (s *shrinker) fewerFaults() {
	for _, f := range []Fault{Drop, Duplicate, LongWay, StreamLoss, StreamTwice, Streamless} {
		if s.best.Options.Has(f) {
			s.try(s.best.Options.Without(f))
		}
	}
}

// fewerNodes leaves out the steps of the last node; when that changes nothing
// the node was not needed, though it is still there and empty-handed.
func (s *shrinker) fewerNodes() {
	trace := s.best.Options.Trace()
	for last := s.best.Options.Nodes - 1; last > 0; last-- {
		o := s.best.Options
		o.Keep = slices.DeleteFunc(slices.Clone(o.Keep), func(i int) bool { return trace[i].Node == last })
		if len(o.Keep) < len(s.best.Options.Keep) {
			s.try(o)
		}
	}
}

// formatKeep writes a list of steps with ranges, ParseKeep reads it.
func formatKeep(keep []int) string {
	var out []string
	for i := 0; i < len(keep); {
		j := i
		for j+1 < len(keep) && keep[j+1] == keep[j]+1 {
			j++
		}
		if j > i {
			out = append(out, fmt.Sprintf("%d-%d", keep[i], keep[j]))
		} else {
			out = append(out, strconv.Itoa(keep[i]))
		}
		i = j + 1
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ",")
}

// ParseKeep reads a list of steps, as a replay command has it.
func ParseKeep(s string) (keep []int, err error) {
	keep = []int{}
	if s == "none" {
		return keep, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.Atoi(from)
		if err != nil {
			return nil, fmt.Errorf("parse steps %q: %w", s, err)
		}
		b, err := strconv.Atoi(to)
		if err != nil {
			return nil, fmt.Errorf("parse steps %q: %w", s, err)
		}
		for i := a; i <= b; i++ {
			keep = append(keep, i)
		}
	}
	return keep, nil
}
