package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// contexts is the file that names nodes:
//
//	current: prod
//	contexts:
//	  prod: {node: https://node-a.example:7117, token: s3cret}
//	  lab:  {node: http://127.0.0.1:7117}
type contexts struct {
	Current  string                  `yaml:"current"`
	Contexts map[string]contextEntry `yaml:"contexts"`
}

type contextEntry struct {
	Node  string `yaml:"node"`
	Token string `yaml:"token"`
}

// contextsPath is where the file is, "" when there is no place for it.
func contextsPath(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if dir == "" {
		if home := env("HOME"); home != "" {
			dir = filepath.Join(home, ".config")
		}
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "driftless", "contexts.yaml")
}

// readContexts reads the file; one that is not there has no contexts. A field
// that is not known is refused: it may be a token that was misspelt.
func readContexts(path string) (contexts, error) {
	var c contexts
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read contexts: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		// Not the library's long form: it quotes the lines around, token and all.
		first, _, _ := strings.Cut(err.Error(), "\n")
		return c, fmt.Errorf("read contexts %s: %s", path, first)
	}
	return c, nil
}

// entry returns a context by name, the current one for "". found is false when
// the file names no current one.
func (c contexts) entry(path, name string) (e contextEntry, found bool, err error) {
	asked := name
	if name == "" {
		name = c.Current
	}
	if name == "" {
		return e, false, nil
	}
	e, ok := c.Contexts[name]
	switch {
	case !ok && asked == "":
		return e, false, fmt.Errorf("context %q is current, but %s has no such context: it has %s", name, path, c.names())
	case !ok:
		return e, false, fmt.Errorf("context %q is not in %s: it has %s", name, path, c.names())
	case e.Node == "":
		return e, false, fmt.Errorf("context %q in %s has no node", name, path)
	}
	return e, true, nil
}

func (c contexts) names() string {
	if len(c.Contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.Contexts)), ", ")
}
