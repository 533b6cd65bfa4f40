package history

import (
	"strings"
	"testing"
	"time"

	"driftless.dev/hlc"
)

func put(key string, value, saw int64) Op {
	return Op{Node: "a", Action: Put, Key: key, Value: value, Saw: saw, Outcome: Acked, HLC: hlc.Timestamp(value), Writer: "w", Seq: uint64(value)}
}

func person(op Op) Op {
	op.Human = true
	return op
}

func state(node string, records ...Record) State {
	s := State{Node: node, Root: "r", Records: map[string]Record{}, Holders: map[string]string{}}
	for _, r := range records {
		s.Records["id-"+r.Key] = r
		s.Holders[r.Key] = "id-" + r.Key
	}
	return s
}

func holds(key string, value int64) Record { return Record{Key: key, Value: value} }

// Each rule passes what it should and finds what it is there for.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		ops    []Op
		states []State
		want   string // "" for no problem
		lost   bool
	}{
		"present":             {ops: []Op{put("k", 1, 0)}, states: []State{state("a", holds("k", 1))}},
		"replaced upon":       {ops: []Op{put("k", 1, 0), put("k", 2, 1)}, states: []State{state("a", holds("k", 2))}},
		"gone":                {ops: []Op{put("k", 1, 0)}, states: []State{state("a")}, want: "P5: value 1", lost: true},
		"replaced unseen":     {ops: []Op{put("k", 1, 0), put("k", 2, 0)}, states: []State{state("a", holds("k", 2))}, want: "P5: value 1", lost: true},
		"in a ledger":         {ops: []Op{put("k", 1, 0), put("k", 2, 0)}, states: []State{{Node: "a", Records: state("a", holds("k", 2)).Records, Lost: []Loss{{Key: "k", Value: 1}}}}},
		"replaced by unknown": {ops: []Op{put("k", 1, 0), {Action: Put, Key: "k", Value: 2, Saw: 1, Outcome: Unknown}}, states: []State{state("a", holds("k", 2))}},
		"unknown came not about": {
			ops:    []Op{put("k", 1, 0), {Action: Put, Key: "k", Value: 2, Saw: 1, Outcome: Unknown}},
			states: []State{state("a")}, want: "P5: value 1", lost: true,
		},
		"unequal roots": {states: []State{state("a"), {Node: "b", Root: "x"}}, want: "P2: b has root x"},
		"other bytes":   {states: []State{state("a", Record{Key: "k", JSON: "1"}), state("b", Record{Key: "k", JSON: "2"})}, want: `P2: k (id-k) is "2" on b`},
		"one more":      {states: []State{state("a"), {Node: "b", Root: "r", Records: state("b", holds("k", 0)).Records}}, want: "P2: k (id-k) is on b and not on a"},
		"other holders": {states: []State{state("a"), {Node: "b", Root: "r", Holders: map[string]string{"n": "x"}}}, want: "other holders"},
		"a person's stands": {
			ops:    []Op{put("k", 1, 0), person(put("k", 2, 1))},
			states: []State{state("a", Record{Key: "k", Value: 2, Human: true})},
		},
		"a person's is replaced": {
			ops:    []Op{person(put("k", 1, 0)), put("k", 2, 1)},
			states: []State{state("a", holds("k", 2))}, want: "holds automation's 2", lost: true,
		},
		"a person's lost": {
			ops: []Op{person(put("k", 1, 0)), put("k", 2, 0), person(put("k", 3, 2))},
			states: []State{{Node: "a", Records: state("a", Record{Key: "k", Value: 3, Human: true}).Records,
				Lost: []Loss{{Key: "k", Value: 1, Human: true, Winner: Point(hlc.Timestamp(2), "w")}}}},
			want: "a person's 1 of k lost to automation's 2", lost: true,
		},
		"deleted": {ops: []Op{put("k", 1, 0), {Action: Delete, Key: "k", Saw: 1, Outcome: Acked}}, states: []State{state("a")}},
		"back": {
			ops:    []Op{put("k", 1, 0), {Action: Delete, Key: "k", Saw: 1, Outcome: Acked}},
			states: []State{state("a", holds("k", 1))}, want: "P4: k was deleted", lost: true,
		},
		"created": {ops: []Op{{Action: Create, Key: "n", ID: "id-n", Outcome: Acked}}, states: []State{state("a", holds("n", 0))}},
		"not created": {
			ops:    []Op{{Action: Create, Key: "n", ID: "id-n", Outcome: Acked, Node: "b"}},
			states: []State{state("a")}, want: "P5: id-n, created by b", lost: true,
		},
		"stamps stand still": {
			ops: []Op{put("k", 1, 0), func() Op { op := put("k", 2, 1); op.HLC = 1; return op }()}, states: []State{state("a", holds("k", 2))},
			want: "P6: writer w",
		},
	} {
		problems := Check(c.ops, c.states)
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", name, problems)
		case c.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Text, c.want) || problems[0].Lost != c.lost):
			t.Errorf("%s: %v, want %q, lost %t", name, problems, c.want, c.lost)
		}
	}
}

func at(op Op, client int, from, to time.Duration) Op {
	op.Client, op.Invoked, op.Returned = client, from, to
	return op
}

// A history that one order explains is linearizable; a stale read, a write
// that was refused without cause, and one that took effect after it was
// refused are not.
func TestLinearizable(t *testing.T) {
	reads := func(v int64) Op { return Op{Action: Read, Key: "k", Value: v, Outcome: Acked} }
	refused := func(op Op) Op {
		op.Outcome, op.Code = Refused, CodeMismatch
		return op
	}
	unknown := func(op Op) Op {
		op.Outcome = Unknown
		return op
	}
	for name, c := range map[string]struct {
		ops []Op
		ok  bool
	}{
		"in order":             {[]Op{at(put("k", 1, 0), 0, 0, 1), at(put("k", 2, 1), 0, 2, 3), at(reads(2), 1, 4, 5)}, true},
		"overlapping":          {[]Op{at(put("k", 1, 0), 0, 0, 5), at(reads(1), 1, 1, 2)}, true},
		"stale read":           {[]Op{at(put("k", 1, 0), 0, 0, 1), at(put("k", 2, 1), 0, 2, 3), at(reads(1), 1, 4, 5)}, false},
		"two upon one":         {[]Op{at(put("k", 1, 0), 0, 0, 5), at(put("k", 2, 0), 1, 0, 5)}, false},
		"refused with cause":   {[]Op{at(put("k", 1, 0), 0, 0, 1), at(refused(put("k", 2, 0)), 0, 2, 3)}, true},
		"refused without":      {[]Op{at(put("k", 1, 0), 0, 0, 1), at(refused(put("k", 2, 1)), 0, 2, 3)}, false},
		"unknown and done":     {[]Op{at(unknown(put("k", 1, 0)), 0, 0, 1), at(reads(1), 1, 4, 5)}, true},
		"unknown and not done": {[]Op{at(unknown(put("k", 1, 0)), 0, 0, 1), at(reads(0), 1, 4, 5)}, true},
		"unknown, then undone": {[]Op{at(unknown(put("k", 1, 0)), 0, 0, 1), at(reads(1), 1, 4, 5), at(reads(0), 1, 6, 7)}, false},
	} {
		problems, judged := Linearizable(c.ops, func(string) bool { return true }, time.Second)
		if (len(problems) == 0) != c.ok || judged != len(c.ops) {
			t.Errorf("%s: %v of %d calls", name, problems, judged)
		}
	}
}
