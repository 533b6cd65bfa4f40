package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"driftless.dev/pack"
	"driftless.dev/resolve"
	"driftless.dev/resource"
)

// Incoming is a record from another node. What comes by the stream carries its
// event, whose dot moves the vector; what comes by reconciliation has none.
type Incoming struct {
	Record resource.Record
	Event  *resource.Event
	// From is the instance that sent it, for the ledger and the quarantine.
	From resource.ID
}

// Batch is what is applied in one transaction.
type Batch struct {
	Records []Incoming
	// Adopt is joined into the vector, in the same transaction. The caller
	// proves that the state, with Records in it, includes everything that the
	// vector covers.
	Adopt Vector
	// Floor is joined into the store's, in the same transaction and after Adopt;
	// what it covers is collected. The caller proves that the floor is one, and
	// that the state has seen everything it speaks of.
	Floor Floor
	// Bootstrap, when set, says that the records are a member's whole truth, as
	// this state is too old to be joined with it.
	Bootstrap *Bootstrap
	// Member says that this state is one of the fleet's: compared with a
	// member's as an equal, or just bootstrapped. From then on it does not
	// re-bootstrap without being told to.
	Member bool
	// Cursor, when named, is stored under that name.
	Cursor     string
	CursorData []byte
}

// Applied is what a batch came to.
type Applied struct {
	// Outcomes counts what happened to the records.
	Applied, Unchanged, Ignored, Quarantined int
	Conflicts                                int // ledger entries written
	Clones                                   int // equal stamps, different writes
	// Gone counts records that were collected here, Held events that wait for a
	// comparison with their origin; HeldFrom names the instances to compare
	// with.
	Gone, Held int
	HeldFrom   []resource.ID
	// Covered lists the positions that rose.
	Covered Vector
}

// maxAhead bounds, per incarnation, the events that are remembered while a
// predecessor is missing; beyond it reconciliation closes the gap.
const maxAhead = 1024

// maxIncarnations bounds the entries of the vector, and maxAheadOrigins the
// incarnations whose early events are remembered.
const (
	maxIncarnations = 1 << 12
	maxAheadOrigins = 1 << 8
)

// Apply joins a batch into the store in one transaction and observes its
// stamps. The records have passed Validate.
func (s *Store) Apply(ctx context.Context, b Batch) (Applied, error) {
	if err := ctx.Err(); err != nil {
		return Applied{}, err
	}
	out := Applied{Covered: Vector{}}
	err := s.commits.do(func(t *txn) error {
		for i := range b.Records {
			if err := t.take(&b.Records[i], b.Bootstrap, &out); err != nil {
				return err
			}
		}
		t.bootstrapAbsent(b.Bootstrap, &out)
		t.adopt(b.Adopt, &out)
		if b.Member {
			t.allowRejoin(false)
		}
		t.raiseFloor(b.Floor)
		if b.Cursor != "" {
			t.metas[metaCursor+b.Cursor] = pack.AppendBin(nil, b.CursorData)
		}
		return t.broken
	})
	if err != nil {
		return Applied{}, err // nothing of it happened
	}
	for more := s.Garbage().Sweeping; more; {
		if more, err = s.Sweep(ctx); err != nil {
			break // the records are in; the next batch, or start, sweeps on
		}
	}
	return out, nil
}

// take takes in one record. One that cannot be joined, because what lies here
// under its id is damaged or another's, goes into quarantine: it must not stop
// the others, and its event is not covered.
func (t *txn) take(in *Incoming, boot *Bootstrap, out *Applied) error {
	prev, err := lookup(t.s, t.tx, in.Record.ID)
	if prev == nil && err == nil {
		err = t.absent(in.Record.Realm(), in.Record.ID)
	}
	switch {
	case errors.Is(err, ErrDamaged):
		out.Quarantined++
		t.quarantine(in, err.Error())
		return t.broken
	case err != nil:
		t.broken = err
		return err
	}
	var current *resource.Record
	if prev != nil {
		if current = &prev.rec; !resolve.Same(current, &in.Record) {
			out.Quarantined++
			t.quarantine(in, fmt.Sprintf("identity differs: known here as %s %q in scope %s", current.Kind, current.Name, current.Scope))
			return t.broken
		}
	}
	if boot != nil {
		return t.replace(prev, in, boot, out)
	}
	incoming, verdict := Receive(current, &in.Record, t.floor, in.Event != nil)
	switch {
	case verdict == Gone:
		out.Gone++
		if in.Event != nil {
			t.advance(in.Event, out)
		}
		return t.broken
	case verdict == Held:
		t.hold(in, out)
		return t.broken
	case in.Event != nil && t.forked(in.Event):
		t.dispute(in, out)
		return t.broken
	}
	return t.join(prev, in, incoming, out)
}

// dispute holds an event that is not of the chain this state knows, and what
// comes after it from the same incarnation.
func (t *txn) dispute(in *Incoming, out *Applied) {
	if t.disputed == nil {
		t.disputed = map[resource.ID]bool{}
	}
	t.disputed[in.Event.Incarnation] = true
	t.hold(in, out)
}

// hold leaves an event alone until its origin has been compared with: its log
// has it, so nothing is lost by that.
func (t *txn) hold(in *Incoming, out *Applied) {
	out.Held++
	if !slices.Contains(out.HeldFrom, in.From) {
		out.HeldFrom = append(out.HeldFrom, in.From)
	}
}

// forked reports whether an event cannot be of the chain that this state
// covers: it follows, or claims the place of, another than the last one.
func (t *txn) forked(ev *resource.Event) bool {
	p := t.position(ev.Incarnation)
	switch {
	case ev.Incarnation == t.identity.Incarnation:
		return false // own events that come back, perhaps from before a rollback, are told by the hello
	case ev.Seq == p.Seq+1:
		return ev.PrevHash != p.Hash
	case ev.Seq == p.Seq:
		return ev.Hash() != p.Hash
	}
	return ev.Seq > p.Seq && (t.s.disputed[ev.Incarnation] || t.disputed[ev.Incarnation])
}

// join merges a record that may come in.
func (t *txn) join(prev *stored, in *Incoming, incoming *resource.Record, out *Applied) error {
	var current *resource.Record
	if prev != nil {
		current = &prev.rec
	}
	res := resolve.Merge(current, incoming)
	if res.Outcome == resolve.Applied && in.Event != nil && t.covered(in.Event) {
		// What is covered cannot change the state: this is another event under
		// the same dot.
		t.dispute(in, out)
		return t.broken
	}
	for p := range incoming.Points() {
		t.s.clock.Observe(p.HLC)
	}
	img := imageOf(&res.Record)
	if len(img.frame) > resource.MaxFrameSize {
		out.Quarantined++
		t.quarantine(in, fmt.Sprintf("the join would be %d bytes, at most %d", len(img.frame), resource.MaxFrameSize))
		return t.broken
	}
	for _, l := range res.Losers {
		if t.recordLoss(l, in.From) {
			out.Conflicts++
		}
	}
	if res.Clone {
		out.Clones++
	}
	switch res.Outcome {
	case resolve.Applied:
		out.Applied++
		var d dot
		if in.Event != nil {
			d = dot{in.Event.Incarnation, in.Event.Seq}
		}
		t.project(prev, img, merged, nil, d)
	case resolve.Ignored:
		out.Ignored++
	default:
		out.Unchanged++
	}
	if in.Event != nil {
		t.advance(in.Event, out)
	}
	return t.broken
}

// covered reports whether an event of another incarnation is in the state.
func (t *txn) covered(ev *resource.Event) bool {
	return ev.Incarnation != t.identity.Incarnation && ev.Seq <= t.position(ev.Incarnation).Seq
}

// position is an incarnation's position as this transaction sees it.
func (t *txn) position(inc resource.ID) Position {
	if p, ok := t.vector[inc]; ok {
		return p
	}
	return t.s.vector[inc] // guarded by there being one committer
}

// early is an event that came before its predecessor: its record is in the
// state, its position is not covered yet.
type early struct {
	incarnation resource.ID
	position    Position
	prevHash    [32]byte
}

// advance moves the vector by an event that is in the state now. An event that
// does not follow the last one is kept in mind only: its predecessor may still
// come, or a reconciliation.
func (t *txn) advance(ev *resource.Event, out *Applied) {
	if ev.Incarnation == t.identity.Incarnation {
		return
	}
	e := early{ev.Incarnation, Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.Hash()}, ev.PrevHash}
	if e.follows(t.position(ev.Incarnation)) {
		t.cover(e.incarnation, e.position, out)
	} else if e.position.Seq > t.position(ev.Incarnation).Seq+1 {
		t.ahead = append(t.ahead, e)
	}
}

func (e *early) follows(p Position) bool { return e.position.Seq == p.Seq+1 && e.prevHash == p.Hash }

// cover moves an incarnation's entry, and on along the events that came early.
func (t *txn) cover(inc resource.ID, p Position, out *Applied) {
	if _, known := t.s.vector[inc]; !known && len(t.s.vector)+len(t.vector) >= maxIncarnations {
		return // made up by a peer: no fleet has so many
	}
	delete(t.disputed, inc)
	t.settled = append(t.settled, inc)
	p.HLC = max(p.HLC, t.position(inc).HLC) // its author may have vouched for more
	for ok := true; ok; p, ok = t.next(inc, p) {
		t.vector[inc], out.Covered[inc] = p, p
	}
}

func (t *txn) next(inc resource.ID, p Position) (Position, bool) {
	if e, ok := t.s.ahead[inc][p.Seq+1]; ok && e.follows(p) {
		return e.position, true
	}
	for i := range t.ahead {
		if e := &t.ahead[i]; e.incarnation == inc && e.follows(p) {
			return e.position, true
		}
	}
	return Position{}, false
}

// adopt joins a vector that the state provably covers.
func (t *txn) adopt(v Vector, out *Applied) {
	for _, inc := range v.Incarnations() {
		if inc != t.identity.Incarnation && v[inc].above(t.position(inc)) {
			t.cover(inc, t.position(inc).join(v[inc]), out)
		}
	}
}

// keepAhead remembers early events and forgets those that the vector reached,
// and the same of disputes.
func (s *Store) keepAhead(t *txn) {
	for _, e := range t.ahead {
		m := s.ahead[e.incarnation]
		if m == nil && len(s.ahead) >= maxAheadOrigins {
			continue
		}
		if m == nil {
			m = map[uint64]early{}
			s.ahead[e.incarnation] = m
		}
		if len(m) < maxAhead {
			m[e.position.Seq] = e
		}
	}
	for _, inc := range t.settled {
		delete(s.disputed, inc)
	}
	for inc := range t.disputed {
		if len(s.disputed) < maxAheadOrigins {
			s.disputed[inc] = true
		}
	}
	for inc, p := range t.vector {
		for seq := range s.ahead[inc] {
			if seq <= p.Seq {
				delete(s.ahead[inc], seq)
			}
		}
		if len(s.ahead[inc]) == 0 {
			delete(s.ahead, inc)
		}
	}
}

// Stage keeps a cursor in mind and writes it with the next transaction that
// changes something. Losing it costs a repeat, so it is not worth one of its
// own.
func (s *Store) Stage(name string, data []byte) {
	s.staging.Lock()
	defer s.staging.Unlock()
	if s.staged == nil {
		s.staged = map[string][]byte{}
	}
	s.staged[name] = data
}

// takeStaged moves the staged cursors into a transaction; what the transaction
// sets itself is newer.
func (t *txn) takeStaged() {
	t.s.staging.Lock()
	defer t.s.staging.Unlock()
	for _, name := range sortedKeys(t.s.staged) {
		if key := metaCursor + name; t.metas[key] == nil {
			t.metas[key] = pack.AppendBin(nil, t.s.staged[name])
		}
	}
	t.s.staged = nil
}

// Cursor returns what a batch stored under a name, nil for nothing.
func (s *Store) Cursor(name string) (data []byte, err error) {
	err = s.engine.View(func(tx Tx) error {
		r, err := getMeta(tx, metaCursor+name)
		if r == nil || err != nil {
			return err
		}
		data = append([]byte(nil), r.Bin()...)
		return damagedMeta(metaCursor+name, r.Close())
	})
	return data, err
}
