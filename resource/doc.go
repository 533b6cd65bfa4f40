// Package resource is the record that a fleet agrees on: typed, versioned,
// schema-validated, Kubernetes-shaped.
//
// It has two forms. A Resource is what programs and people read and write. A
// Record is what nodes store, join and ship: an identity block and four
// registers (desired, deletion, observed, finalizers), each written and joined
// on its own, each with the stamp of its last write. A Resource is a pure
// function of a Record (Record.Resource); equal records give equal resources,
// digests and bytes on every node.
//
// The package is pure: no clock, no randomness, no I/O.
package resource
