package manifest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// crdGroup is the API group of CustomResourceDefinitions.
const crdGroup = "apiextensions.k8s.io/"

// ImportCRD turns the JSON of an apiextensions.k8s.io/v1 CustomResourceDefinition
// into one document of kind Kind per served version, in the order of the
// versions. identity is that of the kinds, "name" or "unique": in Kubernetes a
// name is the identity, so "name" makes one record of a manifest that two nodes
// apply.
//
// The schema of spec becomes JSON Schema 2020-12 as convert says. Warnings name
// what the Kind does not check or keep. Errors: ErrNotCRD for any other document,
// *Error for a definition that is not one. The result is memory of its own.
func ImportCRD(doc []byte, identity string) (kinds [][]byte, warnings []string, err error) {
	value, err := strictJSON(doc)
	if err != nil {
		return nil, nil, err
	}
	fields, err := parseObject(value)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotCRD, err)
	}
	version, kind := text(fields, "apiVersion"), text(fields, "kind")
	switch {
	case kind != "CustomResourceDefinition" || !strings.HasPrefix(version, crdGroup):
		return nil, nil, fmt.Errorf("%w: %s of %s", ErrNotCRD, orNone(kind), orNone(version))
	case version != crdGroup+"v1":
		return nil, nil, fault("/apiVersion", "%s is not supported, convert the definition to %sv1", version, crdGroup)
	case identity != "name" && identity != "unique":
		return nil, nil, fmt.Errorf("identity %q is neither name nor unique", identity)
	}
	d, err := readDefinition(fields)
	if err != nil {
		return nil, nil, err
	}
	for i, v := range d.versions {
		kind, notes, err := d.kind(v, identity)
		if err != nil {
			return nil, nil, under("spec", under("versions", under(fmt.Sprint(i), err)))
		}
		if kind != nil {
			kinds = append(kinds, kind)
		}
		for _, note := range notes {
			warnings = append(warnings, d.recordName(text(v, "name"))+": "+note)
		}
	}
	if len(kinds) == 0 {
		return nil, nil, fault("/spec/versions", "no version is served")
	}
	return kinds, append(warnings, d.notes()...), nil
}

// definition is what a CRD says about all its versions.
type definition struct {
	group, name, singular, plural, level string // name is spec.names.kind
	spec, names                          object
	versions                             []object
}

// readDefinition reads the common part of a CRD.
func readDefinition(fields object) (*definition, error) {
	spec, err := parseObject(fields.get("spec"))
	if err != nil {
		return nil, under("spec", err)
	}
	names, err := parseObject(spec.get("names"))
	if err != nil {
		return nil, under("spec", under("names", err))
	}
	d := &definition{spec: spec, names: names, group: text(spec, "group"), name: text(names, "kind"),
		singular: text(names, "singular"), plural: text(names, "plural")}
	for _, field := range [][2]string{{"group", d.group}, {"names/kind", d.name}, {"names/plural", d.plural}} {
		if field[1] == "" {
			return nil, fault("/spec/"+field[0], "is missing")
		}
	}
	if d.singular == "" {
		d.singular = strings.ToLower(d.name)
	}
	switch scope := text(spec, "scope"); scope {
	case "Namespaced":
		d.level = "scoped"
	case "Cluster":
		d.level = "fleet"
	default:
		return nil, fault("/spec/scope", "%q is neither Namespaced nor Cluster", scope)
	}
	if d.versions, err = readVersions(spec.get("versions")); err != nil {
		return nil, under("spec", under("versions", err))
	}
	return d, nil
}

// readVersions reads the versions and checks that they have names of their own.
func readVersions(raw jsontext.Value) (versions []object, err error) {
	items, err := parseArray(raw)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, item := range items {
		v, err := parseObject(item)
		name := text(v, "name")
		if err == nil && name == "" {
			err = fault("/name", "is missing")
		}
		if err == nil && seen[name] {
			err = fault("/name", "%s is there twice", name)
		}
		if err != nil {
			return nil, under(fmt.Sprint(i), err)
		}
		seen[name] = true
		versions = append(versions, v)
	}
	return versions, nil
}

// recordName is the enforced name of a Kind.
func (d *definition) recordName(version string) string {
	return d.plural + "." + version + "." + d.group
}

// notes are the warnings that hold for all versions.
func (d *definition) notes() (out []string) {
	if conversion, err := parseObject(d.spec.get("conversion")); err == nil && text(conversion, "strategy") == "Webhook" {
		out = append(out, d.plural+"."+d.group+": the conversion webhook is not called; versions address the same record as it is stored")
	}
	return out
}

// text returns a member that is a string, "" otherwise.
func text(o object, name string) string {
	s, _ := unquote(o.get(name))
	return s
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
