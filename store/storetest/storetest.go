// Package storetest is the conformance suite of the store, made executable:
// one test per rule, named by it, run against every backend alike. After each
// test the whole store is checked against its log, and again after a reopen.
//
// Tests begin with the promise (P1 to P12) that they hold, where they hold one.
package storetest

import (
	"slices"
	"testing"

	"driftless.dev/store"
)

// Backend is what the suite is run against.
type Backend struct {
	Name string
	// Open opens an empty store. The suite closes it.
	Open func(t testing.TB, cfg store.Config) *store.Store
	// Reopen closes s and opens what it stored, under another Config; nil when
	// nothing survives a Close.
	Reopen func(t testing.TB, s *store.Store, cfg store.Config) *store.Store
}

// test is one rule.
type test struct {
	name string
	run  func(*env)
}

// Run holds a backend against the contract.
func Run(t *testing.T, b Backend) {
	for _, c := range slices.Concat(
		identityTests, admissionTests, putTests, casTests, readTests, deletionTests, teardownTests,
		ownerTests, kindTests, hashTests, eventTests, updateTests, clockTests, batchTests,
		mergeTests, joinTests, vectorTests, collectTests, rankTests, nameTests, parkedTests, snapshotTests,
		quarantineTests, ledgerTests, lossTests, modelTests,
	) {
		t.Run(c.name, func(t *testing.T) { c.run(&env{T: t, backend: b}) })
	}
}
