// Package wire is what crosses the network: the subjects that messages travel
// under and the bytes in them. Every message is one canonical pack array in a
// fixed field order, a version first and the fleet's id second, so that what
// belongs to another fleet, or to a later protocol, is refused before anything
// else of it is believed.
//
// Decoded messages alias the bytes they were read from.
package wire

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"driftless.dev/pack"
)

// Version is the protocol's. A message of another one is refused; within one,
// later releases may append fields, which earlier ones skip.
const Version = 2

// Sentinels of the moment a message is read.
var (
	// ErrFleet is returned for a message of another fleet: another name, or
	// another secret.
	ErrFleet = errors.New("message of another fleet")
	// ErrVersion is returned for a message of another protocol version.
	ErrVersion = errors.New("message of another protocol version")
)

// Fleet is what makes nodes one fleet: its id goes into every message, its key
// places records in the Merkle trie. Both are functions of name and secret, so
// nothing is minted and a node may start cut off from the others.
type Fleet struct {
	Name string
	ID   [16]byte
	Key  [32]byte
}

// NewFleet derives a fleet's id and key by HKDF-SHA-256. An empty secret is
// usable; then whoever knows the name can place ids at will.
func NewFleet(name string, secret []byte) (Fleet, error) {
	f := Fleet{Name: name}
	for _, p := range [...]struct {
		info string
		out  []byte
	}{{"driftless-fleet-id/1", f.ID[:]}, {"driftless-fleet-key/1", f.Key[:]}} {
		b, err := hkdf.Key(sha256.New, secret, []byte(name), p.info, len(p.out))
		if err != nil {
			return Fleet{}, fmt.Errorf("derive fleet key: %w", err)
		}
		copy(p.out, b)
	}
	return f, nil
}

// begin appends the head of a message of n fields beyond version and fleet.
func (f *Fleet) begin(b []byte, n int) []byte {
	b = pack.AppendArray(b, n+2)
	b = pack.AppendUint(b, Version)
	return pack.AppendBin(b, f.ID[:])
}

// message is a message being read; later counts the fields at its end that
// this release does not know.
type message struct {
	*pack.Reader
	later int
}

// maxLater bounds them.
const maxLater = 16

// open reads the head of a message of n fields beyond version and fleet.
func (f *Fleet) open(data []byte, n int) (*message, error) {
	r := &message{Reader: pack.NewReader(data)}
	fields, version := r.Array(), r.Uint()
	if r.Err() == nil && version != Version {
		return nil, fmt.Errorf("%w: %d, this node speaks %d", ErrVersion, version, Version)
	}
	var id [16]byte
	r.Fixed(id[:])
	if r.Err() == nil && id != f.ID {
		return nil, fmt.Errorf("%w: this node is in %q", ErrFleet, f.Name)
	}
	if r.later = fields - n - 2; r.Err() == nil && (r.later < 0 || r.later > maxLater) {
		r.Fail("message of %d fields", fields)
	}
	return r, r.Err()
}

func closed(what string, r *message) error {
	for range r.later {
		r.Raw()
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("decode %s: %w", what, err)
	}
	return nil
}
