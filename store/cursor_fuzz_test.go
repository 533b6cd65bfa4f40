package store_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"driftless.dev/fuzztest"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// FuzzContinue gives listings any text for the last page's continue, and the
// ledger any for an entry: refused as the caller's mistake, or answered.
func FuzzContinue(f *testing.F) {
	s, err := store.Open(memory.NewEngine(), store.Config{
		Wall: func() time.Time { return time.UnixMilli(1_767_225_600_000) }, Random: rand.NewChaCha8([32]byte{1}), Secret: [32]byte{1},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	first, err := s.Query(f.Context(), store.Query{Kind: resource.KindKind, Limit: 1})
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{first.Continue, "", "00", "zz", "0", "4b696e642e", "7k3m9q2x", "ffffffffffffffffffffffffffffffffffffffff"} {
		f.Add(text, "kind")
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, token, kind string) {
		var errs []error
		cost.Run(t, []byte(token+kind), func() {
			_, first := s.Query(t.Context(), store.Query{Kind: resource.KindKind, Continue: token, Limit: 3})
			_, second := s.Losses(t.Context(), store.LossQuery{Kind: kind, Continue: token, Limit: 3})
			_, third := s.Loss(t.Context(), token)
			errs = []error{first, second, third}
		})
		for _, err := range errs {
			if err != nil && !errors.Is(err, resource.ErrInvalid) && !errors.Is(err, resource.ErrNotFound) && !errors.Is(err, resource.ErrAmbiguous) {
				t.Fatalf("%q: %v", token, err)
			}
		}
	})
}
