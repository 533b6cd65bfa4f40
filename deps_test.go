package driftless_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// arrows says who may import whom, and which of the outside: a package imports
// what stands right of it and nothing else of ours. The pure core reaches
// neither NATS nor bbolt nor HTTP.
var arrows = map[string][]string{
	"pack":                   {},
	"mutant":                 {},
	"hlc":                    {},
	"merkle":                 {"mutant"},
	"resource":               {"hlc", "pack"},
	"resolve":                {"mutant", "resource"},
	"wire":                   {"hlc", "merkle", "pack", "resource"},
	"store":                  {"hlc", "merkle", "mutant", "pack", "resolve", "resource"},
	"store/memory":           {"store"},
	"store/bolt":             {"store"},
	"replicate":              {"hlc", "merkle", "mutant", "pack", "resource", "store", "wire"},
	"replicate/jetstream":    {"replicate", "resource", "wire"},
	"replicate/loopback":     {"hlc", "pack", "replicate", "resource", "store", "store/memory", "wire"},
	"replicate/loopback/sim": {"hlc", "replicate", "replicate/loopback", "resource", "store"},
	"fleet":                  {},
	"manifest":               {},
	"metrics":                {},
	"api":                    {"fleet", "hlc", "metrics", "resource", "store"},
	"client":                 {"fleet", "hlc", "resource"},
	"cli/jsonpath":           {},
	"cli":                    {"cli/jsonpath", "client", "fleet", "hlc", "manifest", "resource"},
	".":                      {"api", "fleet", "hlc", "metrics", "replicate", "replicate/jetstream", "resource", "store", "store/bolt", "wire"},
	"cmd/node":               {".", "replicate", "resource"},
	"cmd/driftless":          {".", "cli", "fleet", "netcut", "resource", "store"},
	"netcut":                 {},
	"chaos-tests":            {"chaos-tests/history", "client", "fleet", "hlc", "resource", "store", "store/bolt", "wire"},
	"chaos-tests/history":    {"hlc"},
	"chaos-tests/lazyfs":     {},
	"bench":                  {"resource", "store", "store/bolt", "store/memory"},
	"store/storetest":        {"hlc", "merkle", "pack", "resolve", "resource", "store", "store/memory"},
	"store/search":           {},
	"store/enginetest":       {"store"},
	"resource/resourcetest":  {"hlc", "pack", "resource"},
	"fuzztest":               {},
}

// outside says which packages may import a technology at all.
var outside = map[string][]string{
	"go.etcd.io/bbolt":         {"store/bolt", "bench"},
	"github.com/nats-io/":      {"replicate/jetstream"},
	"net/http":                 {"api", "client", "cli", "metrics"},
	"github.com/spf13/cobra":   {"cli", "cmd/driftless"},
	"github.com/hanwen/":       {"chaos-tests/lazyfs"},  // FUSE and the search for an order are
	"github.com/anishathalye/": {"chaos-tests/history"}, // for tests: no program that ships links them
}

// pure packages reach none of these, directly or not.
var (
	pure      = []string{"pack", "hlc", "resource", "resolve", "merkle", "wire"}
	forbidden = []string{"go.etcd.io/bbolt", "github.com/nats-io/", "net/http", "math/rand", "crypto/rand"}
)

const module = "driftless.dev"

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) (out []pkg) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	text, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

// local is a package's folder, "." for the root; ok is false for others'.
func local(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	rest, ok := strings.CutPrefix(path, module+"/")
	return rest, ok
}

// allowedReach names what a pure package reaches through a library and does
// not use: the selector grammar links a random source, ULIDs the system's.
func allowedReach(name, tech string) bool {
	return (tech == "math/rand" || tech == "crypto/rand") && slices.Contains([]string{"resource", "resolve", "wire"}, name)
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		name, ok := local(p.ImportPath)
		if !ok {
			continue
		}
		allowed, known := arrows[name]
		if !known {
			t.Errorf("%s is not in the table of arrows: add it, with what it may import", name)
			continue
		}
		for _, imp := range p.Imports {
			if other, ours := local(imp); ours && !slices.Contains(allowed, other) {
				t.Errorf("%s imports %s, which the table of arrows does not allow", name, other)
			}
			for tech, users := range outside {
				if strings.HasPrefix(imp, tech) && !slices.Contains(users, name) {
					t.Errorf("%s imports %s; only %v may", name, imp, users)
				}
			}
		}
		if !slices.Contains(pure, name) {
			continue
		}
		for _, dep := range p.Deps {
			for _, tech := range forbidden {
				if strings.HasPrefix(dep, tech) && !allowedReach(name, tech) {
					t.Errorf("%s is pure and reaches %s", name, dep)
				}
			}
		}
	}
}
