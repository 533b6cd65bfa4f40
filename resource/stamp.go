package resource

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"driftless.dev/hlc"
)

// Point is a place in the fleet's order of writes: who wrote, and when. It
// names a record incarnation, a claim or a creation.
type Point struct {
	HLC    hlc.Timestamp
	Writer ID
}

// IsZero reports whether the point names nothing.
func (p Point) IsZero() bool { return p == Point{} }

// valid reports whether the point is whole or zero: half of one names nothing
// and has no text form.
func (p Point) valid() bool { return (p.HLC == 0) == p.Writer.IsZero() }

// Compare orders by HLC, then writer.
func (p Point) Compare(o Point) int {
	return cmp.Or(cmp.Compare(p.HLC, o.HLC), bytes.Compare(p.Writer[:], o.Writer[:]))
}

// String is "<hlc>@<writer>", or "" for the zero point.
func (p Point) String() string {
	if p.IsZero() {
		return ""
	}
	return p.HLC.String() + "@" + p.Writer.String()
}

// ParsePoint reads what String writes; "" is the zero point.
func ParsePoint(s string) (Point, error) {
	if s == "" {
		return Point{}, nil
	}
	h, w, ok := strings.Cut(s, "@")
	if !ok {
		return Point{}, fmt.Errorf("%w: point %.64q is not <hlc>@<writer>", ErrInvalid, s)
	}
	ts, err := hlc.Parse(h)
	if err != nil {
		return Point{}, fmt.Errorf("%w: point %.64q: %w", ErrInvalid, s, err)
	}
	id, err := ParseID(w)
	if err != nil {
		return Point{}, fmt.Errorf("point %.64q: %w", s, err)
	}
	return Point{HLC: ts, Writer: id}, nil
}

// MarshalText writes String's form.
func (p Point) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads String's form.
func (p *Point) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePoint(string(b))
	return err
}

// Epoch is a holder's fencing token: a number that each claim raises, and the
// claim that raised it, which tells concurrent claims of one number apart.
type Epoch struct {
	Number uint64
	Claim  Point
}

// IsZero reports whether nobody ever claimed.
func (e Epoch) IsZero() bool { return e == Epoch{} }

// Compare orders by number, then claim.
func (e Epoch) Compare(o Epoch) int {
	return cmp.Or(cmp.Compare(e.Number, o.Number), e.Claim.Compare(o.Claim))
}

// String is "<number>/<claim>", the form of the Driftless-Epoch header, or ""
// for the zero epoch.
func (e Epoch) String() string {
	if e.IsZero() {
		return ""
	}
	return strconv.FormatUint(e.Number, 10) + "/" + e.Claim.String()
}

// ParseEpoch reads what String writes; "" is the zero epoch.
func ParseEpoch(s string) (Epoch, error) {
	if s == "" {
		return Epoch{}, nil
	}
	n, claim, _ := strings.Cut(s, "/")
	number, err := strconv.ParseUint(n, 10, 64)
	p, err2 := ParsePoint(claim)
	e := Epoch{Number: number, Claim: p}
	if err != nil || err2 != nil || number == 0 || p.IsZero() || e.String() != s {
		return Epoch{}, fmt.Errorf("%w: epoch %.64q is not <number>/<hlc>@<writer>", ErrInvalid, s)
	}
	return e, nil
}

// MarshalText writes String's form.
func (e Epoch) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads String's form.
func (e *Epoch) UnmarshalText(b []byte) (err error) {
	*e, err = ParseEpoch(string(b))
	return err
}

// Stamp says who last wrote a register, when and with what standing. With the
// register's digest behind it, it is the key of the total order in which
// registers are joined (package resolve).
type Stamp struct {
	// Release counts the times a person gave the record back to automation.
	Release uint64
	Actor   Actor
	// Epoch is the holder's token that the write carried.
	Epoch Epoch
	HLC   hlc.Timestamp
	// Writer is the incarnation id of the node that took the write.
	Writer ID
}

// Point returns the (HLC, writer) part.
func (s Stamp) Point() Point { return Point{HLC: s.HLC, Writer: s.Writer} }

// IsZero reports whether the register was never written.
func (s Stamp) IsZero() bool { return s == Stamp{} }

// Compare is the order of desired and deletion: release, then person over
// automation, then epoch (a person's counts as zero: people need no token),
// then HLC, then writer.
func (s Stamp) Compare(o Stamp) int {
	return cmp.Or(
		cmp.Compare(s.Release, o.Release),
		cmp.Compare(s.rank(), o.rank()),
		s.comparedEpoch().Compare(o.comparedEpoch()),
		s.Point().Compare(o.Point()),
	)
}

// CompareObserved is the order of observed: provenance does not rank there, so
// that a controller may report on a record that a person holds.
func (s Stamp) CompareObserved(o Stamp) int {
	return cmp.Or(
		cmp.Compare(s.Release, o.Release),
		s.Epoch.Compare(o.Epoch),
		s.Point().Compare(o.Point()),
	)
}

func (s Stamp) rank() int {
	if s.Actor == Human {
		return 1
	}
	return 0
}

func (s Stamp) comparedEpoch() Epoch {
	if s.Actor == Human {
		return Epoch{}
	}
	return s.Epoch
}

// String returns the actor's text form.
func (a Actor) String() string {
	switch a {
	case Human:
		return "human"
	case System:
		return "system"
	default:
		return "agent"
	}
}

// ParseActor reads an actor's text form; "" is the agent.
func ParseActor(s string) (Actor, error) {
	switch s {
	case "human":
		return Human, nil
	case "system":
		return System, nil
	case "agent", "":
		return Agent, nil
	}
	return Agent, fmt.Errorf("%w: actor %q is not human, agent or system", ErrInvalid, s)
}

// Strength is how far a deletion request goes.
type Strength uint8

// A teardown leaves the record in place until Destroy raises it to a delete.
const (
	NoDeletion Strength = iota
	Teardown
	Delete
)

// String returns the strength's text form, "" for none.
func (s Strength) String() string {
	switch s {
	case Teardown:
		return "teardown"
	case Delete:
		return "delete"
	default:
		return ""
	}
}
