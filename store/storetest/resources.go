package storetest

import (
	"encoding/json"

	"driftless.dev/resource"
)

// The kinds that tests write: Skill is the common case, Slot is identified by
// its name, Site lives in the global scope only.
var (
	skillKind = resource.Kind{
		APIVersion: "skill.example.dev/v1", Name: "Skill", Singular: "skill", Plural: "skills", Aliases: []string{"sk"},
		Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer","minimum":0}}}`),
	}
	slotKind = resource.Kind{APIVersion: "slot.example.dev/v1", Name: "Slot", Plural: "slots", Identity: resource.IdentityName}
	siteKind = resource.Kind{APIVersion: "site.example.dev/v1", Name: "Site", Plural: "sites", Level: resource.LevelFleet}
)

func (n *node) applyKinds() {
	n.e.Helper()
	for _, k := range []resource.Kind{skillKind, slotKind, siteKind} {
		n.applyKind(k)
	}
}

func (n *node) applyKind(k resource.Kind) resource.Resource {
	n.e.Helper()
	return n.put(must(resource.KindResource(k, resource.Scope{}))(n.e))
}

// skill is a Skill in the global scope.
func skill(name, spec string) resource.Resource {
	r := resource.Resource{APIVersion: skillKind.APIVersion, Kind: "Skill", Name: name}
	if spec != "" {
		r.Spec = json.RawMessage(spec)
	}
	return r
}

func slot(name, spec string) resource.Resource {
	return resource.Resource{APIVersion: slotKind.APIVersion, Kind: "Slot", Name: name, Spec: json.RawMessage(spec)}
}

// with returns a changed copy.
func with(r resource.Resource, change func(*resource.Resource)) resource.Resource {
	change(&r)
	return r
}

func finalizers(r resource.Resource, keys ...string) resource.Resource {
	r.Finalizers = keys
	return r
}

func in(s resource.Scope, r resource.Resource) resource.Resource {
	r.Scope = s
	return r
}

func status(r resource.Resource, status string) resource.Resource {
	r.Status = json.RawMessage(status)
	return r
}
