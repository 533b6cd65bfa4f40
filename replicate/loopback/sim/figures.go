package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"driftless.dev/replicate"
	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
)

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
		if len(st.Peers) != len(r.f.Nodes())-1 {
			text := ""
			for _, p := range st.Peers {
				text += fmt.Sprintf(" %s (%s %s)", p.Instance, p.Name, p.State)
			}
			for _, m := range r.f.Nodes() {
				text += fmt.Sprintf(" | %d is %s", m.Index(), m.Store.Identity().Instance)
			}
			return violation("figures", "node %d knows of %d others, there are %d: %s", n.Index(), len(st.Peers), len(r.f.Nodes())-1, text)
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
