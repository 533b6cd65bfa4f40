package resource

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Validate checks everything that can be judged of the kind alone, save its
// schema, which Registry.Check compiles.
func (k Kind) Validate() error {
	group, version := SplitAPIVersion(k.APIVersion)
	if group != "" || strings.Contains(k.APIVersion, "/") {
		if p := content.IsDNS1123Subdomain(group); len(p) > 0 {
			return invalidAt("spec/apiVersion", fmt.Sprintf("group %.64q: %s", group, p[0]))
		}
	}
	if p := content.IsDNS1123Label(version); len(p) > 0 {
		return invalidAt("spec/apiVersion", fmt.Sprintf("version %.64q: %s", version, p[0]))
	}
	// A kind name is a label in CamelCase: no dot, which sets off the group.
	if p := content.IsDNS1123Label(strings.ToLower(k.Name)); len(p) > 0 {
		return invalidAt("spec/name", fmt.Sprintf("%.64q: %s", k.Name, p[0]))
	}
	if err := k.validateWords(); err != nil {
		return err
	}
	if !slices.Contains([]Identity{"", IdentityUnique, IdentityName}, k.Identity) {
		return invalidAt("spec/identity", fmt.Sprintf("%.64q is not unique or name", k.Identity))
	}
	if !slices.Contains([]Level{"", LevelScoped, LevelFleet}, k.Level) {
		return invalidAt("spec/level", fmt.Sprintf("%.64q is not scoped or fleet", k.Level))
	}
	if err := k.DefaultScope.Validate(); err != nil {
		return fmt.Errorf("spec/defaultScope: %w", err)
	}
	if k.FleetLevel() && !k.DefaultScope.IsGlobal() {
		return invalidAt("spec/defaultScope", "a kind of level fleet has the global scope only")
	}
	if err := k.validateColumns(); err != nil {
		return err
	}
	return ValidateName("metadata/name", k.RecordName())
}

func (k Kind) validateWords() error {
	words := append([]string{k.Singular, k.Plural}, k.Aliases...)
	for i, word := range words {
		field := fmt.Sprintf("spec/aliases/%d", i-2)
		if i < 2 {
			field = [...]string{"spec/singular", "spec/plural"}[i]
			if word == "" {
				continue
			}
		}
		if p := content.IsDNS1123Label(word); len(p) > 0 {
			return invalidAt(field, fmt.Sprintf("%.64q: %s", word, p[0]))
		}
		if i >= 2 && slices.Contains(words[2:i], word) {
			return invalidAt(field, fmt.Sprintf("%q is given twice", word))
		}
	}
	return nil
}

func (k Kind) validateColumns() error {
	types := []string{"", "string", "integer", "number", "boolean", "date"}
	for i, c := range k.PrintColumns {
		field := fmt.Sprintf("spec/printColumns/%d", i)
		switch {
		case c.Name == "" || strings.ContainsFunc(c.Name, isControl):
			return invalidAt(field+"/name", "is empty or holds a control character")
		case !strings.HasPrefix(c.JSONPath, "."):
			return invalidAt(field+"/jsonPath", fmt.Sprintf("%.64q does not begin with '.', as .spec.size does", c.JSONPath))
		case !slices.Contains(types, c.Type):
			return invalidAt(field+"/type", fmt.Sprintf("%.64q is not one of %s", c.Type, strings.Join(types[1:], ", ")))
		}
	}
	return nil
}
