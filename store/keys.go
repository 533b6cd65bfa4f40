package store

import (
	"encoding/binary"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// What is on disk, drawn once. Every value is framed (frame.go); every payload
// is a pack array that begins with a version.
//
//	meta        name                                   → head, identity, cursors, prev/<realm>, floor/<incarnation>, own/<incarnation>
//	vector      incarnation                            → (originSeq, HLC, hash)
//	log         seq                                    → entry: event or merged post-image
//	records     realm 0 k8 id                          → (seq, digest, record)
//	ids         id                                     → realm
//	names       kind 0 instance 0 project 0 workspace 0 name 0 id → (live, creation)
//	ledger      id register point                      → version that lost
//	quarantine  digest                                 → bytes that were refused, source, reason
//	snapshots   seq chunk                              → records
//	tombstones  id                                     → nothing: what a floor may free
//
// Numbers in keys are 8 bytes big-endian, so byte order is their order. No
// name or scope part holds a zero byte (resource.ValidateName), so a zero ends
// each text. records is in the trie's leaf order: a leaf scan is a prefix
// scan.
const (
	metaHead     = "head"
	metaIdentity = "identity"
	metaCursor   = "cursor/"
	metaPrev     = "prev/"
	metaFloor    = "floor/"
	metaOwn      = "own/"
	metaRejoin   = "rejoin"
	metaIndexed  = "tombstones-indexed"
)

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), seq) }

func recordKey(realm string, place merkle.Key, id resource.ID) []byte {
	k := make([]byte, 0, len(realm)+1+8+16)
	k = append(append(k, realm...), 0)
	k = binary.BigEndian.AppendUint64(k, uint64(place))
	return append(k, id[:]...)
}

// splitRecordKey is recordKey's inverse; ok is false for a key of another
// shape.
func splitRecordKey(k []byte) (realm string, place merkle.Key, id resource.ID, ok bool) {
	n := len(k) - 1 - 8 - 16
	if n <= 0 || k[n] != 0 {
		return "", 0, resource.ID{}, false
	}
	copy(id[:], k[n+9:])
	return string(k[:n]), merkle.Key(binary.BigEndian.Uint64(k[n+1:])), id, true
}

func kindPrefix(kind resource.GroupKind) []byte { return append([]byte(kind.String()), 0) }

func scopePrefix(kind resource.GroupKind, s resource.Scope) []byte {
	k := kindPrefix(kind)
	for _, part := range [...]string{s.Instance, s.Project, s.Workspace} {
		k = append(append(k, part...), 0)
	}
	return k
}

func namePrefix(kind resource.GroupKind, s resource.Scope, name string) []byte {
	return append(append(scopePrefix(kind, s), name...), 0)
}

func nameKey(r *resource.Record) []byte {
	return append(namePrefix(r.Kind, r.Scope, r.Name), r.ID[:]...)
}

// splitNameKey is nameKey's inverse.
func splitNameKey(k []byte) (kind string, scope resource.Scope, name string, id resource.ID, ok bool) {
	if len(k) < 16 {
		return "", scope, "", id, false
	}
	copy(id[:], k[len(k)-16:])
	rest := k[:len(k)-16]
	var parts [5]string
	for i := range parts {
		n := indexZero(rest)
		if n < 0 {
			return "", scope, "", id, false
		}
		parts[i], rest = string(rest[:n]), rest[n+1:]
	}
	scope = resource.Scope{Instance: parts[1], Project: parts[2], Workspace: parts[3]}
	return parts[0], scope, parts[4], id, len(rest) == 0
}

func indexZero(b []byte) int {
	for i, c := range b {
		if c == 0 {
			return i
		}
	}
	return -1
}

func ledgerKey(id resource.ID, register string, p resource.Point) []byte {
	k := append(make([]byte, 0, 16+len(register)+1+8+16), id[:]...)
	k = append(append(k, register...), 0)
	k = binary.BigEndian.AppendUint64(k, uint64(p.HLC))
	return append(k, p.Writer[:]...)
}
