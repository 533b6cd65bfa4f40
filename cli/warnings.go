package cli

import (
	"slices"

	"driftless.dev/manifest"
)

// warnings gathers what is said about documents, so that each thing is said
// once.
type warnings struct {
	order []string
	where map[string][]manifest.Document
}

func (w *warnings) add(d manifest.Document, notes []string) {
	if w.where == nil {
		w.where = map[string][]manifest.Document{}
	}
	for _, note := range notes {
		if !slices.Contains(w.order, note) {
			w.order = append(w.order, note)
		}
		w.where[note] = append(w.where[note], d)
	}
}

func (w *warnings) print(a *app) {
	for _, note := range w.order {
		docs := w.where[note]
		if len(docs) == 1 {
			a.warn("%s: %s", docs[0], note)
			continue
		}
		a.warn("%s and %d more: %s", docs[0], len(docs)-1, note)
	}
}
