package sim

import (
	"crypto/sha256"
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// register names one register of one record.
type register struct {
	id   resource.ID
	name string // as the ledger names it
}

// The registers' names.
const (
	desired    = "desired"
	deletion   = "deletion"
	observed   = "observed"
	finalizers = "finalizers/"
)

// version is one write of one register.
type version struct {
	register
	stamp resource.Stamp
	// incarnation and present are a finalizer's.
	incarnation resource.Point
	present     bool
	content     [32]byte
	write       *write
	// acked: a client was told of it, under this name or an earlier one.
	acked bool
	// replaced: some write was made by who had it in view. renamed: its node
	// issued it anew, under another incarnation.
	replaced, renamed bool
	// gone: a restore destroyed the last trace of it.
	gone bool
}

// write is one event that a node wrote, as its log held it then.
type write struct {
	node        int
	incarnation resource.ID
	seq, logSeq uint64
	hash        [32]byte
	hlc         hlc.Timestamp
	record      resource.Record
	versions    []*version
	prev        *write // of the same incarnation
	// acked: a client was told. One that was not may or may not have happened.
	acked bool
}

// deletes reports whether the write stamped a deletion too: a put of a record
// that is terminating does.
func (w *write) deletes(p resource.Point) bool {
	for _, v := range w.versions {
		if v.name == deletion && v.stamp.Point() == p {
			return true
		}
	}
	return false
}

// dot names an event. A clone's, or a rolled back node's, may carry a dot that
// another event carries too, until it is settled: the hash tells them apart.
type dot struct {
	incarnation resource.ID
	seq         uint64
	hash        [32]byte
}

// branch is one node's chain of one incarnation.
type branch struct {
	node        int
	incarnation resource.ID
}

// books are the run's own record of what was written.
type books struct {
	writes   []*write
	chains   map[branch][]*write
	byDot    map[dot]*write
	versions map[register][]*version
	records  []resource.ID // in order of their first write
	known    map[resource.ID][]*write
	read     map[int]uint64                  // by node: the log up to here
	keys     map[resource.ID]map[string]bool // of finalizers, ever
}

func newBooks() *books {
	return &books{chains: map[branch][]*write{}, byDot: map[dot]*write{}, versions: map[register][]*version{}, known: map[resource.ID][]*write{}, read: map[int]uint64{}, keys: map[resource.ID]map[string]bool{}}
}

// catchUp enters the own events of a node that the books do not have: after an
// acknowledgement that one, after a crash perhaps one that nobody was told of,
// which a node that is down may hold without knowing.
func (b *books) catchUp(n *loopback.Node, acked bool) error {
	after := b.read[n.Index()]
	if acked {
		after = n.Store.Head().Seq - 1 // what was acknowledged is the last entry
	}
	for {
		var found []store.Entry
		last, err := n.Store.Entries(after, 64, func(e store.Entry) error {
			found = append(found, e)
			return nil
		})
		if err != nil || last == after {
			return err
		}
		after = last
		b.read[n.Index()] = last
		for i := range found {
			ev := found[i].Event
			if ev == nil || ev.Seq <= uint64(len(b.chains[branch{n.Index(), ev.Incarnation}])) {
				continue
			}
			if w := b.byDot[dot{ev.Incarnation, ev.Seq, ev.Hash()}]; w != nil {
				own := branch{n.Index(), ev.Incarnation}
				b.chains[own] = append(b.chains[own], w) // known, from before a restore or a copy
			} else {
				if err := b.enter(n, &found[i], acked); err != nil {
					return err
				}
			}
		}
	}
}

// enter notes one event, and holds it to the chain of its incarnation.
func (b *books) enter(n *loopback.Node, e *store.Entry, acked bool) error {
	ev := e.Event
	w := &write{
		node: n.Index(), incarnation: ev.Incarnation, seq: ev.Seq, logSeq: e.Seq, hash: ev.Hash(), hlc: ev.HLC,
		record: e.Record, acked: acked,
	}
	own := branch{n.Index(), ev.Incarnation}
	chain := b.chains[own]
	var prev write
	if len(chain) > 0 {
		w.prev = chain[len(chain)-1]
		prev = *w.prev
	}
	switch {
	case ev.Seq != prev.seq+1:
		return violation("P6", "node %d wrote event %d of %s after %d", n.Index(), ev.Seq, ev.Incarnation, prev.seq)
	case ev.PrevHash != prev.hash:
		return violation("chain", "event %s/%d does not follow the event before it", ev.Incarnation, ev.Seq)
	case ev.HLC <= prev.hlc:
		return violation("P6", "event %s/%d is stamped %s, the one before %s", ev.Incarnation, ev.Seq, ev.HLC, prev.hlc)
	}
	var before *resource.Record
	if e.PrevSeq > 0 {
		if _, err := n.Store.Entries(e.PrevSeq-1, 1, func(p store.Entry) error { before = &p.Record; return nil }); err != nil {
			return err
		}
	}
	b.chains[own] = append(chain, w)
	b.byDot[dot{ev.Incarnation, ev.Seq, w.hash}] = w
	b.writes = append(b.writes, w)
	id := w.record.ID
	if len(b.known[id]) == 0 {
		b.records = append(b.records, id)
	}
	b.known[id] = append(b.known[id], w)
	for _, f := range w.record.Finalizers {
		if b.keys[id] == nil {
			b.keys[id] = map[string]bool{}
		}
		b.keys[id][f.Key] = true
	}
	b.compare(w, before)
	return nil
}

// compare notes what the write changed, and what its writer thereby replaced.
func (b *books) compare(w *write, before *resource.Record) {
	now := registersOf(&w.record)
	was := map[string]*version{}
	if before != nil {
		old := registersOf(before)
		for i := range old {
			was[old[i].name] = &old[i]
		}
	}
	ranked := false
	for i := range now {
		v := &now[i]
		if old := was[v.name]; old != nil && old.stamp == v.stamp && old.present == v.present {
			continue
		}
		v.write, v.content, v.acked = w, contentOf(&w.record, v.name), w.acked
		if old := was[v.name]; old != nil && old.stamp.Writer != w.incarnation && b.chains[branch{w.node, old.stamp.Writer}] != nil &&
			old.present == v.present && gist(before, v.name) == gist(&w.record, v.name) {
			b.rename(old, v)
		}
		w.versions = append(w.versions, v)
		b.versions[v.register] = append(b.versions[v.register], v)
		if v.name == desired || v.name == deletion {
			ranked = true
		} else {
			b.replace(was[v.name])
		}
	}
	if ranked { // each of the two can undo the other
		b.replace(was[desired])
		b.replace(was[deletion])
	}
}

// rename follows a write that its node issued anew. Where its time fell, so did
// its place above what it had replaced: nobody has to hold those any more.
func (b *books) rename(old, v *version) {
	for _, o := range b.versions[old.register] {
		if o.stamp.Point() == old.stamp.Point() {
			o.renamed, v.acked, v.replaced = true, v.acked || o.acked, v.replaced || o.replaced
		}
	}
	if v.stamp.HLC == old.stamp.HLC {
		return
	}
	for _, name := range [...]string{v.name, desired, deletion} {
		if name != v.name && v.name != desired && v.name != deletion {
			continue
		}
		for _, o := range b.versions[register{v.id, name}] {
			o.renamed = o.renamed || o.replaced && o.stamp.HLC < old.stamp.HLC && o.stamp.HLC > v.stamp.HLC
		}
	}
}

// reread makes a node's chains what its log holds, as after a restore, or for a
// copied directory.
func (b *books) reread(n *loopback.Node) error {
	for br := range b.chains {
		if br.node == n.Index() {
			delete(b.chains, br)
		}
	}
	b.read[n.Index()] = 0
	return b.catchUp(n, false)
}

func (b *books) replace(old *version) {
	if old == nil {
		return
	}
	for _, v := range b.versions[old.register] {
		if v.stamp.Point() == old.stamp.Point() {
			v.replaced = true
		}
	}
}

// registersOf lists what a record holds.
func registersOf(r *resource.Record) []version {
	out := make([]version, 0, 4+len(r.Finalizers))
	out = append(out, version{register: register{r.ID, desired}, stamp: r.Desired.Stamp})
	if d := r.Deletion; d != nil {
		out = append(out, version{register: register{r.ID, deletion}, stamp: d.Stamp})
	}
	if o := r.Observed; o != nil {
		out = append(out, version{register: register{r.ID, observed}, stamp: o.Stamp})
	}
	for _, f := range r.Finalizers {
		out = append(out, version{
			register: register{r.ID, finalizers + f.Key}, stamp: resource.Stamp{HLC: f.At.HLC, Writer: f.At.Writer},
			incarnation: f.Incarnation, present: f.Present,
		})
	}
	return out
}

// gist is what a register says, without the stamps that it refers to: what stays
// the same when a write is issued anew under another name or time.
func gist(r *resource.Record, name string) string {
	switch {
	case name == desired:
		return fmt.Sprint(r.Desired.Value)
	case name == deletion && r.Deletion != nil:
		return r.Deletion.Value.Strength.String()
	case name == observed && r.Observed != nil:
		return string(r.Observed.Value.Status)
	}
	return ""
}

// contentOf is what a register says, whoever said it and when.
func contentOf(r *resource.Record, name string) [32]byte {
	switch {
	case name == desired:
		return sha256.Sum256(fmt.Append(nil, r.Desired.Value))
	case name == deletion && r.Deletion != nil:
		return sha256.Sum256(fmt.Append(nil, r.Deletion.Value))
	case name == observed && r.Observed != nil:
		return sha256.Sum256(fmt.Append(nil, r.Observed.Value))
	}
	return [32]byte{}
}
