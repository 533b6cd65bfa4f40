package sim

import (
	"errors"
	"fmt"
	"strings"
)

// Failure is how a run failed: what was broken, and in words.
type Failure struct {
	Options Options
	// Promise is the kind of failure, by which a shrunk run is told to fail in
	// the same way.
	Promise string
	Text    string
	// Steps were carried out; At is the index of the one that showed it, or
	// their number when the heal did.
	Steps []Step
	At    int
}

// violated is a broken promise.
type violated struct{ promise, text string }

func (v *violated) Error() string { return v.promise + ": " + v.text }

func violation(promise, format string, args ...any) error {
	return &violated{promise, fmt.Sprintf(format, args...)}
}

// failed makes a Failure of what a run ended with.
func failed(o Options, steps []Step, at int, err error) *Failure {
	f := &Failure{Options: o, Promise: "unexpected", Text: err.Error(), Steps: steps, At: at}
	var v *violated
	if errors.As(err, &v) {
		f.Promise, f.Text = v.promise, v.text
	}
	return f
}

// shownSteps is how many of the last steps a failure prints.
const shownSteps = 40

// Error prints the seed, the options, the last steps and how to see it again.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\nseed %d: %s\n", f.Promise, f.Text, f.Options.Seed, f.Options)
	end := min(f.At+1, len(f.Steps))
	from := max(0, end-shownSteps)
	fmt.Fprintf(&b, "steps %d to %d of %d, then the heal:\n", from+1, end, len(f.Steps))
	for _, s := range f.Steps[from:end] {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	fmt.Fprintf(&b, "replay: %s\n", f.Options.Replay())
	return b.String()
}

// Replay is the command that repeats a run exactly.
func (o Options) Replay() string {
	cmd := fmt.Sprintf("go test ./replicate/loopback/sim -run TestSim_P2 -count 1 -seeds 1 -base %d", o.Seed)
	drawn := Draw(o.Seed)
	if o.Nodes != drawn.Nodes {
		cmd += fmt.Sprintf(" -nodes %d", o.Nodes)
	}
	if off := missing(drawn.Faults, o.Faults); off != "" {
		cmd += " -off " + off
	}
	if o.Keep != nil {
		cmd += " -keep " + formatKeep(o.Keep)
	}
	return cmd
}

func missing(all, some []Fault) string {
	var out []string
	for _, f := range all {
		if !(Options{Faults: some}).Has(f) {
			out = append(out, string(f))
		}
	}
	return strings.Join(out, ",")
}
