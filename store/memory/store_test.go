package memory_test

import (
	"sync"
	"testing"

	"driftless.dev/store"
	"driftless.dev/store/memory"
	"driftless.dev/store/storetest"
)

func TestStore_Conformance(t *testing.T) {
	engines := sync.Map{} // *store.Store → *memory.Engine
	open := func(t testing.TB, e *memory.Engine, cfg store.Config) *store.Store {
		t.Helper()
		s, err := store.Open(e, cfg)
		if err != nil {
			t.Fatal(err)
		}
		engines.Store(s, e)
		return s
	}
	storetest.Run(t, storetest.Backend{
		Name: "memory",
		Open: func(t testing.TB, cfg store.Config) *store.Store { return open(t, memory.NewEngine(), cfg) },
		Reopen: func(t testing.TB, s *store.Store, cfg store.Config) *store.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			e, _ := engines.LoadAndDelete(s)
			return open(t, e.(*memory.Engine).Reopen(), cfg)
		},
	})
}
