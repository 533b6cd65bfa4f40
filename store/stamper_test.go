package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"driftless.dev/hlc"
	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// story is a record under one write after the other, by the stamper alone.
type story struct {
	t   *testing.T
	rec *resource.Record
	now int64
}

func stamper(writer byte) store.Stamper {
	return store.Stamper{Instance: id(100), Incarnation: id(writer)}
}

func note(spec string) resource.Resource {
	return resource.Resource{APIVersion: "note.example.dev/v1", Kind: "Note", Name: "n", Spec: []byte(spec)}
}

// write makes a write one millisecond later and checks what holds for all of
// them: nothing that was there is changed in place, and what comes out wins
// against it, knowingly, in every register.
func (s *story) write(writer byte, w store.Write) (store.Post, error) {
	s.t.Helper()
	s.now++
	var before []byte
	if s.rec != nil {
		before = s.rec.AppendTo(nil)
	}
	post, err := s.judge(stamper(writer), &w, hlc.At(s.now, 0))
	if err != nil {
		return post, err
	}
	if s.rec != nil {
		if !bytes.Equal(before, s.rec.AppendTo(nil)) {
			s.t.Errorf("op %d changed what it read", w.Op)
		}
		for _, joined := range []resolve.Result{resolve.Merge(s.rec, &post.Record), resolve.Merge(&post.Record, s.rec)} {
			if !bytes.Equal(joined.Record.AppendTo(nil), post.Record.AppendTo(nil)) || len(joined.Losers) > 0 {
				s.t.Errorf("op %d at %d does not dominate what it replaced", w.Op, s.now)
			}
		}
	}
	s.rec = &post.Record
	return post, nil
}

func (s *story) judge(st store.Stamper, w *store.Write, now hlc.Timestamp) (store.Post, error) {
	switch w.Op {
	case store.OpPut:
		return st.Put(s.rec, w, id(50), now)
	case store.OpStatus:
		return st.Status(s.rec, w, now)
	case store.OpRelease:
		return st.Release(s.rec, w, now)
	case store.OpClaim:
		return st.Claim(s.rec, w, now)
	default:
		return st.Delete(s.rec, w, now)
	}
}

func (s *story) must(writer byte, w store.Write) store.Post {
	s.t.Helper()
	post, err := s.write(writer, w)
	if err != nil {
		s.t.Fatal(err)
	}
	return post
}

func put(spec string, finalizers ...string) store.Write {
	r := note(spec)
	r.Finalizers = finalizers
	return store.Write{Resource: r}
}

// A context holds the latest write of each of 32 writers; a 33rd drops the
// oldest of them, whose next version may then be reported as lost. The writer
// of the register is in the next one's context.
func TestStamper_ContextDropsTheOldest(t *testing.T) {
	s := &story{t: t}
	for writer := byte(1); writer <= 34; writer++ {
		s.must(writer, put(fmt.Sprintf(`{"n":%d}`, writer)))
	}
	c := s.rec.Desired.Context
	if len(c) != resource.MaxContext {
		t.Fatalf("%d entries", len(c))
	}
	for writer := byte(1); writer <= 33; writer++ {
		p := resource.Point{HLC: hlc.At(int64(writer), 0), Writer: id(writer)}
		if c.Knows(p) != (writer > 1) {
			t.Errorf("the write of %d is known: %v", writer, writer == 1)
		}
	}
	// A writer's later write takes the place of its earlier one.
	s.must(2, put(`{"n":0}`))
	s.must(3, put(`{"n":1}`))
	if c = s.rec.Desired.Context; len(c) != resource.MaxContext || !c.Knows(resource.Point{HLC: hlc.At(35, 0), Writer: id(2)}) {
		t.Errorf("context %v", c)
	}
}

func TestStamper_Writes(t *testing.T) {
	human, claimed := resource.Human, resource.Epoch{Number: 1, Claim: resource.Point{HLC: hlc.At(2, 0), Writer: id(1)}}
	by := func(a resource.Actor, w store.Write) store.Write { w.Actor = a; return w }
	under := func(e resource.Epoch, w store.Write) store.Write { w.Epoch = e; return w }
	op := func(o store.Op) store.Write { return store.Write{Op: o} }
	for name, c := range map[string]struct {
		before  []store.Write
		last    store.Write
		changed bool
		err     error
		check   func(r *resource.Record) bool
	}{
		"create": {nil, put(`{}`), true, nil, func(r *resource.Record) bool {
			return r.SyncVersion == 1 && r.Version == 1 && r.Creation.Origin == id(100) && r.Incarnation().IsZero()
		}},
		"identical put":         {[]store.Write{put(`{"a":1}`, "f")}, put(`{ "a": 1 }`, "f"), false, nil, nil},
		"identical, by another": {[]store.Write{put(`{}`)}, by(resource.System, put(`{}`)), false, nil, nil},
		"rank rises": {[]store.Write{put(`{}`)}, by(human, put(`{}`)), true, nil, func(r *resource.Record) bool {
			return r.SyncVersion == 2 && r.Version == 1 && r.Desired.Stamp.Actor == human
		}},
		"rank falls, identical": {[]store.Write{by(human, put(`{}`))}, put(`{}`), false, nil, nil},
		"rank falls":            {[]store.Write{by(human, put(`{}`))}, put(`{"a":1}`), false, resource.ErrOutranked, nil},
		"put on a terminating record": {[]store.Write{put(`{}`, "f"), op(store.OpDelete)}, put(`{"a":1}`, "f"), true, nil, func(r *resource.Record) bool {
			return r.Requested() && !r.Deleted() && r.Deletion.Stamp == r.Desired.Stamp && r.Deletion.Value.RequestedAt == hlc.At(2, 0)
		}},
		"last finalizer": {[]store.Write{put(`{}`, "f"), op(store.OpDelete)}, put(`{}`), true, nil, func(r *resource.Record) bool {
			return r.Deleted() && r.Desired.Stamp.HLC == hlc.At(1, 0)
		}},
		"late finalizer":          {[]store.Write{put(`{}`, "f"), op(store.OpDelete)}, put(`{}`, "f", "g"), false, resource.ErrInvalid, nil},
		"delete again":            {[]store.Write{put(`{}`, "f"), op(store.OpDelete)}, op(store.OpDelete), false, nil, nil},
		"delete again, higher":    {[]store.Write{put(`{}`, "f"), op(store.OpDelete)}, by(human, op(store.OpDelete)), true, nil, (*resource.Record).Requested},
		"delete of a tombstone":   {[]store.Write{put(`{}`), op(store.OpDelete)}, op(store.OpDelete), false, resource.ErrNotFound, nil},
		"teardown":                {[]store.Write{put(`{}`)}, op(store.OpTeardown), true, nil, func(r *resource.Record) bool { return r.Requested() && !r.Deleted() }},
		"teardown after delete":   {[]store.Write{put(`{}`, "f"), op(store.OpDelete)}, op(store.OpTeardown), false, nil, nil},
		"destroy under a key":     {[]store.Write{put(`{}`, "f"), op(store.OpTeardown)}, op(store.OpDestroy), false, resource.ErrConflict, nil},
		"resurrection":            {[]store.Write{put(`{}`), op(store.OpDelete)}, put(`{}`), true, nil, func(r *resource.Record) bool { return r.Incarnation() == r.Deletion.Stamp.Point() && r.Version == 2 }},
		"resurrection, outranked": {[]store.Write{put(`{}`), by(human, op(store.OpDelete))}, put(`{}`), false, resource.ErrOutranked, nil},
		"release": {[]store.Write{by(human, put(`{}`))}, by(human, op(store.OpRelease)), true, nil, func(r *resource.Record) bool {
			return r.Desired.Stamp.Release == 1 && r.Desired.Stamp.Actor == resource.Agent && r.Version == 1
		}},
		"release of a tombstone": {[]store.Write{put(`{}`), by(human, op(store.OpDelete))}, by(human, op(store.OpRelease)), true, nil, (*resource.Record).Deleted},
		"release by an agent":    {[]store.Write{by(human, put(`{}`))}, op(store.OpRelease), false, resource.ErrOutranked, nil},
		"claim":                  {[]store.Write{put(`{}`)}, op(store.OpClaim), true, nil, func(r *resource.Record) bool { return r.Fence == claimed && r.Desired.Stamp.Epoch == claimed }},
		"claim of a person's":    {[]store.Write{by(human, put(`{}`))}, op(store.OpClaim), false, resource.ErrOutranked, nil},
		"holder's put":           {[]store.Write{put(`{}`), op(store.OpClaim)}, under(claimed, put(`{"a":1}`)), true, nil, nil},
		"put without a token":    {[]store.Write{put(`{}`), op(store.OpClaim)}, put(`{"a":1}`), false, resource.ErrOutranked, nil},
		"old holder's put":       {[]store.Write{put(`{}`), op(store.OpClaim), op(store.OpClaim)}, under(claimed, put(`{"a":1}`)), false, resource.ErrFenced, nil},
		"token of nothing":       {nil, under(claimed, put(`{}`)), false, resource.ErrFenced, nil},
		"status of nothing":      {nil, op(store.OpStatus), false, resource.ErrNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{t: t}
			for _, w := range c.before {
				s.must(1, w)
			}
			post, err := s.write(1, c.last)
			switch {
			case !errors.Is(err, c.err):
				t.Fatalf("error %v, want %v", err, c.err)
			case err == nil && post.Changed != c.changed:
				t.Fatalf("changed %v, want %v", post.Changed, c.changed)
			case c.check != nil && !c.check(&post.Record):
				t.Fatalf("came to %+v", post.Record)
			}
		})
	}
}

// The stamper is pure: the same question, the same bytes.
func TestStamper_IsPure(t *testing.T) {
	w := put(`{"b":1,"a":2}`, "g", "f")
	w.Resource.Labels = map[string]string{"b": "1", "a": "2", "c": "3"}
	var last []byte
	for range 5 {
		again := w
		post, err := stamper(1).Put(nil, &again, id(50), 7)
		if err != nil {
			t.Fatal(err)
		}
		if b := post.Record.AppendTo(nil); last != nil && !bytes.Equal(b, last) {
			t.Fatal("the same write came to other bytes")
		} else {
			last = b
		}
	}
}
