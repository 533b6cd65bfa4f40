// Package fuzztest holds what reads untrusted bytes to what its input paid for:
// the memory it allocates is at most C + K for each byte of input, and it ends.
// It serves tests alone.
package fuzztest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Bound is what reading an input may allocate, in bytes: C, and K for each byte
// of the input.
type Bound struct{ C, K uint64 }

// Of is the bound for an input of n bytes.
func (b Bound) Of(n int) uint64 { return b.C + b.K*uint64(n) }

// patience is how long one input may take before it counts as an endless loop.
// It is wide, for machines that do other things too: reads are linear, and
// inputs of a fuzz engine small.
const patience = 10 * time.Second

// Cost measures the runs of one fuzz target.
type Cost struct {
	target string
	bound  Bound
	// worst is the run that took the largest part of its bound.
	worst run
}

type run struct {
	allocated uint64
	input     []byte
	bound     uint64
}

func (r run) part() float64 { return float64(r.allocated) / float64(max(r.bound, 1)) }

// Start looks a target's bound up and, when it ends, tells its worst run. With
// FUZZ_WORST the worst run is also kept in that directory, which is how those of
// a fuzz engine's processes are gathered.
func Start(f *testing.F) *Cost {
	f.Helper()
	b, ok := Bounds()[f.Name()]
	if !ok {
		f.Fatalf("%s has no row in fuzztest.Bounds: state what an input may cost", f.Name())
	}
	c := With(f.Name(), b)
	f.Cleanup(func() { f.Logf("%s", c) })
	return c
}

// With measures by a bound that is in no table.
func With(target string, b Bound) *Cost { return &Cost{target: target, bound: b} }

// String is a line about the worst run.
func (c *Cost) String() string {
	w := c.worst
	return fmt.Sprintf("%-28s C=%d K=%d: worst %d bytes for an input of %d, %.0f%% of its bound", c.target, c.bound.C, c.bound.K, w.allocated, len(w.input), 100*w.part())
}

// Run reads an input, by read, and fails when it costs more than the input paid
// for. Background work allocates too, so an excess must show three times.
func (c *Cost) Run(t testing.TB, input []byte, read func()) {
	t.Helper()
	limit := c.bound.Of(len(input)) * raceFactor
	least := uint64(0)
	for i := range 3 {
		n := allocated(input, read)
		if i == 0 || n < least {
			least = n
		}
		if least <= limit {
			break
		}
	}
	if least > limit {
		t.Fatalf("%s allocates %d bytes for an input of %d, allowed is %d + %d a byte: %.200q", c.target, least, len(input), c.bound.C, c.bound.K, input)
	}
	if r := (run{least, input, limit}); r.part() > c.worst.part() {
		r.input = append([]byte(nil), input...)
		c.worst = r
		c.keep()
	}
}

func (c *Cost) keep() {
	dir := os.Getenv("FUZZ_WORST")
	if dir == "" {
		return
	}
	file := filepath.Join(dir, fmt.Sprintf("%s.%d", c.target, os.Getpid()))
	text := fmt.Sprintf("%s\n%.2000q\n", c, c.worst.input)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
}

// allocated runs read and counts what it allocates. One that does not end takes
// the process down, and with it the input to the fuzz engine's corpus.
func allocated(input []byte, read func()) uint64 {
	stop := time.AfterFunc(patience, func() { panic(fmt.Sprintf("no end after %s: %.2000q", patience, input)) })
	defer stop.Stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Bombs are MessagePack inputs that have taken decoders down: lengths that
// nothing follows, nesting, what is no canonical form.
func Bombs() [][]byte {
	deep := func(head string, n int) string { return strings.Repeat(head, n) }
	wide := deep("\xdc\x0f\xff", 32) + string(make([]byte, 1<<12))
	var out [][]byte
	for _, s := range []string{
		"", "\xc1", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x01",
		"\xdc\xff\xff", "\xde\xff\xff", "\xc5\xff\xff", "\xda\xff\xff", "\xdd\x00\xff\xff\xff\x01\x01", "\xd4", "\xd8\x01", "\xc7\xff\x01", "\xc8\xff\xff",
		"\x82\xa1a\x01\xa1a\x02", "\xcc\x01", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "\xa1\xff", "\x91" + deep("\x91", 1<<12), deep("\x81\xa1a", 1<<10), wide,
	} {
		out = append(out, []byte(s))
	}
	return out
}

// Texts are JSON and YAML inputs of that sort.
func Texts() []string {
	many := strings.Repeat(`"k":1,`, 1<<10)
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	words := "a: &a " + strings.Repeat("x", 100) + "\n"
	for c := 'b'; c < 'h'; c++ {
		words += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	return []string{
		words, "", "{", "[", "\"", "\xff", "nul", "{}{}", `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"` + "a\xff" + `":1}`, `"\ud800"`, `1e400`, `-0`, `1e999999999`, `9007199254740993`,
		strings.Repeat("[", 1<<12), strings.Repeat(`{"a":`, 1<<12), strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("9", 1<<12),
		"{" + many + `"k":1}`, "[" + strings.Repeat("0,", 1<<12) + "0]", laughs, "<<: *x", "a: *a", "&a [*a]", "- " + strings.Repeat("- ", 1<<10), strings.Repeat("? ", 1<<10),
		"!!binary /w==", "!<tag:yaml.org,2002:int> 1", strings.Repeat("a: {", 1<<10), strings.Repeat("\t", 1<<10), "--- |\n" + strings.Repeat(" ", 1<<12), "%TAG ! x\n---\na", "a: 1\na: 2\n",
	}
}
