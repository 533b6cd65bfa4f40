package fuzztest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftless.dev/fuzztest"
)

var declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// Every fuzz target of the module states what its inputs may cost, measures it,
// and goes by a name of its own; every row is some target's.
func TestBounds_EveryTargetHasOne(t *testing.T) {
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			if other, twice := found[m[1]]; twice {
				t.Errorf("%s is in %s and in %s", m[1], other, path)
			}
			found[m[1]] = path
			if !strings.Contains(string(text), "fuzztest.Start(f)") {
				t.Errorf("%s in %s does not measure what it costs", m[1], path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	bounds := fuzztest.Bounds()
	for name, path := range found {
		if _, ok := bounds[name]; !ok {
			t.Errorf("%s in %s has no bound", name, path)
		}
	}
	for name := range bounds {
		if found[name] == "" {
			t.Errorf("the bound of %s is nobody's", name)
		}
	}
	if len(found) < 20 {
		t.Errorf("only %d targets were found", len(found))
	}
}

// What costs more than its input paid for is told, and what does not is not.
func TestRun_HoldsTheBound(t *testing.T) {
	for _, c := range []struct {
		n    int
		over bool
	}{{1 << 10, false}, {8 << 20, true}} {
		inner := &recorder{TB: t}
		func() {
			defer func() { _ = recover() }()
			fuzztest.With("probe", fuzztest.Bound{C: 64 << 10, K: 1}).Run(inner, []byte("x"), func() { sink = make([]byte, c.n) })
		}()
		if inner.failed != c.over {
			t.Errorf("%d bytes: failed %t", c.n, inner.failed)
		}
	}
}

var sink []byte

// recorder notes a failure in place of the test.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	panic("failed")
}
