package fleet

import "time"

// List is how every listing is answered.
type List[T any] struct {
	Items []T `json:"items"`
	// Continue asks for the next page; empty on the last.
	Continue string `json:"continue"`
	// Truncated says that a listing which cannot be continued was cut at its
	// limit.
	Truncated bool `json:"truncated,omitempty"`
}

// Key is a record's address: its kind as Kind.group, its scope in text form.
type Key struct {
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
}

// Quarantined is a record that was refused and kept, with its source and the
// reason. What it claims to be is shown only as far as it could be read.
type Quarantined struct {
	From   string    `json:"from"`
	Reason string    `json:"reason"`
	HLC    string    `json:"hlc"`
	At     time.Time `json:"at"`
	Size   int       `json:"size"`
	ID     string    `json:"id,omitempty"`
	Kind   string    `json:"kind,omitempty"`
	Scope  string    `json:"scope,omitempty"`
	Name   string    `json:"name,omitempty"`
}

// Further stable codes.
const (
	// CodeMethod is a method that the path does not have.
	CodeMethod = "method_not_allowed"
	// CodeDamaged is a stored value that does not pass its checksum.
	CodeDamaged = "damaged"
	// CodeExpired is a position of the log that was trimmed, or of another log:
	// the reader starts over.
	CodeExpired = "expired"
)
