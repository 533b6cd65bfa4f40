package wire

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"driftless.dev/resource"
)

// ErrSubject is returned for a subject that this version would not have made,
// and for a name that no subject can be made of.
var ErrSubject = errors.New("subject invalid")

// MaxFleet bounds a fleet's name, which stands in stream names and subjects.
const MaxFleet = 32

// Subjects names everything that one fleet puts on the transport. It is the
// only place that makes or reads a subject:
//
//	driftless.<fleet>.ev.<realm>.<origin>      events, kept by the stream
//	driftless.<fleet>.hb.<origin>              heartbeats
//	driftless.<fleet>.rpc.<instance>.<verb>    requests to one instance
//
// Its values are comparable and safe for concurrent use. The zero value names
// nothing; use NewSubjects.
type Subjects struct{ fleet string }

// NewSubjects returns the subjects of a fleet, or ErrSubject when the name does
// not pass ValidateFleet.
func NewSubjects(fleet string) (Subjects, error) {
	if err := ValidateFleet(fleet); err != nil {
		return Subjects{}, err
	}
	return Subjects{fleet: fleet}, nil
}

// ValidateFleet reports, as an ErrSubject, why a fleet cannot have this name: it
// is 1 to 32 ASCII letters, digits, '-' or '_', since it is used as written.
func ValidateFleet(fleet string) error {
	if fleet == "" || len(fleet) > MaxFleet {
		return fmt.Errorf("%w: fleet name %q has %d characters, want 1 to %d", ErrSubject, fleet, len(fleet), MaxFleet)
	}
	for _, c := range []byte(fleet) {
		if !plain(c) && (c < 'A' || c > 'Z') {
			return fmt.Errorf("%w: fleet name %q may have letters, digits, '-' and '_' only", ErrSubject, fleet)
		}
	}
	return nil
}

// Stream is the name of the fleet's event stream.
func (s Subjects) Stream() string { return "DRIFTLESS_" + s.fleet }

// EventsFilter matches every event subject of the fleet, and nothing else.
func (s Subjects) EventsFilter() string { return s.prefix("ev") + ">" }

// Event is where events of one realm written by one incarnation go.
func (s Subjects) Event(realm string, origin resource.ID) string {
	return s.prefix("ev") + Token(realm) + "." + origin.String()
}

// ParseEvent reads what Event writes.
func (s Subjects) ParseEvent(subject string) (realm string, origin resource.ID, err error) {
	first, second, err := s.split(subject, "ev")
	if err != nil {
		return "", resource.ID{}, err
	}
	if realm, err = ParseToken(first); err != nil {
		return "", resource.ID{}, fmt.Errorf("realm of %q: %w", subject, err)
	}
	if origin, err = parseID(second); err != nil {
		return "", resource.ID{}, fmt.Errorf("origin of %q: %w", subject, err)
	}
	return realm, origin, nil
}

// HeartbeatFilter matches every heartbeat subject of the fleet.
func (s Subjects) HeartbeatFilter() string { return s.prefix("hb") + "*" }

// Heartbeat is where one incarnation's heartbeats go.
func (s Subjects) Heartbeat(origin resource.ID) string { return s.prefix("hb") + origin.String() }

// ParseHeartbeat reads what Heartbeat writes.
func (s Subjects) ParseHeartbeat(subject string) (resource.ID, error) {
	token, ok := strings.CutPrefix(subject, s.prefix("hb"))
	if !ok {
		return resource.ID{}, fmt.Errorf("%w: %q is not a heartbeat of fleet %s", ErrSubject, subject, s.fleet)
	}
	return parseID(token)
}

// RPC is where requests with one verb to one instance go.
func (s Subjects) RPC(instance resource.ID, verb string) string {
	return s.prefix("rpc") + instance.String() + "." + Token(verb)
}

// RPCFilter matches the requests to one instance, whatever their verb.
func (s Subjects) RPCFilter(instance resource.ID) string {
	return s.prefix("rpc") + instance.String() + ".*"
}

// ParseRPC reads what RPC writes.
func (s Subjects) ParseRPC(subject string) (instance resource.ID, verb string, err error) {
	first, second, err := s.split(subject, "rpc")
	if err != nil {
		return resource.ID{}, "", err
	}
	if instance, err = parseID(first); err != nil {
		return resource.ID{}, "", fmt.Errorf("instance of %q: %w", subject, err)
	}
	if verb, err = ParseToken(second); err != nil {
		return resource.ID{}, "", fmt.Errorf("verb of %q: %w", subject, err)
	}
	return instance, verb, nil
}

func (s Subjects) prefix(part string) string { return "driftless." + s.fleet + "." + part + "." }

// split cuts the two tokens behind a prefix apart. More dots than one are left
// in the second token, which then does not parse.
func (s Subjects) split(subject, part string) (first, second string, err error) {
	rest, ok := strings.CutPrefix(subject, s.prefix(part))
	if ok {
		first, second, ok = strings.Cut(rest, ".")
	}
	if !ok {
		return "", "", fmt.Errorf("%w: %q is not a %s subject of fleet %s", ErrSubject, subject, part, s.fleet)
	}
	return first, second, nil
}

// parseID accepts only the spelling String writes; the zero ID has none.
func parseID(token string) (resource.ID, error) {
	id, err := resource.ParseID(token)
	if err != nil {
		return resource.ID{}, fmt.Errorf("%w: %w", ErrSubject, err)
	}
	return id, nil
}

const (
	// maxReadable is the longest text that stands in a token as it is.
	maxReadable = 64
	// encodedMark begins every encoded token. It is not a readable character,
	// so no text reads like the encoding of another.
	encodedMark = '='
)

// tokenEncoding has no '.', '*', '>', white space, nor two letters that a
// case-insensitive file system would confuse.
var tokenEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// Token turns any text into one subject token, and different texts into
// different tokens. Short plain text ([a-z0-9_-], 1 to 64) stands as it is, so
// that people can read subjects and write permissions; all else is encoded. A
// realm of 253 bytes becomes 406 characters, a tenth of what the server's
// control line holds: a longer line would close the connection for good.
func Token(text string) string {
	if readable(text) {
		return text
	}
	return string(encodedMark) + strings.ToLower(tokenEncoding.EncodeToString([]byte(text)))
}

// ParseToken reads what Token writes, in that one spelling, or returns
// ErrSubject.
func ParseToken(token string) (string, error) {
	if readable(token) {
		return token, nil
	}
	if token == "" || token[0] != encodedMark {
		return "", fmt.Errorf("%w: token %q is neither plain nor encoded", ErrSubject, token)
	}
	raw, err := tokenEncoding.DecodeString(strings.ToUpper(token[1:]))
	if err != nil || Token(string(raw)) != token {
		return "", fmt.Errorf("%w: token %q is not in its canonical spelling", ErrSubject, token)
	}
	return string(raw), nil
}

func readable(text string) bool {
	if text == "" || len(text) > maxReadable {
		return false
	}
	for _, c := range []byte(text) {
		if !plain(c) {
			return false
		}
	}
	return true
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
