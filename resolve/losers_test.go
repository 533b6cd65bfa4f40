package resolve_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

// Of each two writes that meet, the lower is reported exactly when the
// winner's context does not know it, with the version that held it; two writes
// of one stamp raise Clone. Two that say the same are none. Then follows what
// desired and deletion lose to each other in the joined record.
func TestMerge_Losers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 2)
		cur, in := v[0], v[1]
		res := resolve.Merge(&cur, &in)
		e := expected{cur: &cur, in: &in}
		met(&e, "desired", &cur.Desired, &in.Desired, ranks)
		met(&e, "deletion", cur.Deletion, in.Deletion, ranks)
		met(&e, "observed", cur.Observed, in.Observed, ranksNot)
		e.undo(&res)
		if res.Clone != e.clone {
			t.Errorf("clone is %t", res.Clone)
		}
		if !slices.EqualFunc(res.Losers, e.losers, func(a, b resolve.Loser) bool {
			return a.Register == b.Register && a.Stamp == b.Stamp && a.Winner == b.Winner && encoded(a.Record) == encoded(b.Record)
		}) {
			t.Errorf("losers\n%+v\nwant\n%+v", res.Losers, e.losers)
		}
	})
}

type expected struct {
	cur, in *resource.Record
	losers  []resolve.Loser
	// same are the lower writes of those that say the same.
	same  []resolve.Loser
	clone bool
}

func (e *expected) lose(l resolve.Loser, winner resource.Context) {
	for _, p := range winner {
		if p.Writer == l.Stamp.Writer && p.HLC >= l.Stamp.HLC {
			return
		}
	}
	e.losers = append(e.losers, l)
}

func met[V any](e *expected, name string, cur, in *resource.Register[V], ranked bool) {
	if cur == nil || in == nil || cur.Digest() == in.Digest() {
		return
	}
	lost, won, held := cur, in, e.cur
	if string(key(cur, ranked)) > string(key(in, ranked)) {
		lost, won, held = in, cur, e.in
	}
	e.clone = e.clone || lost.Stamp.Point() == won.Stamp.Point()
	l := resolve.Loser{Register: name, Stamp: lost.Stamp, Winner: won.Stamp, Record: *held}
	if says(lost) == says(won) {
		e.same = append(e.same, l)
	} else {
		e.lose(l, won.Context)
	}
}

// says is a register's body without version, stamp and context.
func says[V any](r *resource.Register[V]) string {
	return string(resourcetest.Join(resourcetest.Split(r.Body())[3:]))
}

func (e *expected) undo(res *resolve.Result) {
	r := res.Record
	if r.Deletion == nil {
		return
	}
	l := resolve.Loser{Register: "deletion", Stamp: r.Deletion.Stamp, Winner: r.Desired.Stamp, Record: r}
	context := r.Desired.Context
	if r.Requested() {
		l = resolve.Loser{Register: "desired", Stamp: r.Desired.Stamp, Winner: r.Deletion.Stamp, Record: r}
		context = r.Deletion.Context
	}
	news := res.Desired == resolve.Applied || res.Deletion == resolve.Applied
	if news && l.Stamp.Point() != l.Winner.Point() {
		e.lose(l, context)
	}
	for _, s := range e.same {
		if s.Register == l.Register && s.Record.Requested() != r.Requested() {
			s.Winner = l.Winner
			e.lose(s, context)
		}
	}
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

// Registers that say the same to this version and differ in fields of a later
// one are not the same.
func TestMerge_LaterFieldsAreLost(t *testing.T) {
	stamp := resource.Stamp{HLC: 5, Writer: resource.ID{15: 1}}
	one := version("desired", stamp, "a")
	stamp.HLC = 6
	two := version("desired", stamp, "a")
	if res := resolve.Merge(&one, &two); len(res.Losers) != 0 {
		t.Errorf("two of one value lose %+v", res.Losers)
	}
	for _, inValue := range []bool{false, true} {
		later, err := resourcetest.Extend(one, resourcetest.DesiredField, inValue, []byte{0xc3})
		if err != nil {
			t.Fatal(err)
		}
		if res := resolve.Merge(&later, &two); len(res.Losers) != 1 {
			t.Errorf("in value: %t: losers %+v", inValue, res.Losers)
		}
	}
}
