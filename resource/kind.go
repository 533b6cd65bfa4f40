package resource

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// CoreGroupVersion is the API version of the kinds that come with the system.
const CoreGroupVersion = "core.driftless.dev/v1alpha1"

// Names of the core kinds. KindKind is the kind that describes kinds, itself
// included, which makes the type system data.
const (
	KindKind   = "Kind"
	MemberKind = "Member"
	PolicyKind = "Policy"
)

// Identity is how a kind's records get their ids.
type Identity string

// The identities. The zero value is IdentityUnique.
const (
	// IdentityUnique mints an id on create: one name created apart twice is
	// two records.
	IdentityUnique Identity = "unique"
	// IdentityName derives the id from the address (NameID): one name created
	// apart twice is one record, merged.
	IdentityName Identity = "name"
)

// Level is where a kind's records may live.
type Level string

// The levels. The zero value is LevelScoped.
const (
	LevelScoped Level = "scoped" // any scope
	LevelFleet  Level = "fleet"  // the global scope only
)

// PrintColumn is a column of a kind's table form.
type PrintColumn struct {
	Name     string `json:"name"`
	JSONPath string `json:"jsonPath"`
	// Type is string (also when empty), integer, number, boolean or date.
	Type string `json:"type,omitzero"`
}

// Kind describes one served version of a resource kind. It is the spec of a
// resource of kind Kind.
type Kind struct {
	// APIVersion is the group and version of the kind's resources,
	// "skill.example.dev/v1".
	APIVersion string `json:"apiVersion"`
	Name       string `json:"name"`
	// Singular, Plural and Aliases are further words for the kind.
	Singular string   `json:"singular,omitzero"`
	Plural   string   `json:"plural,omitzero"`
	Aliases  []string `json:"aliases,omitempty"`
	// Schema is the JSON Schema of Spec; nil admits anything.
	Schema json.RawMessage `json:"schema,omitzero"`
	// Identity and Level never change.
	Identity Identity `json:"identity,omitzero"`
	Level    Level    `json:"level,omitzero"`
	// DefaultScope is used when a command or a handle names none.
	DefaultScope Scope         `json:"defaultScope,omitzero"`
	PrintColumns []PrintColumn `json:"printColumns,omitempty"`
}

// GroupKind is what the kind is across its versions.
func (k Kind) GroupKind() GroupKind {
	group, _ := SplitAPIVersion(k.APIVersion)
	return GroupKind{Group: group, Kind: k.Name}
}

// RecordName is the name that the kind's own record must have:
// "skills.v1.skill.example.dev", so that one version of one kind is one record
// on every node.
func (k Kind) RecordName() string {
	word := k.Plural
	if word == "" {
		word = strings.ToLower(k.Name)
	}
	group, version := SplitAPIVersion(k.APIVersion)
	if group == "" {
		return word + "." + version
	}
	return word + "." + version + "." + group
}

// NamedByAddress reports whether ids derive from addresses (IdentityName).
func (k Kind) NamedByAddress() bool { return k.Identity == IdentityName }

// FleetLevel reports whether records live in the global scope only.
func (k Kind) FleetLevel() bool { return k.Level == LevelFleet }

// clone returns a copy that shares no memory.
func (k Kind) clone() Kind {
	k.Aliases = slices.Clone(k.Aliases)
	k.Schema = slices.Clone(k.Schema)
	k.PrintColumns = slices.Clone(k.PrintColumns)
	return k
}

// KindResource renders a kind as the resource that describes it, leaving empty
// optional fields out. The scope must be global: a kind is the fleet's.
func KindResource(k Kind, scope Scope) (Resource, error) {
	if !scope.IsGlobal() {
		return Resource{}, invalidAt("metadata/scope", fmt.Sprintf("%s: a kind lives in the global scope", scope))
	}
	if err := k.Validate(); err != nil {
		return Resource{}, err
	}
	if len(k.Schema) == 0 {
		k.Schema = nil
	}
	spec, err := EncodeSpec(k)
	if err != nil {
		return Resource{}, err
	}
	return Resource{APIVersion: CoreGroupVersion, Kind: KindKind, Name: k.RecordName(), Spec: spec}, nil
}

// KindFromResource reads the kind that a resource of kind Kind describes. A
// field that it does not know, or a name other than RecordName, is ErrInvalid.
func KindFromResource(r Resource) (Kind, error) {
	if (r.GroupKind() != GroupKind{Group: "core.driftless.dev", Kind: KindKind}) {
		return Kind{}, invalidAt("kind", fmt.Sprintf("%s is not the kind Kind", r.GroupKind()))
	}
	var k Kind
	if err := jsonv2.Unmarshal(r.Spec, &k, typedOptions, jsonv2.RejectUnknownMembers(true)); err != nil {
		return Kind{}, invalidJSON("spec", err)
	}
	if err := k.Validate(); err != nil {
		return Kind{}, err
	}
	if r.Name != k.RecordName() || !r.Scope.IsGlobal() {
		return Kind{}, invalidAt("metadata/name", fmt.Sprintf("%.64q: the record of this kind is named %q, in the global scope", r.Name, k.RecordName()))
	}
	return k, nil
}
