package store_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// P10: damage anywhere is named; a store that cannot read what it derives from
// does not open, and no reader is served what does not verify.
func TestDamage_InAnyRowIsFound(t *testing.T) {
	e := memory.NewEngine()
	s := fullStore(t, e)
	for b := range store.NumBuckets {
		rows := rowsOf(t, e, b)
		if len(rows) == 0 {
			t.Errorf("%s is empty: the case does not arise", b)
		}
		for key, value := range rows {
			damaged := e.Reopen()
			bad := bytes.Clone(value)
			bad[len(bad)-1] ^= 1
			if err := damaged.Update(func(tx store.WriteTx) error { return tx.Put(b, []byte(key), bad) }); err != nil {
				t.Fatal(err)
			}
			reopened, err := store.Open(damaged, store.Config{Wall: time.Now})
			if err != nil {
				if !errors.Is(err, store.ErrDamaged) {
					t.Errorf("%s/%x: open: %v", b, key, err)
				}
				continue
			}
			if problems, err := reopened.Check(); err == nil && len(problems) == 0 {
				t.Errorf("%s/%x: not found", b, key)
			}
			served(t, reopened, s)
			_ = reopened.Close()
		}
	}
}

// served fails unless every read gives what a sound store gives, or damage.
func served(t *testing.T, got, want *store.Store) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		g, err := got.Get(t.Context(), "Note", resource.Scope{}, name)
		w, wantErr := want.Get(t.Context(), "Note", resource.Scope{}, name)
		if !errors.Is(err, store.ErrDamaged) && (g.Digest != w.Digest || !errors.Is(err, wantErr)) {
			t.Errorf("get %s: %s, %v", name, g.Digest, err)
		}
	}
	g, err := got.ListAll(t.Context(), "Note", nil)
	w, _ := want.ListAll(t.Context(), "Note", nil)
	if !errors.Is(err, store.ErrDamaged) && (err != nil || len(g) != len(w)) {
		t.Errorf("list: %d records, %v", len(g), err)
	}
}

// fullStore has a row in every bucket.
func fullStore(t *testing.T, e *memory.Engine) *store.Store {
	t.Helper()
	s, peer := notes(t, e), open(t, memory.NewEngine())
	write := func(n *store.Store, spec string) {
		t.Helper()
		if _, err := n.Put(t.Context(), with(named("a"), func(r *resource.Resource) { r.Spec = []byte(spec) })); err != nil {
			t.Fatal(err)
		}
	}
	write(s, `{}`)
	pull(t, peer, s)
	write(peer, `{"by":"peer"}`)
	write(s, `{"by":"s"}`)
	if out := pull(t, s, peer); out.Conflicts != 1 {
		t.Fatalf("the case did not arise: %+v", out)
	}
	s.Stage("stream", []byte("here"))
	if _, err := s.Put(t.Context(), named("b")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), named("c")); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "Note", resource.Scope{}, "c"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), store.Batch{Floor: store.Floor{id(8): 1}}); err != nil {
		t.Fatal(err)
	}
	stranger := store.Incoming{From: id(9)}
	if _, err := s.Entries(s.Head().Seq-1, 1, func(en store.Entry) error { stranger.Record = en.Record; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Quarantine([]store.Incoming{stranger}, "no"), s.Snapshot(t.Context())); err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	return s
}

// pull gives s a peer's events.
func pull(t *testing.T, s, peer *store.Store) store.Applied {
	t.Helper()
	events, _, err := peer.Outbox(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var b store.Batch
	for i := range events {
		b.Records = append(b.Records, store.Incoming{Record: events[i].Record, Event: &events[i], From: peer.Identity().Instance})
	}
	out, err := s.Apply(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rowsOf(t *testing.T, e *memory.Engine, b store.Bucket) map[string][]byte {
	t.Helper()
	rows := map[string][]byte{}
	if err := e.View(func(tx store.Tx) error {
		tx.Ascend(b, nil, func(key, value []byte) bool {
			rows[string(key)] = bytes.Clone(value)
			return true
		})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}
