package resolve_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

// Applied: the joined bytes differ. Unchanged: every register and finalizer of
// incoming is the write that current holds. Ignored: the rest.
func TestMerge_Outcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 2)
		cur, in := v[0], v[1]
		res := resolve.Merge(&cur, &in)
		want := resolve.Ignored
		switch {
		case encoded(res.Record) != encoded(cur):
			want = resolve.Applied
		case digestOf(&in.Desired) == digestOf(&cur.Desired) && digestOf(in.Deletion) == digestOf(cur.Deletion) &&
			digestOf(in.Observed) == digestOf(cur.Observed) && slices.Equal(in.Finalizers, cur.Finalizers):
			want = resolve.Unchanged
		}
		if res.Outcome != want {
			t.Errorf("outcome is %s, want %s", res.Outcome, want)
		}
		checkPart(t, "desired", res.Desired, &cur.Desired, &in.Desired, &res.Record.Desired)
		checkPart(t, "deletion", res.Deletion, cur.Deletion, in.Deletion, res.Record.Deletion)
		checkPart(t, "observed", res.Observed, cur.Observed, in.Observed, res.Record.Observed)
		checkFinalizers(t, &cur, &in, res)
	})
}

func checkFinalizers(t *rapid.T, cur, in *resource.Record, res resolve.Result) {
	want := resolve.Ignored
	switch {
	case !slices.Equal(res.Record.Finalizers, cur.Finalizers):
		want = resolve.Applied
	case slices.Equal(in.Finalizers, cur.Finalizers):
		want = resolve.Unchanged
	}
	if res.Finalizers != want {
		t.Errorf("finalizers are %s, want %s", res.Finalizers, want)
	}
}

func digestOf[V any](r *resource.Register[V]) [32]byte {
	if r == nil {
		return [32]byte{}
	}
	return r.Digest()
}

func checkPart[V any](t *rapid.T, name string, got resolve.Outcome, cur, in, joined *resource.Register[V]) {
	want := resolve.Ignored
	switch {
	case digestOf(joined) != digestOf(cur) || joined != nil && string(joined.Signature) != string(cur.Signature):
		want = resolve.Applied
	case digestOf(in) == digestOf(cur):
		want = resolve.Unchanged
	}
	if got != want {
		t.Errorf("%s is %s, want %s", name, got, want)
	}
}

// Of each two writes that meet, the lower is reported exactly when the
// winner's context does not know it, with the version that held it; two writes
// of one stamp raise Clone.
func TestMerge_Losers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 2)
		cur, in := v[0], v[1]
		res := resolve.Merge(&cur, &in)
		var want []resolve.Loser
		clone := false
		for _, losers := range [...]struct {
			l     *resolve.Loser
			clone bool
		}{
			met("desired", &cur.Desired, &in.Desired, ranks, &cur, &in),
			met("deletion", cur.Deletion, in.Deletion, ranks, &cur, &in),
			met("observed", cur.Observed, in.Observed, ranksNot, &cur, &in),
		} {
			if clone = clone || losers.clone; losers.l != nil {
				want = append(want, *losers.l)
			}
		}
		if res.Clone != clone {
			t.Errorf("clone is %t", res.Clone)
		}
		if !slices.EqualFunc(res.Losers, want, func(a, b resolve.Loser) bool {
			return a.Register == b.Register && a.Stamp == b.Stamp && a.Winner == b.Winner && encoded(a.Record) == encoded(b.Record)
		}) {
			t.Errorf("losers\n%+v\nwant\n%+v", res.Losers, want)
		}
	})
}

func met[V any](name string, cur, in *resource.Register[V], ranked bool, curRec, inRec *resource.Record) (out struct {
	l     *resolve.Loser
	clone bool
}) {
	if cur == nil || in == nil || cur.Digest() == in.Digest() {
		return out
	}
	lost, won, held := cur, in, curRec
	if string(key(cur, ranked)) > string(key(in, ranked)) {
		lost, won, held = in, cur, inRec
	}
	out.clone = lost.Stamp.Point() == won.Stamp.Point()
	for _, p := range won.Context {
		if p.Writer == lost.Stamp.Writer && p.HLC >= lost.Stamp.HLC {
			return out
		}
	}
	out.l = &resolve.Loser{Register: name, Stamp: lost.Stamp, Winner: won.Stamp, Record: *held}
	return out
}

func TestMerge_FirstSight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := resourcetest.Record(t, resourcetest.Options{Wide: true})
		res := resolve.Merge(nil, &in)
		has := map[bool]resolve.Outcome{true: resolve.Applied}
		if res.Outcome != resolve.Applied || res.Desired != resolve.Applied || res.Deletion != has[in.Deletion != nil] ||
			res.Observed != has[in.Observed != nil] || res.Finalizers != has[in.Finalizers != nil] || res.Losers != nil || res.Clone || !same(res.Record, in) {
			t.Errorf("%+v", res)
		}
	})
}

// Each reason names the first part of the order in which the two differ.
func TestMerge_Reasons(t *testing.T) {
	agent := resource.Stamp{HLC: 5, Writer: resource.ID{15: 1}}
	with := func(change func(*resource.Stamp)) resource.Stamp {
		s := resource.Stamp{HLC: 3, Writer: resource.ID{15: 2}}
		change(&s)
		return s
	}
	claimed := resource.Epoch{Number: 1, Claim: resource.Point{HLC: 3, Writer: resource.ID{15: 2}}}
	human := resource.Stamp{Actor: resource.Human, Epoch: claimed, HLC: 5, Writer: resource.ID{15: 1}}
	for name, c := range map[string]struct {
		lost, won         resource.Stamp
		desired, observed resolve.Reason
	}{
		"a release":         {human, with(func(s *resource.Stamp) { s.Release = 1 }), resolve.Released, resolve.Released},
		"a person's write":  {agent, with(func(s *resource.Stamp) { s.Actor = resource.Human; s.HLC = 6 }), resolve.Outranked, resolve.Later},
		"a new holder's":    {agent, with(func(s *resource.Stamp) { s.Epoch = claimed }), resolve.Fenced, resolve.Fenced},
		"a later write":     {agent, with(func(s *resource.Stamp) { s.HLC = 6 }), resolve.Later, resolve.Later},
		"people, any epoch": {with(func(s *resource.Stamp) { s.Actor = resource.Human }), human, resolve.Later, resolve.Fenced},
		"a clone's":         {agent, agent, resolve.Cloned, resolve.Cloned},
	} {
		for _, reg := range []string{"desired", "observed"} {
			one, two := version(reg, c.lost, "a"), version(reg, c.won, "b")
			res := resolve.Merge(&one, &two)
			want := map[string]resolve.Reason{"desired": c.desired, "observed": c.observed}[reg]
			if len(res.Losers) != 1 || res.Losers[0].Reason != want {
				t.Errorf("%s of %s: %+v, want %s", name, reg, res.Losers, want)
			}
		}
	}
}

// version is a record whose named register has the stamp; the other register is
// the same in all.
func version(register string, s resource.Stamp, value string) resource.Record {
	rec := resource.Record{ID: resource.ID{15: 7}, Desired: resource.NewRegister(resource.Stamp{HLC: 1, Writer: resource.ID{15: 9}}, nil, resource.Desired{APIVersion: "v1"})}
	if register == "desired" {
		rec.Desired = resource.NewRegister(s, nil, resource.Desired{APIVersion: "v1", Owner: value})
		return rec
	}
	o := resource.NewRegister(s, nil, resource.Observed{Status: []byte(`"` + value + `"`)})
	rec.Observed = &o
	return rec
}
