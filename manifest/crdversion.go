package manifest

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// kind makes the Kind of one version; nil if the version is not served.
func (d *definition) kind(v object, identity string) ([]byte, []string, error) {
	version := text(v, "name")
	if !isTrue(v.get("served")) {
		return nil, []string{"not imported, it is not served"}, nil
	}
	schema, notes, err := specSchema(v)
	if err != nil {
		return nil, nil, err
	}
	spec := object{
		{"apiVersion", quote(d.group + "/" + version)},
		{"name", quote(d.name)}, {"singular", quote(d.singular)}, {"plural", quote(d.plural)},
	}
	if aliases := d.names.get("shortNames"); !isEmpty(aliases) {
		spec = append(spec, member{"aliases", aliases})
	}
	if schema != nil {
		spec = append(spec, member{"schema", schema})
	}
	spec = append(spec, member{"identity", quote(identity)}, member{"level", quote(d.level)})
	columns, err := printColumns(v.get("additionalPrinterColumns"))
	if err != nil {
		return nil, nil, under("additionalPrinterColumns", err)
	}
	if columns != nil {
		spec = append(spec, member{"printColumns", columns})
	}
	doc := object{
		{"apiVersion", quote("core.driftless.dev/v1alpha1")},
		{"kind", quote("Kind")},
		{"metadata", object{{"name", quote(d.recordName(version))}}.raw()},
		{"spec", spec.raw()},
	}
	return doc.raw(), append(notes, versionNotes(v)...), nil
}

// versionNotes names what a version has and a Kind has no place for.
func versionNotes(v object) (out []string) {
	if subresources, err := parseObject(v.get("subresources")); err == nil && subresources.get("scale") != nil {
		out = append(out, "the scale subresource is not kept")
	}
	if !isEmpty(v.get("selectableFields")) {
		out = append(out, "selectableFields are not kept")
	}
	if isTrue(v.get("deprecated")) {
		out = append(out, "this version is deprecated")
	}
	return out
}

// printColumns keeps name, path and type of each column. Two paths mean fields
// that have another name here.
func printColumns(raw jsontext.Value) (jsontext.Value, error) {
	if isEmpty(raw) {
		return nil, nil
	}
	items, err := parseArray(raw)
	if err != nil {
		return nil, err
	}
	columns := make([]jsontext.Value, len(items))
	for i, item := range items {
		fields, err := parseObject(item)
		if err != nil {
			return nil, under(fmt.Sprint(i), err)
		}
		path := text(fields, "jsonPath")
		switch path {
		case ".metadata.creationTimestamp":
			path = ".metadata.createdAt"
		case ".metadata.namespace":
			path = ".metadata.scope.project"
		}
		column := object{{"name", quote(text(fields, "name"))}, {"jsonPath", quote(path)}}
		if kind := text(fields, "type"); kind != "" {
			column = append(column, member{"type", quote(kind)})
		}
		columns[i] = column.raw()
	}
	return array(columns...), nil
}
