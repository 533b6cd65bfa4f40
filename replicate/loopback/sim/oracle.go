package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
)

// agreeWithin is how long a healed fleet may take to agree, in virtual time;
// clocks that were over the bound have to be caught up with first.
const agreeWithin = 45 * time.Second

// afterwards heals the fleet, waits for agreement within the bound and checks
// all that was promised.
func (r *run) afterwards() error {
	for _, n := range r.f.Nodes() {
		n.Thaw()
		n.SetClock()
		n.FillDisk(false)
		n.SlowDisk(0)
		n.SoundDisk()
	}
	r.f.Calm()
	r.f.Heal()
	for _, n := range r.f.Nodes() {
		if err := r.start(n); err != nil {
			return err
		}
	}
	if err := r.converge(); err != nil {
		return err
	}
	if err := r.cheap(); err != nil {
		return err
	}
	if err := r.invariants(); err != nil {
		return err
	}
	for _, check := range []func() error{r.sound, r.identical, r.joined, r.accounted, r.names, r.figures, r.rebuilt} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// converge is the liveness: agreement within the bound.
func (r *run) converge() error {
	bound := agreeWithin
	if r.skewed {
		bound += 8 * clockOffset
	}
	start := r.f.Now()
	for r.f.Now() < start+bound {
		if r.f.Run(100*time.Millisecond, nil); r.agreed() {
			r.reached["agreed"] = uint64(r.f.Now() - start)
			r.f.Run(r.o.settle(), nil)
			return nil
		}
	}
	text := ""
	for i, n := range r.f.Nodes() {
		s := n.Store.Summary()
		text += fmt.Sprintf("\n  node %d: up %v, root %.8s, own %d, vector %x, last error %q", i, n.Up(), s.Super, s.Head.Own.Seq, s.VectorDigest[:4], n.Status().LastError)
	}
	return violation("liveness", "no agreement %s after the heal%s", bound, text)
}

// settle is what the last heartbeats and acknowledgements take, those that are
// long under way included.
func (o Options) settle() time.Duration {
	if o.Has(LongWay) {
		return longWay + 4*time.Second
	}
	return 4 * time.Second
}

func (r *run) agreed() bool {
	first := r.f.Nodes()[0].Store.Summary()
	for _, n := range r.f.Nodes()[1:] {
		if s := n.Store.Summary(); s.Super != first.Super || s.VectorDigest != first.VectorDigest {
			return false
		}
	}
	return true
}

// sound: every log folds to its projection, P9.
func (r *run) sound() error {
	for i, n := range r.f.Nodes() {
		problems, err := n.Store.Check()
		if err != nil || len(problems) > 0 {
			return violation("P9", "node %d: check: %v %v", i, problems, err)
		}
	}
	return nil
}

// identical: every node holds the same bytes of the same records, P2; equal
// roots over unequal records would be a lie.
func (r *run) identical() error {
	nodes := r.f.Nodes()
	for _, id := range r.books.records {
		var first []byte
		for i, n := range nodes {
			rec, err := n.Store.Record(id.String())
			var frame []byte
			switch {
			case err == nil:
				frame = rec.AppendTo(nil)
			case !errors.Is(err, resource.ErrNotFound):
				return err
			}
			if i == 0 {
				first = frame
			} else if !bytes.Equal(first, frame) {
				return violation("P2", "nodes 0 and %d agree and hold record %s differently (%d and %d bytes)", i, id, len(first), len(frame))
			}
		}
	}
	return nil
}

// joined: what the fleet ended with is the highest of everything that was
// written, register by register, P2 and the order of who wins.
func (r *run) joined() error {
	for _, id := range r.books.records {
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		if errors.Is(err, resource.ErrNotFound) {
			if err := r.collectedRightly(id); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		have := map[string]*version{}
		all := registersOf(&rec)
		for i := range all {
			have[all[i].name] = &all[i]
		}
		for _, v := range r.newest(id) {
			got := have[v.name]
			if got == nil && r.crowded(id) && strings.HasPrefix(v.name, finalizers) {
				continue
			}
			if got == nil {
				return violation("P5", "record %s: %s was written at %s and is nowhere", rec.Name, v.name, v.stamp.Point())
			}
			if got.stamp == v.stamp {
				continue
			}
			if above(v, got) {
				promise := "P5"
				if v.stamp.Actor == resource.Human && got.stamp.Actor != resource.Human {
					promise = "P5 person"
				}
				return violation(promise, "record %s: %s stands at %s, and %s was written above it", rec.Name, v.name, got.stamp.Point(), v.stamp.Point())
			}
		}
	}
	return nil
}

// crowded reports whether a record had more finalizers than one may keep.
func (r *run) crowded(id resource.ID) bool { return len(r.books.keys[id]) > resource.MaxFinalizers }

// newest lists the highest acknowledged version of each of a record's
// registers that nothing destroyed, in order of first writing.
func (r *run) newest(id resource.ID) (out []*version) {
	seen := map[register]bool{}
	for _, w := range r.books.known[id] {
		for _, v := range w.versions {
			if seen[v.register] {
				continue
			}
			seen[v.register] = true
			if safe, _ := highest(r.books.versions[v.register]); safe != nil {
				out = append(out, safe)
			}
		}
	}
	return out
}

// accounted is P5: every acknowledged write is there, or was knowingly
// replaced, or is in a ledger.
func (r *run) accounted() error {
	listed := map[register]map[resource.Point]bool{}
	for _, n := range r.f.Nodes() {
		rows, err := n.Store.Ledger(1 << 20)
		if err != nil {
			return err
		}
		for i := range rows {
			l := &rows[i]
			reg := register{l.Record.ID, l.Register}
			if listed[reg] == nil {
				listed[reg] = map[resource.Point]bool{}
			}
			if !listed[reg][l.Stamp.Point()] {
				listed[reg][l.Stamp.Point()] = true
				r.reached["ledger: "+string(l.Reason)]++
			}
		}
	}
	for _, id := range r.books.records {
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		gone := errors.Is(err, resource.ErrNotFound)
		if err != nil && !gone {
			return err
		}
		for _, w := range r.books.known[id] {
			for _, v := range w.versions {
				if !w.acked || v.gone || v.replaced || listed[v.register][v.stamp.Point()] || !gone && stands(&rec, v) || r.twinStands(&rec, gone, v, listed) {
					continue
				}
				if gone && r.collected(id, v) || r.crowded(id) && strings.HasPrefix(v.name, finalizers) && !v.present {
					continue
				}
				return violation("P5", "record %s: the write of %s at %s on node %d is not there, was not knowingly replaced and is in no ledger", w.record.Name, v.name, v.stamp.Point(), w.node)
			}
		}
	}
	return nil
}

// stands reports whether a version is what its register holds and in effect:
// of desired and deletion the higher is.
func stands(r *resource.Record, v *version) bool {
	have, ok := held(r, v.name)
	if !ok {
		return false
	}
	if strings.HasPrefix(v.name, finalizers) {
		return !above(v, &have) // a finalizer's later entry says what became of it
	}
	other, rival := version{}, false
	switch v.name {
	case desired:
		other, rival = held(r, deletion)
	case deletion:
		other, rival = held(r, desired)
	}
	return have.stamp.Point() == v.stamp.Point() && (!rival || !above(&other, &have))
}

// twinStands: a version that lost to one of the same content has lost nothing.
func (r *run) twinStands(rec *resource.Record, gone bool, v *version, listed map[register]map[resource.Point]bool) bool {
	for _, t := range r.books.versions[v.register] {
		if t != v && t.content == v.content && (t.replaced || listed[t.register][t.stamp.Point()] || !gone && stands(rec, t)) {
			return true
		}
	}
	return false
}

// names: an address means one record, the same on every node, and the right
// one.
func (r *run) names() error {
	seen := map[string]bool{}
	for _, w := range r.books.writes {
		kind, scope, name := w.record.Kind, w.record.Scope, w.record.Name
		key := fmt.Sprint(kind, scope, name)
		if seen[key] || kind.Kind == lateKind || kind.Kind == resource.KindKind {
			continue
		}
		seen[key] = true
		want, err := r.holder(kind, scope, name)
		if err != nil {
			return err
		}
		for i, n := range r.f.Nodes() {
			got, err := n.Store.Get(context.Background(), kind.Kind, scope, name)
			if err != nil && !errors.Is(err, resource.ErrNotFound) {
				return err
			}
			if got.ID != want {
				return violation("names", "%s %q in %s: node %d says %q holds it, it is %q", kind, name, scope, i, got.ID, want)
			}
		}
	}
	return nil
}

// holder finds who holds an address: of its live records the one that a person
// created, the earliest, the one with the lowest id.
func (r *run) holder(kind resource.GroupKind, scope resource.Scope, name string) (string, error) {
	var best *resource.Record
	for _, id := range r.books.records {
		first := &r.books.known[id][0].record
		if first.Kind != kind || first.Scope != scope || first.Name != name {
			continue
		}
		rec, err := r.f.Nodes()[0].Store.Record(id.String())
		if errors.Is(err, resource.ErrNotFound) || err == nil && dead(&rec) {
			continue
		}
		if err != nil {
			return "", err
		}
		if best == nil || holdsBefore(&rec, best) {
			best = &rec
		}
	}
	if best == nil {
		return "", nil
	}
	return best.ID.String(), nil
}

func holdsBefore(a, b *resource.Record) bool {
	ah, bh := a.Creation.Actor == resource.Human, b.Creation.Actor == resource.Human
	switch {
	case ah != bh:
		return ah
	case a.Creation.Point() != b.Creation.Point():
		return pointAbove(b.Creation.Point(), a.Creation.Point())
	}
	return bytes.Compare(a.ID[:], b.ID[:]) < 0
}

// figures: what nodes say of each other is what is.
func (r *run) figures() error {
	for _, n := range r.f.Nodes() {
		st, own := n.Status(), n.Store.Head().Own.Seq
		if !st.Ready {
			return violation("figures", "node %d is not ready in a healed fleet: %s", n.Index(), st.Waiting)
		}
		if len(st.Peers) != r.o.Nodes-1 {
			return violation("figures", "node %d knows of %d others, there are %d", n.Index(), len(st.Peers), r.o.Nodes-1)
		}
		for i := range st.Peers {
			if err := r.figuresOf(n, &st.Peers[i], own); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) figuresOf(n *loopback.Node, p *replicate.Peer, own uint64) error {
	switch {
	case p.State != replicate.Alive:
		return violation("figures", "node %d says that %s is %s", n.Index(), p.Name, p.State)
	case p.Applied != own:
		return violation("figures", "node %d says that %s is %d events behind, and it is not", n.Index(), p.Name, own-p.Applied)
	case p.Super != n.Store.Summary().Super:
		return violation("figures", "node %d says that %s differs, and it does not", n.Index(), p.Name)
	}
	return nil
}
