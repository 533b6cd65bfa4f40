package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// State is what one node answers when all faults are over.
type State struct {
	Node, Root string
	// Records are the live records by id.
	Records map[string]Record
	// Lost are the versions in the node's ledger.
	Lost []Loss
	// Holders is the id behind each name.
	Holders map[string]string
}

// Record is a live record.
type Record struct {
	Key, Digest, JSON string
	Value             int64
	Human             bool
}

// Loss is a version in a ledger. WinnerHLC and WinnerWriter are the stamp of
// what won.
type Loss struct {
	Key    string
	Value  int64
	Human  bool
	Winner string // HLC and writer, as Op.Point
}

// Point is a stamp as text, as the ledger names a winner.
func Point(hlc fmt.Stringer, writer string) string { return hlc.String() + "@" + writer }

// Problem is a broken promise. Lost marks an acknowledged write that is gone.
type Problem struct {
	Text string
	Lost bool
}

// Check judges a fleet that has healed: replicas are identical, every
// acknowledged write is accounted for, no person's write lost to automation,
// what was deleted stays so, names have one holder, and stamps rise.
func Check(ops []Op, states []State) (out []Problem) {
	c := &checker{ops: ops, states: states}
	c.identical()
	c.accounted()
	c.persons()
	c.deleted()
	c.created()
	c.rising()
	return c.problems
}

type checker struct {
	ops      []Op
	states   []State
	problems []Problem
}

func (c *checker) fail(format string, args ...any) {
	c.problems = append(c.problems, Problem{Text: fmt.Sprintf(format, args...)})
}

func (c *checker) lose(format string, args ...any) {
	c.problems = append(c.problems, Problem{Text: fmt.Sprintf(format, args...), Lost: true})
}

// identical: P2, byte for byte.
func (c *checker) identical() {
	first := c.states[0]
	for _, s := range c.states[1:] {
		if s.Root != first.Root {
			c.fail("P2: %s has root %s, %s has %s", s.Node, s.Root, first.Node, first.Root)
		}
		if !maps.Equal(s.Holders, first.Holders) {
			c.fail("names have other holders on %s than on %s", s.Node, first.Node)
		}
		for _, id := range slices.Sorted(maps.Keys(first.Records)) {
			if got, want := s.Records[id], first.Records[id]; got != want {
				c.fail("P2: %s (%s) is %q on %s and %q on %s", want.Key, id, got.JSON, s.Node, want.JSON, first.Node)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(s.Records)) {
			if _, ok := first.Records[id]; !ok {
				c.fail("P2: %s (%s) is on %s and not on %s", s.Records[id].Key, id, s.Node, first.Node)
			}
		}
	}
}

// accounted: P1 and P5. A put is accounted for when it stands, when a write
// that took effect was made upon it, or when some ledger has it.
func (c *checker) accounted() {
	held := map[int64]bool{}
	for _, s := range c.states {
		for _, r := range s.Records {
			held[r.Value] = true
		}
		for _, l := range s.Lost {
			held[l.Value] = true
		}
	}
	effect := maps.Clone(held)
	for _, op := range c.ops {
		switch {
		case op.Action == Read, op.Action == Put && op.Outcome == Acked:
			effect[op.Value] = true
		}
		effect[op.Saw] = true // it was read
	}
	upon := map[int64]bool{}
	for _, op := range c.ops {
		if op.Action == Put && effect[op.Value] || op.Action == Delete && op.Outcome != Refused {
			upon[op.Saw] = true
		}
	}
	for _, op := range c.ops {
		if op.Action == Put && op.Outcome == Acked && !held[op.Value] && !upon[op.Value] {
			c.lose("P5: value %d of %s, acknowledged by %s, is neither present, nor replaced by a write upon it, nor in a ledger", op.Value, op.Key, op.Node)
		}
	}
}

// persons: what a person wrote is not replaced by automation that did not win
// the right to.
func (c *checker) persons() {
	byValue, byPoint := map[int64]Op{}, map[string]Op{}
	for _, op := range c.ops {
		if op.Action == Put && op.Outcome != Refused {
			byValue[op.Value] = op
			if op.Outcome == Acked {
				byPoint[Point(op.HLC, op.Writer)] = op
			}
		}
	}
	human := map[string]Op{}
	for _, op := range byValue {
		if op.Human && op.Outcome == Acked {
			human[op.Key] = op
		}
	}
	for _, s := range c.states {
		for _, r := range s.Records {
			if op, ok := human[r.Key]; ok && !r.Human {
				c.lose("%s: %s holds automation's %d although a person wrote %d", s.Node, r.Key, r.Value, op.Value)
			}
		}
		for _, l := range s.Lost {
			if winner, ok := byPoint[l.Winner]; ok && l.Human && !winner.Human {
				c.lose("%s: a person's %d of %s lost to automation's %d", s.Node, l.Value, l.Key, winner.Value)
			}
		}
	}
}

// deleted: P4. Such a key has one client, so nothing was written after.
func (c *checker) deleted() {
	gone := map[string]bool{}
	for _, op := range c.ops {
		if op.Action == Delete && op.Outcome == Acked {
			gone[op.Key] = true
		}
	}
	for _, s := range c.states {
		for _, r := range s.Records {
			if gone[r.Key] {
				c.lose("P4: %s was deleted and is back on %s", r.Key, s.Node)
			}
		}
	}
}

// created: records that were created under one name are all kept.
func (c *checker) created() {
	for _, op := range c.ops {
		if op.Action != Create || op.Outcome != Acked {
			continue
		}
		for _, s := range c.states {
			if _, ok := s.Records[op.ID]; !ok {
				c.lose("P5: %s, created by %s under the name %s, is not on %s", op.ID, op.Node, op.Key, s.Node)
			}
			if s.Holders[op.Key] == "" {
				c.fail("the name %s has no holder on %s", op.Key, s.Node)
			}
		}
	}
}

// rising: P6. In the order of the node's log every incarnation's stamps rise.
// Two processes that were started from one directory write as one incarnation
// until they notice; each of them is held to it.
func (c *checker) rising() {
	type author struct{ node, writer string }
	by := map[author][]Op{}
	for _, op := range c.ops {
		if a := (author{op.Node, op.Writer}); op.Action != Read && op.Outcome == Acked && op.Writer != "" {
			by[a] = append(by[a], op)
		}
	}
	for at, ops := range by {
		slices.SortFunc(ops, func(a, b Op) int { return cmp.Compare(a.Seq, b.Seq) })
		for i := 1; i < len(ops); i++ {
			if a, b := ops[i-1], ops[i]; a.HLC >= b.HLC {
				c.fail("P6: writer %s on %s stamped %s at seq %d and %s at seq %d", at.writer, at.node, a.HLC, a.Seq, b.HLC, b.Seq)
			}
		}
	}
}
