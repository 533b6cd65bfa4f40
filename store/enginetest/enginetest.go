// Package enginetest is the contract of store.Engine, made executable. Every
// engine runs it.
package enginetest

import (
	"testing"

	"driftless.dev/store"
)

// Open returns an empty engine, and a function that opens an engine over what
// the last one committed, after that was closed. The suite closes what it is
// given.
type Open func(t *testing.T) (engine store.Engine, reopen func() store.Engine)

// Run holds the engines that open returns against the contract.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *harness){
		"Get/AbsentIsNilAndEmptyIsNot":   testGet,
		"Put/RefusesUnusableKeys":        testUnusableKeys,
		"Put/KeepsItsOwnCopies":          testCopies,
		"Delete/AbsentIsNoError":         testDelete,
		"Ascend/BeginsAtOrAfterFrom":     testAscend,
		"Ascend/RefusesWritesInside":     testWriteInsideAscend,
		"Last/IsTheHighestKey":           testLast,
		"Last/OfWhatAnUpdateEmptied":     testEmptied,
		"Update/ReadsItsOwnWrites":       testOwnWrites,
		"Update/IsUndoneByAnError":       testRollback,
		"Update/IsUndoneByAPanic":        testPanic,
		"Update/OneAtATime":              testSerialised,
		"View/DoesNotSeeAnOpenUpdate":    testIsolation,
		"View/IsOneStateBesideUpdates":   testStableView,
		"View/ConcurrentAndNeverTorn":    testConcurrentViews,
		"Close/KeepsWhatWasCommitted":    testReopen,
		"Close/RefusesEverythingAfter":   testClosed,
		"Model/BehavesLikeASortedMap":    testModel,
		"Buckets/AreApart":               testBuckets,
		"Values/LargeOnesAndManyAreKept": testLarge,
	} {
		t.Run(name, func(t *testing.T) { test(t, newHarness(t, open)) })
	}
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// harness is one engine over its life, with calls that fail the test.
type harness struct {
	store.Engine
	open func() store.Engine
}

// newHarness opens an engine and closes it, or what it was reopened as, when
// the test ends.
func newHarness(t *testing.T, open Open) *harness {
	engine, reopen := open(t)
	h := &harness{Engine: engine, open: reopen}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

func (h *harness) reopen(t failer) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	h.Engine = h.open()
}

func (h *harness) view(t failer, fn func(store.Tx)) {
	t.Helper()
	if err := h.View(func(tx store.Tx) error { fn(tx); return nil }); err != nil {
		t.Fatalf("view: %v", err)
	}
}

func (h *harness) update(t failer, fn func(store.WriteTx) error) {
	t.Helper()
	if err := h.Update(fn); err != nil {
		t.Fatalf("update: %v", err)
	}
}

// put commits pairs of key and value in one update.
func (h *harness) put(t failer, b store.Bucket, pairs ...string) {
	t.Helper()
	h.update(t, func(tx store.WriteTx) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := tx.Put(b, []byte(pairs[i]), []byte(pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

// pair is a copy of what a walk met.
type pair struct{ Key, Value string }

// ascend collects up to max pairs from from on.
func ascend(tx store.Tx, b store.Bucket, from string, max int) []pair {
	var met []pair
	if max == 0 {
		return met
	}
	tx.Ascend(b, []byte(from), func(k, v []byte) bool {
		met = append(met, pair{string(k), string(v)})
		return len(met) != max
	})
	return met
}

// all collects the committed pairs of a bucket.
func (h *harness) all(t failer, b store.Bucket) (met []pair) {
	t.Helper()
	h.view(t, func(tx store.Tx) { met = ascend(tx, b, "", -1) })
	return met
}
