package manifest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Document is one document of a source, or one item of a v1 List in it.
type Document struct {
	Source  string // the path as found, or "stdin"
	Index   int    // 1-based among the documents of the source that are not empty
	Line    int    // 1-based line of the first content in the source
	Pointer string // of an item inside its List, else ""
	JSON    []byte // an object, without white space; nil if Err is set
	Err     error  // why the document cannot be read; names the document
}

// String names the document for messages.
func (d Document) String() string {
	name := fmt.Sprintf("%s: document %d (line %d)", d.Source, d.Index, d.Line)
	if d.Pointer != "" {
		name += ", item " + d.Pointer
	}
	return name
}

// Wrap puts the name of the document before an error; nil stays nil.
func (d Document) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d, err)
}

// Read reads the documents of files, directories and "-", which is stdin, in the
// order given. A directory stands for its *.yaml, *.yml and *.json files in
// sorted order, with recursive also those in its sub-directories.
//
// A document that cannot be read has Err set and does not hide the others. The
// error is about sources: a path that does not exist or cannot be read, a
// directory without manifests, "-" given twice, more than 256 MiB. Then no
// document is returned, so that nothing is done by halves.
func Read(paths []string, stdin io.Reader, recursive bool) ([]Document, error) {
	var docs []Document
	seenStdin := false
	for _, path := range paths {
		if path == "-" {
			if seenStdin || stdin == nil {
				return nil, fmt.Errorf("read stdin: %q can be given once", "-")
			}
			seenStdin = true
			text, err := readAll("stdin", stdin)
			if err != nil {
				return nil, err
			}
			docs = append(docs, Split("stdin", text)...)
			continue
		}
		files, err := expand(path, recursive)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := readFile(file)
			if err != nil {
				return nil, err
			}
			docs = append(docs, Split(file, text)...)
		}
	}
	return docs, nil
}

// expand lists the files that a path stands for.
func expand(path string, recursive bool) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == path:
			return nil
		case entry.IsDir() && !recursive:
			return fs.SkipDir
		case entry.IsDir() || !isManifest(name):
			return nil
		}
		// A link to a file counts as a file: mounted ConfigMaps are links.
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			return err
		}
		files = append(files, name)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read manifests: %s has no .yaml, .yml or .json file", path)
	}
	slices.Sort(files)
	return files, nil
}

func isManifest(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	defer file.Close()
	return readAll(path, file)
}

// readAll reads a source within the bound.
func readAll(name string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxStream+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(text) > maxStream:
		return nil, fmt.Errorf("read %s: more than %d bytes", name, maxStream)
	}
	return text, nil
}
