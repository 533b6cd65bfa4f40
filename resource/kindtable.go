package resource

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/version"
)

// kindKey names one served version.
type kindKey struct{ apiVersion, name string }

type registered struct {
	kind      Kind
	validator Validator // nil admits anything
}

// kindTable is what readers see. It is built once and never changed.
type kindTable struct {
	kinds   map[kindKey]registered
	highest map[GroupKind]Kind
	// words leads from a lower-case word to the kinds that claim it, in order.
	words map[string][]GroupKind
}

func newKindTable(kinds map[kindKey]registered) *kindTable {
	t := &kindTable{kinds: kinds, highest: map[GroupKind]Kind{}, words: map[string][]GroupKind{}}
	if kinds == nil {
		t.kinds = map[kindKey]registered{}
	}
	for _, e := range kinds {
		g := e.kind.GroupKind()
		if top, ok := t.highest[g]; !ok || compareVersions(e.kind, top) > 0 {
			t.highest[g] = e.kind
		}
		for _, word := range append([]string{strings.ToLower(e.kind.Name), e.kind.Singular, e.kind.Plural}, e.kind.Aliases...) {
			if word != "" && !slices.Contains(t.words[word], g) {
				t.words[word] = append(t.words[word], g)
			}
		}
	}
	for _, claims := range t.words {
		slices.SortFunc(claims, GroupKind.Compare)
	}
	return t
}

func compareVersions(a, b Kind) int {
	_, x := SplitAPIVersion(a.APIVersion)
	_, y := SplitAPIVersion(b.APIVersion)
	return version.CompareKubeAwareVersionStrings(x, y)
}

// admits checks that a kind keeps the identity and level of its other versions
// and of the one it replaces.
func (t *kindTable) admits(k Kind) error {
	old, ok := t.highest[k.GroupKind()]
	switch {
	case ok && old.NamedByAddress() != k.NamedByAddress():
		return invalidAt("spec/identity", fmt.Sprintf("kind %s is registered with another one, and it never changes", k.GroupKind()))
	case ok && old.FleetLevel() != k.FleetLevel():
		return invalidAt("spec/level", fmt.Sprintf("kind %s is registered with another one, and it never changes", k.GroupKind()))
	}
	return nil
}
