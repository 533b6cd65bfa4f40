package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"driftless.dev/hlc"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// outbox is a store's own events, as the stream brings them to a peer.
func outbox(t *testing.T, s *store.Store) (out []store.Incoming) {
	t.Helper()
	events, _, err := s.Outbox(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		out = append(out, store.Incoming{Record: events[i].Record, Event: &events[i], From: s.Identity().Instance})
	}
	return out
}

// P1: what was not stored is not acknowledged: an apply that failed covers
// nothing.
func TestApply_FailureCoversNothing(t *testing.T) {
	peer := notes(t, memory.NewEngine())
	if _, err := peer.Put(t.Context(), named("n")); err != nil {
		t.Fatal(err)
	}
	e := memory.NewEngine()
	s := open(t, e)
	e.FailCommit(func() error { return store.ErrNoSpace })
	out, err := s.Apply(t.Context(), store.Batch{Records: outbox(t, peer)})
	if !errors.Is(err, store.ErrNoSpace) || out.Applied != 0 || len(out.Covered) != 0 {
		t.Errorf("came to %+v, %v", out, err)
	}
	e.FailCommit(nil)
	if out, err = s.Apply(t.Context(), store.Batch{Records: outbox(t, peer)}); err != nil || len(out.Covered) != 1 {
		t.Errorf("once there is space: %+v, %v", out, err)
	}
	sound(t, s)
}

// A panic in a transaction fails the store; nobody waits for it for ever.
func TestCommit_PanicIsFailStop(t *testing.T) {
	panics := false
	s := notes(t, memory.NewEngine(), func(c *store.Config) {
		c.Guard = func(hlc.Timestamp) error {
			if panics {
				panic("a bug")
			}
			return nil
		}
	})
	panics = true
	for range 2 {
		if _, err := s.Put(t.Context(), named("n")); !errors.Is(err, store.ErrFailed) {
			t.Errorf("put: %v", err)
		}
	}
	if s.Err() == nil {
		t.Error("the store says that it is well")
	}
}

// P10: a damaged row stops neither the other records of a batch nor those after
// it, and its own event is not covered; while it is damaged nothing is.
func TestApply_DamageDoesNotBlockTheRest(t *testing.T) {
	peer := notes(t, memory.NewEngine())
	e := memory.NewEngine()
	s := open(t, e)
	var middle resource.ID
	for i := range 3 {
		r, err := peer.Put(t.Context(), named(fmt.Sprint("n", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			middle, _ = resource.ParseID(r.ID)
		}
	}
	if _, err := s.Apply(t.Context(), store.Batch{Records: outbox(t, peer)}); err != nil {
		t.Fatal(err)
	}
	corrupt(t, e, middle)
	for i := range 3 {
		if _, err := peer.Put(t.Context(), with(named(fmt.Sprint("n", i)), func(r *resource.Resource) { r.Spec = []byte(`{"again":true}`) })); err != nil {
			t.Fatal(err)
		}
	}
	all := outbox(t, peer)
	out, err := s.Apply(t.Context(), store.Batch{Records: all[len(all)-3:]})
	if err != nil || out.Applied != 2 || out.Quarantined != 1 {
		t.Errorf("came to %+v, %v", out, err)
	}
	if v := s.State().Vector; len(v) > 0 {
		t.Errorf("covers %v while it is damaged", v)
	}
	if r, err := s.Fsck(t.Context(), true); err != nil || r.Soundness() != store.Mended {
		t.Fatalf("repair: %+v, %v", r.Faults, err)
	}
	if p := s.State().Vector[peer.Identity().Incarnation]; p.Seq != uint64(len(all)-2) {
		t.Errorf("covers %d of %d events, the damaged one's is %d", p.Seq, len(all), len(all)-1)
	}
	if q, err := s.QuarantineList(10); err != nil || len(q) != 1 || !strings.Contains(q[0].Reason, "damaged") {
		t.Errorf("quarantine: %+v, %v", q, err)
	}
}

// corrupt flips a bit in a record's row.
func corrupt(t *testing.T, e *memory.Engine, id resource.ID) {
	t.Helper()
	err := e.Update(func(tx store.WriteTx) error {
		var key, value []byte
		tx.Ascend(store.BucketRecords, nil, func(k, v []byte) bool {
			if string(k[len(k)-16:]) == string(id[:]) {
				key, value = append([]byte(nil), k...), append([]byte(nil), v...)
			}
			return key == nil
		})
		if key == nil {
			return errors.New("no such record")
		}
		value[len(value)/2] ^= 1
		return tx.Put(store.BucketRecords, key, value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// P12: two writes that were each admitted join to a record that reads, reopens
// and can still be deleted.
func TestApply_LargeRegistersJoin(t *testing.T) {
	a := notes(t, memory.NewEngine())
	eb := memory.NewEngine()
	b := open(t, eb)
	if _, err := a.Put(t.Context(), named("n")); err != nil {
		t.Fatal(err)
	}
	exchange := func() {
		for _, p := range [][2]*store.Store{{a, b}, {b, a}} {
			if _, err := p[1].Apply(t.Context(), store.Batch{Records: outbox(t, p[0])}); err != nil {
				t.Fatal(err)
			}
		}
	}
	exchange()
	large := []byte(`{"x":"` + strings.Repeat("x", 7<<20) + `"}`)
	if _, err := a.Put(t.Context(), with(named("n"), func(r *resource.Resource) { r.Spec = large })); err != nil {
		t.Fatal(err)
	}
	_, err := b.Write(t.Context(), store.Write{Op: store.OpStatus, Kind: "Note", Name: "n", Resource: resource.Resource{Status: large}})
	if err != nil {
		t.Fatal(err)
	}
	exchange()
	if a.Summary().Super != b.Summary().Super {
		t.Error("the roots differ")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = open(t, eb.Reopen())
	if r, err := b.Get(t.Context(), "Note", resource.Scope{}, "n"); err != nil || len(r.Spec) != len(large) || len(r.Status) != len(large) {
		t.Errorf("read: %v", err)
	}
	if err := b.Delete(t.Context(), "Note", resource.Scope{}, "n"); err != nil {
		t.Errorf("delete: %v", err)
	}
	sound(t, b)
}

// A record whose registers are each out of bounds is refused before it is
// joined with anything.
func TestValidate_RegisterTooLarge(t *testing.T) {
	peer := notes(t, memory.NewEngine())
	r, err := peer.Put(t.Context(), named("n"))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := peer.Record(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	d := rec.Desired.Value
	d.Spec = []byte(`"` + strings.Repeat("x", resource.MaxRecordSize) + `"`)
	rec.Desired = resource.NewRegister(rec.Desired.Stamp, nil, d)
	if err := rec.Validate(); !errors.Is(err, resource.ErrTooLarge) {
		t.Errorf("validate: %v", err)
	}
}
