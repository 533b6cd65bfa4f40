package resource

import (
	"crypto/sha256"
	"fmt"

	"github.com/oklog/ulid/v2"

	"driftless.dev/pack"
)

// ID is 16 bytes that name a record, an instance or an incarnation; people see
// its 26 Crockford characters. The zero ID names nothing.
type ID [16]byte

// String returns the 26 upper-case Crockford characters, or "" for the zero ID.
func (id ID) String() string {
	if id == (ID{}) {
		return ""
	}
	return ulid.ULID(id).String()
}

// IsZero reports whether the ID names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads what String writes, in that one spelling.
func ParseID(s string) (ID, error) {
	u, err := ulid.ParseStrict(s)
	if err != nil || ID(u).String() != s {
		return ID{}, fmt.Errorf("%w: id %.64q is not 26 upper-case Crockford characters", ErrInvalid, s)
	}
	return ID(u), nil
}

// nameIDTag separates ids derived from names from every other hash.
const nameIDTag = "driftless-id/1"

// NameID is the id of a record whose kind has identity "name": a function of
// its address, so that two nodes which create it apart create the same record.
func NameID(kind GroupKind, scope Scope, name string) ID {
	b := pack.AppendArray(make([]byte, 0, 256), 7)
	for _, s := range [...]string{nameIDTag, kind.Group, kind.Kind, scope.Instance, scope.Project, scope.Workspace, name} {
		b = pack.AppendText(b, s)
	}
	sum := sha256.Sum256(b)
	return ID(sum[:16])
}
