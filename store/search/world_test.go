package search_test

import (
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// The world's size. The last writer is the incarnation that a restored node
// goes on under.
const (
	nodes     = 3
	writers   = nodes + 1
	maxEvents = 3 // of one writer
)

// marks is a vector of stamps or sequences, by writer.
type marks [writers]uint8

func (m marks) join(o marks) marks {
	for i := range m {
		m[i] = max(m[i], o[i])
	}
	return m
}

func (m marks) least(o marks) marks {
	for i := range m {
		m[i] = min(m[i], o[i])
	}
	return m
}

func (m marks) covers(o marks) bool {
	for i := range m {
		if m[i] < o[i] {
			return false
		}
	}
	return true
}

// node is what a node holds. The record is an index into the library, 0 for
// none; vectors count events.
type node struct {
	rec   uint16
	as    uint8 // the writer that it writes as
	clock uint8
	vec   marks
	known [nodes]marks // what it has heard of the others' vectors
	gone  uint8        // members that it does not count any more, as bits
	floor marks        // by stamp
	noted bool         // the first step of a floor was taken:
	least marks        // by sequence, of all vectors then
	heads marks        // every member's own events then
	// buried is the place of the deletion that it collected, 0 for none.
	buried uint8
}

// event is one own event of a writer.
type event struct {
	rec uint16
	at  uint8
}

// state is the whole world. It is comparable: equal states are one.
type state struct {
	nodes   [nodes]node
	events  [writers][maxEvents]event
	wrote   marks // events per writer
	puts    uint8
	deletes uint8
	backup  node
	backed  uint8 // 0 none, 1 taken, 2 restored
	evicted bool
	slept   uint8 // steps of age that passed, for the rule by age
}

// library interns records: equal ones have one index, so that states stay
// small and no work is done twice.
type library struct {
	records []*resource.Record
	byHash  map[[32]byte]uint16
	joins   map[[2]uint16]uint16
}

func newLibrary() *library {
	return &library{records: []*resource.Record{nil}, byHash: map[[32]byte]uint16{}, joins: map[[2]uint16]uint16{}}
}

func (l *library) keep(r *resource.Record) uint16 {
	if r == nil {
		return 0
	}
	h := r.Digest()
	i, ok := l.byHash[h]
	if !ok {
		i = uint16(len(l.records))
		l.records = append(l.records, r)
		l.byHash[h] = i
	}
	return i
}

// join is resolve's.
func (l *library) join(a, b uint16) uint16 {
	switch {
	case a == b || b == 0:
		return a
	case a == 0:
		return b
	}
	key := [2]uint16{a, b}
	i, ok := l.joins[key]
	if !ok {
		res := resolve.Merge(l.records[a], l.records[b])
		i = l.keep(&res.Record)
		l.joins[key] = i
	}
	return i
}

func (l *library) dead(i uint16) bool { return i != 0 && l.records[i].Deleted() }

// place is a stamp's place in the order of writes.
func place(p resource.Point) uint8 { return uint8(p.HLC)<<3 | (p.Writer[15] - 1) }

// deletion and desired are the places of what a record says, 0 for nothing.
func (l *library) deletion(i uint16) uint8 {
	if i == 0 || l.records[i].Deletion == nil {
		return 0
	}
	return place(l.records[i].Deletion.Stamp.Point())
}

func (l *library) desired(i uint16) uint8 {
	if i == 0 {
		return 0
	}
	return place(l.records[i].Desired.Stamp.Point())
}

func (l *library) newest(i uint16) uint8 {
	if i == 0 {
		return 0
	}
	return uint8(l.records[i].Newest().HLC)
}

func writerID(w uint8) (id resource.ID) {
	id[0], id[15] = 1, w+1
	return id
}

func kind() resource.GroupKind {
	return resource.GroupKind{Group: "note.example.dev", Kind: "Page"}
}

// write asks the stamper for a put or a delete; 0 when it refuses.
func (l *library) write(existing uint16, del, person bool, as, node, at uint8) uint16 {
	s := store.Stamper{Instance: writerID(100 + node), Incarnation: writerID(as)}
	w := &store.Write{Resource: resource.Resource{
		APIVersion: "note.example.dev/v1", Kind: "Page", Name: "r", Spec: fmt.Appendf(nil, `{"at":%d,"by":%d}`, at, as),
	}}
	if person {
		w.Actor = resource.Human
	}
	var post store.Post
	var err error
	if del {
		w.Op = store.OpDelete
		post, err = s.Delete(l.records[existing], w, hlc.Timestamp(at))
	} else {
		post, err = s.Put(l.records[existing], w, resource.NameID(kind(), resource.Scope{}, "r"), hlc.Timestamp(at))
	}
	if err != nil || !post.Changed {
		return 0
	}
	return l.keep(&post.Record)
}

// stamps turns a vector of sequences into one of stamps, as the events had
// them.
func (s *state) stamps(seqs marks) (out marks) {
	for w, seq := range seqs {
		if seq > 0 {
			out[w] = s.events[w][seq-1].at
		}
	}
	return out
}

func floorOf(m marks) store.Floor {
	f := store.Floor{}
	for w, at := range m {
		if at > 0 {
			f[writerID(uint8(w))] = hlc.Timestamp(at)
		}
	}
	return f
}

func (s *state) vectorOf(seqs marks) store.Vector {
	v := store.Vector{}
	for w, seq := range seqs {
		if seq > 0 {
			v[writerID(uint8(w))] = store.Position{Seq: uint64(seq), HLC: hlc.Timestamp(s.events[w][seq-1].at)}
		}
	}
	return v
}

// begin is a world in which all nodes have the record that the first of them
// created.
func begin(l *library) state {
	var s state
	rec := l.write(0, false, false, 0, 0, 1)
	s.events[0][0] = event{rec, 1}
	s.wrote[0] = 1
	for i := range s.nodes {
		n := &s.nodes[i]
		n.rec, n.as, n.clock, n.vec[0] = rec, uint8(i), 1, 1
		for j := range n.known {
			n.known[j][0] = 1
		}
	}
	return s
}
