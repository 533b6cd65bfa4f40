package store

import (
	"encoding/binary"
	"slices"

	"driftless.dev/resource"
)

const (
	meansEntry  = "an entry of the log: the record that it wrote is in the projection"
	meansLost   = "an entry of the log that nothing here gives back: what it wrote was written over since, so the records are whole without it; watches and history of before it end"
	meansRecord = "a record: it is not held, served or forwarded until it is back"
)

// ownMark is what an own event in the log says of the chain.
type ownMark struct {
	at   uint64 // log sequence
	seq  uint64
	prev [32]byte
}

// log walks the log from where it begins, rebuilds entries that do not read
// where the chain allows, and folds.
func (x *examination) log() {
	after := x.base.Seq
	if after > 0 {
		if f, seq := x.s.anySnapshot(x.tx, false, after); seq >= after {
			x.folded, after = f, seq
		} else {
			x.say(BucketSnapshots, nil, resource.ID{}, ByTrimming, nil, "the log was trimmed and cannot be folded: records are taken as they are",
				"no snapshot of entry %d or later verifies", x.base.Seq)
			x.folded = nil
		}
	}
	w := &logWalk{x: x, marks: x.ownMarks(), candidates: x.candidates()}
	w.own, w.prevs = x.base.own(x.own)
	for seq := x.base.Seq + 1; seq <= x.head.Seq; seq++ {
		w.step(seq, seq > after)
	}
	if len(x.lost) == 0 && w.own != x.head.Own {
		x.say(BucketMeta, []byte(metaHead), resource.ID{}, ByRestore, nil, "the end of the log and its head disagree",
			"the log's last own event is %d, its head says %d", w.own.Seq, x.head.Own.Seq)
	}
	for key, err := range x.bad[BucketLog] {
		if seq, ok := x.sequence([]byte(key)); ok && seq > x.base.Seq && seq <= x.head.Seq {
			continue // told of by its sequence
		}
		x.say(BucketLog, []byte(key), resource.ID{}, ByDropping, drop(BucketLog, []byte(key)), "a row of the log under a key that is none of its", "%v", err)
	}
}

func (x *examination) sequence(key []byte) (uint64, bool) {
	if len(key) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(key), true
}

// ownMarks lists the own events that read, in order, and the end of the chain.
func (x *examination) ownMarks() (marks []ownMark) {
	x.tx.Ascend(BucketLog, seqKey(x.base.Seq+1), func(key, value []byte) bool {
		if e, err := readEntry(key, value); err == nil && e.Event != nil && e.Event.Incarnation == x.own {
			marks = append(marks, ownMark{e.Seq, e.Event.Seq, e.Event.PrevHash})
		}
		return true
	})
	return append(marks, ownMark{x.head.Seq + 1, x.head.Own.Seq + 1, x.head.Own.Hash})
}

// candidates are the sound records whose entry does not read, by sequence.
func (x *examination) candidates() map[uint64]resource.Record {
	out := map[uint64]resource.Record{}
	x.tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		if x.bad[BucketRecords][string(key)] != nil {
			return true
		}
		st, frame, err := readStoredHead(key, value)
		if err == nil && st.seq > x.base.Seq && x.badAt(BucketLog, seqKey(st.seq)) != nil {
			if rec, err := resource.DecodeRecord(slices.Clone(frame)); err == nil {
				out[st.seq] = rec
			}
		}
		return true
	})
	return out
}

// logWalk is where a walk along the log stands.
type logWalk struct {
	x          *examination
	own        Position
	prevs      map[string]uint64
	marks      []ownMark // those ahead
	until      uint64    // before this nothing is rebuilt: who wrote what is not known
	candidates map[uint64]resource.Record
}

func (w *logWalk) step(seq uint64, fold bool) {
	x, key := w.x, seqKey(seq)
	for len(w.marks) > 1 && w.marks[0].at < seq {
		w.marks = w.marks[1:]
	}
	bad := x.badAt(BucketLog, key)
	if bad == nil {
		e, err := readEntry(key, x.tx.Get(BucketLog, key))
		if err != nil {
			return
		}
		w.pass(&e, fold)
		return
	}
	if e, ok := w.rebuild(seq); ok && seq >= w.until {
		row := e.appendHead(nil)
		if e.Event != nil {
			row = e.Event.AppendTo(row)
		} else {
			row = e.Record.AppendTo(row)
		}
		x.say(BucketLog, key, e.Record.ID, FromRecord, put(BucketLog, key, row), meansEntry, "%v", bad)
		w.pass(&e, fold)
		return
	}
	x.lost = append(x.lost, seq)
	x.say(BucketLog, key, resource.ID{}, ByTrimming, nil, meansLost, "%v", bad)
	// The chain goes on from what the next own event says of its predecessor.
	if next := w.next(seq); w.due(seq) > 0 {
		w.own, w.until = Position{Seq: next.seq - 1, Hash: next.prev}, next.at
	}
}

// pass moves over an entry.
func (w *logWalk) pass(e *Entry, fold bool) {
	x := w.x
	if ev := e.Event; ev != nil && ev.Incarnation == x.own {
		if ev.Seq != w.own.Seq+1 || ev.PrevHash != w.own.Hash {
			x.say(BucketLog, seqKey(e.Seq), e.Record.ID, ByRestore, nil, "the chain of this node's own events is broken: peers will take it for a fork",
				"own event %d does not follow %d", ev.Seq, w.own.Seq)
		}
		w.own = Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.Hash()}
		w.prevs[e.Record.Realm()] = ev.Seq
	}
	switch {
	case !fold || x.folded == nil:
	case e.Collected():
		delete(x.folded, e.Record.ID)
	default:
		x.folded[e.Record.ID] = foldedRecord{frame: e.Record.AppendTo(nil), seq: e.Seq}
	}
}

// next is the first own event after a sequence, or the end of the chain.
func (w *logWalk) next(seq uint64) ownMark {
	for _, m := range w.marks {
		if m.at > seq {
			return m
		}
	}
	return w.marks[len(w.marks)-1]
}

// due is how many own events are missing before the next one that reads.
func (w *logWalk) due(seq uint64) uint64 {
	return w.next(seq).seq - 1 - min(w.own.Seq, w.next(seq).seq-1)
}

// rebuild makes an entry from the record that it wrote, when that is still
// what it was. One that may be an own event is believed only when the chain
// proves it.
func (w *logWalk) rebuild(seq uint64) (e Entry, ok bool) {
	rec, found := w.candidates[seq]
	if !found {
		return Entry{}, false
	}
	e = Entry{Seq: seq, kind: merged, Record: rec}
	if prev, known := w.x.folded[rec.ID]; known && prev.seq > 0 {
		e.PrevSeq = prev.seq
		if was, err := resource.DecodeRecord(prev.frame); err == nil {
			e.WasLive, e.OldLabels = !was.Deleted(), was.Desired.Value.Labels
		}
	}
	due := w.due(seq)
	if due == 0 {
		return e, true
	}
	own := w.x.own
	var hlc = rec.Newest().HLC
	if rec.Newest().Writer != own {
		// A write of this node bears its newest stamp; so this one was merged,
		// unless it says nothing new.
		return e, due < w.holes(seq)
	}
	for _, died := range [...]bool{rec.Deleted(), !rec.Deleted()} {
		ev := resource.Event{
			Deleted: died, Incarnation: own, Seq: w.own.Seq + 1, HLC: hlc,
			RealmPrev: w.prevs[rec.Realm()], PrevHash: w.own.Hash, Record: rec,
		}
		if due == 1 && ev.Hash() == w.next(seq).prev {
			e.Event, e.kind = &ev, ownPut
			if died {
				e.kind = ownDeleted
			}
			return e, true
		}
	}
	return Entry{}, false
}

// holes counts the entries that do not read from a sequence up to the next own
// event.
func (w *logWalk) holes(seq uint64) (n uint64) {
	for end := w.next(seq).at; seq < end; seq++ {
		if w.x.badAt(BucketLog, seqKey(seq)) != nil {
			n++
		}
	}
	return n
}
