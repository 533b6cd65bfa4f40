package resource

import (
	"cmp"
	"fmt"
	"strings"
)

// Scope locates a resource on the instance, project, workspace axis. The zero
// Scope is global. Scope is comparable.
type Scope struct {
	Instance  string `json:"instance,omitempty"`
	Project   string `json:"project,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// GlobalRealm is the realm of records without a project. Every node holds it:
// kinds, members and policy live there.
const GlobalRealm = "_"

// globalScope is the text form of the zero Scope.
const globalScope = "global"

// Realm is the replication partition the scope falls in: its project, or
// GlobalRealm.
func (s Scope) Realm() string {
	if s.Project == "" {
		return GlobalRealm
	}
	return s.Project
}

// IsGlobal reports whether this is the zero scope.
func (s Scope) IsGlobal() bool { return s == Scope{} }

// Compare orders scopes by instance, project, workspace, bytewise; global is
// first.
func (s Scope) Compare(o Scope) int {
	return cmp.Or(
		strings.Compare(s.Instance, o.Instance),
		strings.Compare(s.Project, o.Project),
		strings.Compare(s.Workspace, o.Workspace),
	)
}

// String is the text form: "global", or "instance=i,project=p,workspace=w"
// with the empty parts left out.
func (s Scope) String() string {
	var parts []string
	for _, p := range []struct{ k, v string }{{"instance", s.Instance}, {"project", s.Project}, {"workspace", s.Workspace}} {
		if p.v != "" {
			parts = append(parts, p.k+"="+p.v)
		}
	}
	if len(parts) == 0 {
		return globalScope
	}
	return strings.Join(parts, ",")
}

// ParseScope reads the text form; keys may stand in any order, each once. The
// empty string is global.
func ParseScope(text string) (Scope, error) {
	var s Scope
	if text == "" || text == globalScope {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		k, v, ok := strings.Cut(part, "=")
		field := map[string]*string{"instance": &s.Instance, "project": &s.Project, "workspace": &s.Workspace}[k]
		switch {
		case !ok || field == nil:
			return Scope{}, fmt.Errorf("%w: scope %q: want global or instance=I,project=P,workspace=W", ErrInvalid, text)
		case *field != "":
			return Scope{}, fmt.Errorf("%w: scope %q: %s is given twice", ErrInvalid, text, k)
		case v == "":
			return Scope{}, fmt.Errorf("%w: scope %q: %s is empty", ErrInvalid, text, k)
		}
		*field = v
	}
	return s, s.Validate()
}

// Validate checks that every part is a legal name and that the project is not
// a word the system uses.
func (s Scope) Validate() error {
	for _, p := range [...]struct{ field, v string }{{"instance", s.Instance}, {"project", s.Project}, {"workspace", s.Workspace}} {
		if p.v == "" {
			continue
		}
		if err := ValidateName("scope."+p.field, p.v); err != nil {
			return err
		}
	}
	if s.Project == GlobalRealm {
		return fmt.Errorf("%w: scope.project %q is reserved for records without a project", ErrInvalid, s.Project)
	}
	return nil
}

// GroupKind is a kind name qualified by its API group: what a record's kind is
// inside, so that two groups may define one name.
type GroupKind struct{ Group, Kind string }

// String is "Kind.group", or "Kind" for the group without a name.
func (g GroupKind) String() string {
	if g.Group == "" {
		return g.Kind
	}
	return g.Kind + "." + g.Group
}

// Compare orders by text form.
func (g GroupKind) Compare(o GroupKind) int { return strings.Compare(g.String(), o.String()) }

// ParseGroupKind reads the text form.
func ParseGroupKind(s string) GroupKind {
	k, group, _ := strings.Cut(s, ".")
	return GroupKind{Group: group, Kind: k}
}

// SplitAPIVersion splits "group/version"; a version alone has the empty group.
func SplitAPIVersion(v string) (group, version string) {
	if g, ver, ok := strings.Cut(v, "/"); ok {
		return g, ver
	}
	return "", v
}

// Key addresses a resource by its logical coordinates. Kind is the qualified
// text form (GroupKind.String). Key is comparable.
type Key struct {
	Kind  string
	Scope Scope
	Name  string
}
