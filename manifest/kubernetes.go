package manifest

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// lastApplied is where kubectl keeps its copy of what was applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// bookkeeping are the fields of metadata that a cluster writes for itself.
func isBookkeeping(name string) bool {
	switch name {
	case "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
		"deletionGracePeriodSeconds", "deletionTimestamp", "clusterName":
		return true
	}
	return false
}

// isOwn tells the fields of metadata that only driftless has.
func isOwn(name string) bool {
	switch name {
	case "scope", "owner", "validFrom", "validTo", "id", "digest", "version", "syncVersion", "contentHash", "specHash",
		"release", "epoch", "incarnation", "originInstance", "createdAt", "updatedAt", "deleted", "desired", "observed":
		return true
	}
	return false
}

// Normalize turns the JSON of a Kubernetes or driftless manifest into driftless
// form. Order, spec and every number stay as written.
//
//   - metadata.namespace becomes metadata.scope.project.
//   - What a cluster wrote for itself (uid, resourceVersion, managedFields, the
//     last-applied annotation, ...) is left out, with one warning that lists it.
//   - Owner references by uid are left out with a warning: the ids of a cluster
//     mean nothing here.
//   - status is left out with a warning, unless metadata has a field that only
//     driftless writes: then the manifest comes from here, and the server decides.
//
// Empty fields (creationTimestamp: null, status: {}) go without a word. Errors
// are *Error: no strict JSON; apiVersion, kind, or both name and generateName
// missing; a namespace against another scope.project; a top-level field outside
// metadata, spec and status (data, rules, webhooks, ...), which would be lost.
func Normalize(doc []byte) (out []byte, warnings []string, err error) {
	value, err := strictJSON(doc)
	if err != nil {
		return nil, nil, err
	}
	fields, err := parseObject(value)
	if err != nil {
		return nil, nil, err
	}
	if err := checkFields(fields); err != nil {
		return nil, nil, err
	}
	n := normalizer{}
	meta, err := parseObject(fields.get("metadata"))
	if err != nil {
		return nil, nil, under("metadata", err)
	}
	own := slices.ContainsFunc(meta, func(m member) bool { return isOwn(m.name) })
	if meta, err = n.metadata(meta, own); err != nil {
		return nil, nil, under("metadata", err)
	}
	fields = fields.set("metadata", meta.raw())
	if status := fields.get("status"); status != nil && (!own || isEmpty(status)) {
		if !isEmpty(status) {
			n.note("dropped /status: status is written by /status alone")
		}
		fields = fields.without("status")
	}
	return fields.raw(), n.all(), nil
}

// checkFields refuses a document that has no type, or content outside spec.
func checkFields(fields object) error {
	var outside []string
	for _, m := range fields {
		switch m.name {
		case "apiVersion", "kind":
			if text, ok := unquote(m.value); !ok || text == "" {
				return fault("/"+m.name, "want a text, have %s", kindName(m.value.Kind()))
			}
		case "metadata", "spec", "status":
		default:
			outside = append(outside, "/"+escapePointer(m.name))
		}
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if fields.get(name) == nil {
			return fault("/"+name, "is missing")
		}
	}
	switch len(outside) {
	case 0:
		return nil
	case 1:
		return fault("", "field %s is outside spec and status; driftless records keep their content in spec", outside[0])
	}
	return fault("", "fields %s are outside spec and status; driftless records keep their content in spec", strings.Join(outside, ", "))
}

// normalizer gathers what is left out.
type normalizer struct {
	dropped []string
	notes   []string
}

func (n *normalizer) note(text string) { n.notes = append(n.notes, text) }

// all returns the warnings, the list of dropped fields first.
func (n *normalizer) all() []string {
	if len(n.dropped) == 0 {
		return n.notes
	}
	return append([]string{"dropped cluster bookkeeping: " + strings.Join(n.dropped, ", ")}, n.notes...)
}

// metadata normalises the fields of metadata. own: the manifest is driftless's.
func (n *normalizer) metadata(meta object, own bool) (object, error) {
	var out object
	named := false
	for _, m := range meta {
		switch {
		case m.name == "namespace":
			continue
		case isBookkeeping(m.name) && !(own && m.name == "deletionTimestamp"):
			if !isEmpty(m.value) {
				n.dropped = append(n.dropped, "/metadata/"+m.name)
			}
			continue
		case m.name == "annotations":
			m.value = n.annotations(m.value)
		case m.name == "ownerReferences":
			m.value = n.owners(m.value)
		case m.name == "name", m.name == "generateName":
			text, ok := unquote(m.value)
			if !ok {
				return nil, fault("/"+m.name, "want a text, have %s", kindName(m.value.Kind()))
			}
			named = named || text != ""
		}
		if m.value != nil {
			out = append(out, m)
		}
	}
	if !named {
		return nil, fault("", "name or generateName is missing")
	}
	return scoped(out, meta.get("namespace"))
}

// annotations leaves out what kubectl wrote; nil if nothing else is there.
func (n *normalizer) annotations(raw jsontext.Value) jsontext.Value {
	fields, err := parseObject(raw)
	if err != nil || fields.get(lastApplied) == nil {
		return raw // not an object: the server says so
	}
	n.dropped = append(n.dropped, "/metadata/annotations/"+escapePointer(lastApplied))
	fields = fields.without(lastApplied)
	if len(fields) == 0 {
		return nil
	}
	return fields.raw()
}

// owners leaves out references by uid; nil if no other is there.
func (n *normalizer) owners(raw jsontext.Value) jsontext.Value {
	items, err := parseArray(raw)
	if err != nil || len(items) == 0 {
		return raw
	}
	kept := slices.DeleteFunc(slices.Clone(items), func(item jsontext.Value) bool {
		fields, err := parseObject(item)
		return err == nil && fields.get("uid") != nil
	})
	if len(kept) == len(items) {
		return raw
	}
	n.note("dropped /metadata/ownerReferences by uid: ids of a cluster mean nothing here")
	if len(kept) == 0 {
		return nil
	}
	return array(kept...)
}

// scoped puts a namespace into the scope.
func scoped(meta object, namespace jsontext.Value) (object, error) {
	if namespace == nil || namespace.Kind() == 'n' {
		return meta, nil
	}
	name, ok := unquote(namespace)
	if !ok {
		return nil, fault("/namespace", "want a text, have %s", kindName(namespace.Kind()))
	}
	if name == "" {
		return meta, nil
	}
	var scope object
	if raw := meta.get("scope"); raw != nil && raw.Kind() != 'n' {
		var err error
		if scope, err = parseObject(raw); err != nil {
			return nil, under("scope", err)
		}
	}
	if given := scope.get("project"); given != nil {
		if text, _ := unquote(given); text != name {
			return nil, fault("/namespace", "%q means scope.project, but that is %s", name, given)
		}
	}
	return meta.set("scope", scope.set("project", quote(name)).raw()), nil
}
