package resource_test

import (
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// drawStamp draws from a space so small that equal parts are common.
func drawStamp(t *rapid.T, label string) resource.Stamp {
	n := func() uint64 { return rapid.Uint64Range(0, 2).Draw(t, label) }
	point := func() resource.Point {
		return resource.Point{HLC: hlc.Timestamp(n()), Writer: resource.ID{15: byte(n())}}
	}
	p := point()
	return resource.Stamp{Release: n(), Actor: resource.Actor(n()), Epoch: resource.Epoch{Number: n(), Claim: point()}, HLC: p.HLC, Writer: p.Writer}
}

// Both orders are total: antisymmetric, transitive on every triple, and equal
// only where the parts they go by are equal.
func TestStamp_OrdersAreTotal(t *testing.T) {
	for name, compare := range map[string]func(a, b resource.Stamp) int{
		"Compare": resource.Stamp.Compare, "CompareObserved": resource.Stamp.CompareObserved,
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b, c := drawStamp(t, "a"), drawStamp(t, "b"), drawStamp(t, "c")
				if compare(a, a) != 0 || compare(a, b) != -compare(b, a) {
					t.Fatal("not antisymmetric")
				}
				if compare(a, b) <= 0 && compare(b, c) <= 0 && compare(a, c) > 0 {
					t.Fatal("not transitive")
				}
				if compare(a, b) == 0 && (compare(a, c) != compare(b, c) || a.Point() != b.Point() || a.Release != b.Release) {
					t.Fatal("equal stamps compare differently")
				}
			})
		})
	}
}

// Each step of the order beats all that follow it.
func TestStamp_CompareIsLexicographic(t *testing.T) {
	base := resource.Stamp{Actor: resource.Agent, Epoch: resource.Epoch{Number: 1, Claim: at(1, 1)}, HLC: hlc.At(50, 0), Writer: resource.ID{15: 5}}
	with := func(change func(*resource.Stamp)) resource.Stamp {
		s := base
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		low, high       resource.Stamp
		desired, status int
	}{
		"release over person":  {with(func(s *resource.Stamp) { s.Actor, s.HLC = resource.Human, hlc.Max }), with(func(s *resource.Stamp) { s.Release = 1 }), 1, 1},
		"person over clock":    {with(func(s *resource.Stamp) { s.HLC = hlc.Max }), with(func(s *resource.Stamp) { s.Actor = resource.Human }), 1, -1},
		"person over epoch":    {with(func(s *resource.Stamp) { s.Epoch.Number = 9 }), with(func(s *resource.Stamp) { s.Actor = resource.Human }), 1, -1},
		"epoch over clock":     {with(func(s *resource.Stamp) { s.HLC = hlc.Max }), with(func(s *resource.Stamp) { s.Epoch.Number = 2 }), 1, 1},
		"claim over clock":     {with(func(s *resource.Stamp) { s.HLC = hlc.Max }), with(func(s *resource.Stamp) { s.Epoch.Claim = at(2, 1) }), 1, 1},
		"clock over writer":    {with(func(s *resource.Stamp) { s.Writer = resource.ID{0: 255} }), with(func(s *resource.Stamp) { s.HLC++ }), 1, 1},
		"writer":               {base, with(func(s *resource.Stamp) { s.Writer = resource.ID{15: 6} }), 1, 1},
		"agent is like system": {base, with(func(s *resource.Stamp) { s.Actor = resource.System }), 0, 0},
		"a person needs no epoch": {
			with(func(s *resource.Stamp) { s.Actor = resource.Human }),
			with(func(s *resource.Stamp) { s.Actor, s.Epoch = resource.Human, resource.Epoch{} }), 0, -1,
		},
	} {
		if got := c.high.Compare(c.low); got != c.desired {
			t.Errorf("%s: Compare is %d, want %d", name, got, c.desired)
		}
		if got := c.high.CompareObserved(c.low); got != c.status {
			t.Errorf("%s: CompareObserved is %d, want %d", name, got, c.status)
		}
	}
}

func TestPoint_TextRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := resource.Point{HLC: hlc.Timestamp(rapid.Uint64().Draw(t, "hlc")), Writer: drawID(t)}
		if got, err := resource.ParsePoint(p.String()); err != nil || got != p {
			t.Fatalf("%q: %v, %v", p, got, err)
		}
		e := resource.Epoch{Number: rapid.Uint64Min(1).Draw(t, "number"), Claim: p}
		if got, err := resource.ParseEpoch(e.String()); err != nil || got != e {
			t.Fatalf("%q: %v, %v", e, got, err)
		}
	})
}

func TestPoint_ZeroIsEmptyText(t *testing.T) {
	if s := (resource.Point{}).String() + (resource.Epoch{}).String(); s != "" {
		t.Errorf("zero values are %q", s)
	}
	p, err := resource.ParsePoint("")
	e, err2 := resource.ParseEpoch("")
	if err != nil || err2 != nil || !p.IsZero() || !e.IsZero() {
		t.Errorf("%v %v, %v %v", p, err, e, err2)
	}
}

const someID = "00000000000000000000000001"

func TestPoint_RefusesOtherSpellings(t *testing.T) {
	for _, s := range []string{
		"5.0", "5.0@", "@" + someID, "5@" + someID, "05.0@" + someID, "5.00@" + someID, " 5.0@" + someID, "5.0@" + someID + " ",
		"5.0@@" + someID, "-1.0@" + someID, "5.65536@" + someID, "5.0@0000000000000000000000000a", "0.0@00000000000000000000000000",
	} {
		if p, err := resource.ParsePoint(s); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
}

func TestEpoch_RefusesOtherSpellings(t *testing.T) {
	for _, s := range []string{
		"1", "1/", "0/5.0@" + someID, "01/5.0@" + someID, "+1/5.0@" + someID, "1_0/5.0@" + someID, " 1/5.0@" + someID,
		"18446744073709551616/5.0@" + someID, "1/5.0", "/5.0@" + someID, "1/05.0@" + someID, "1/1/5.0@" + someID,
	} {
		if e, err := resource.ParseEpoch(s); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%q: %v, %v", s, e, err)
		}
	}
}

func TestPoint_JSON(t *testing.T) {
	ref := resource.OwnerReference{ID: someID, Incarnation: at(5, 1)}
	b, err := json.Marshal(ref)
	if err != nil || string(b) != `{"id":"`+someID+`","incarnation":"5.0@`+someID+`"}` {
		t.Fatalf("%s, %v", b, err)
	}
	var got resource.OwnerReference
	if err := json.Unmarshal(b, &got); err != nil || got != ref {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestActor_Text(t *testing.T) {
	for text, want := range map[string]resource.Actor{"": resource.Agent, "agent": resource.Agent, "system": resource.System, "human": resource.Human} {
		a, err := resource.ParseActor(text)
		if err != nil || a != want || text != "" && a.String() != text {
			t.Errorf("%q: %v, %v", text, a, err)
		}
	}
	for _, text := range []string{"Human", "HUMAN", "node", " human", "humaſ"} {
		if _, err := resource.ParseActor(text); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFinalizer_OrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) resource.Finalizer {
			s := drawStamp(t, label)
			return resource.Finalizer{Key: "k", Incarnation: s.Epoch.Claim, At: s.Point(), Present: rapid.Bool().Draw(t, label)}
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if a.Compare(b) != -b.Compare(a) || (a.Compare(b) == 0) != (a == b) {
			t.Fatal("not antisymmetric")
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatal("not transitive")
		}
	})
}

func TestFinalizer_PresentWinsWhatIsLeft(t *testing.T) {
	f := resource.Finalizer{Key: "k", Incarnation: at(1, 1), At: at(2, 1)}
	present := f
	present.Present = true
	later := resource.Finalizer{Key: "k", Incarnation: at(1, 1), At: at(3, 1)}
	if present.Compare(f) != 1 || f.Compare(present) != -1 || later.Compare(present) != 1 {
		t.Error("entries compare by incarnation, time, writer, then presence")
	}
}
