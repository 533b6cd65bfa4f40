package resource

import (
	"crypto/sha256"
	"encoding/hex"

	"driftless.dev/pack"
)

// Tags that separate the two content hashes from every other hash.
const (
	contentTag = "driftless-content/1"
	specTag    = "driftless-spec/1"
)

// Hash returns the hex SHA-256 of the resource's canonical content: apiVersion,
// kind, name, scope, labels, annotations, spec, status digest, valid-time and
// the tombstone flag; not its id, versions, clocks, times, actor, finalizers
// or owners. Two records may share a hash: it is no record key (Digest is).
func Hash(r Resource) (string, error) {
	content, _, err := Hashes(r)
	return content, err
}

// SpecHash returns the hex SHA-256 of apiVersion, kind and spec alone: what a
// controller compares to see whether there is new work.
func SpecHash(r Resource) (string, error) {
	_, spec, err := Hashes(r)
	return spec, err
}

// Hashes returns Hash and SpecHash, canonicalising spec and status once.
func Hashes(r Resource) (content, spec string, err error) {
	if r.Spec, err = canonicalOrNil("spec", r.Spec); err != nil {
		return "", "", err
	}
	if r.Status, err = canonicalOrNil("status", r.Status); err != nil {
		return "", "", err
	}
	c, s := hashes(&r)
	return hex.EncodeToString(c[:]), hex.EncodeToString(s[:]), nil
}

// hashes wants spec and status canonical.
func hashes(r *Resource) (content, spec [32]byte) {
	var room [1024]byte
	b := pack.AppendArray(room[:0], 14)
	for _, s := range [...]string{contentTag, r.APIVersion, r.Kind, r.Name, r.Scope.Instance, r.Scope.Project, r.Scope.Workspace} {
		b = pack.AppendText(b, s)
	}
	b = appendMap(b, r.Labels)
	b = appendMap(b, r.Annotations)
	b = pack.AppendBin(b, r.Spec)
	if r.Status == nil {
		b = pack.AppendNil(b)
	} else {
		sum := sha256.Sum256(r.Status)
		b = pack.AppendBin(b, sum[:])
	}
	b = pack.AppendText(b, formatTime(r.ValidFrom))
	b = pack.AppendText(b, formatTime(r.ValidTo))
	b = pack.AppendBool(b, r.Deleted)
	content = sha256.Sum256(b)

	b = pack.AppendArray(b[:0], 4)
	for _, s := range [...]string{specTag, r.APIVersion, r.Kind} {
		b = pack.AppendText(b, s)
	}
	b = pack.AppendBin(b, r.Spec)
	return content, sha256.Sum256(b)
}
