package driftless

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
)

const (
	// trimPause is the least time between two looks at what may be dropped.
	trimPause = time.Minute
	// scrubPause is the time between two of a scrub's short reads.
	scrubPause = 20 * time.Millisecond
	// shownDamage is how many damaged rows a node names of itself.
	shownDamage = 20
)

// keep says what of the store is kept.
func (n *Node) keep() store.Keep {
	k := store.Keep{Age: max(n.cfg.LogAge, 0), Entries: uint64(max(n.cfg.LogKeep, 0)), Through: n.replicator.TrimBound()}
	if n.cfg.NATS.Streamless {
		k.Through = n.store.Head().Seq // nothing is published
	}
	list := store.Limit{Bytes: uint64(max(n.cfg.LedgerKeep, 0)), Age: max(n.cfg.LedgerAge, 0)}
	k.Ledger, k.Quarantine = list, list
	return k
}

// trim drops what is not kept, now and then, until ctx ends.
func (n *Node) trim(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Clock.After(trimPause):
		}
		if err := n.store.Trim(ctx, n.keep()); err != nil && ctx.Err() == nil && n.store.Err() == nil {
			n.log.Warn("log not trimmed", "err", err)
		}
	}
}

// scrub reads the whole store, slowly, once in ScrubInterval, until ctx ends.
func (n *Node) scrub(ctx context.Context) error {
	if n.cfg.ScrubInterval < 0 {
		<-ctx.Done()
		return nil
	}
	pause := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.cfg.Clock.After(scrubPause):
			return nil
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.cfg.Clock.After(n.cfg.ScrubInterval):
		}
		found := n.store.DamageFound()
		err := n.store.Scrub(ctx, pause)
		switch {
		case ctx.Err() != nil || n.store.Err() != nil:
			continue
		case err != nil:
			n.log.Warn("scrub ended early", "err", err)
		case n.store.DamageFound() > found:
			n.log.Error("scrub found damage", "reason", n.damaged())
		}
	}
}

// damaged says what is damaged of the state and what to do, "" when nothing is.
func (n *Node) damaged() string {
	var first *store.Damage
	count := 0
	for _, d := range n.store.Damage() {
		if d.State() {
			if count++; first == nil {
				first = &d
			}
		}
	}
	if first == nil {
		return ""
	}
	what := fmt.Sprintf("row %s/%x", first.Bucket, first.Key)
	if !first.Record.IsZero() {
		what = "record " + first.Record.String()
	}
	return fmt.Sprintf("%d damaged rows, the first of %s: driftless fsck --repair, then driftless node repair --from MEMBER for what is left", count, what)
}

// tellIntegrity fills in what a node says of its store.
func (n *Node) tellIntegrity(out *fleet.Node) {
	rows, s, d := n.store.Damage(), n.store.Scrubbed(), n.store.Dropped()
	out.FirstSeq = n.store.FirstSeq()
	out.Damaged, out.DamagedRows = api.DamageView(rows, shownDamage), len(rows)
	out.Scrub = fleet.Scrub{Rows: s.Rows, Passes: s.Passes, Found: n.store.DamageFound(), Differences: s.Differences, At: timeOrNil(s.At)}
	out.Dropped = fleet.Dropped{LogEntries: d.Entries, Ledger: d.Losses, Quarantined: d.Quarantined}
	if reason := n.damaged(); reason != "" {
		out.Conditions = append(out.Conditions, "Damaged: "+reason)
	}
}

// ErrNoMember is returned for a member that nobody of the roster is.
var ErrNoMember = errors.New("no such member")

// Repair puts right what this node can, takes from a member what it cannot, and
// checks again. member is a name or an instance id.
func (n *Node) Repair(ctx context.Context, member string) (fleet.Repair, error) {
	peer, err := n.memberBy(ctx, member)
	if err != nil {
		return fleet.Repair{}, err
	}
	if _, err := n.store.Fsck(ctx, true); err != nil {
		return fleet.Repair{}, err
	}
	back, err := n.replicator.PutBack(ctx, peer)
	if err != nil {
		return fleet.Repair{}, err
	}
	r, err := n.store.Fsck(ctx, true)
	if err != nil {
		return fleet.Repair{}, err
	}
	n.log.Info("repaired from a member", "member", member, "records", back, "verdict", r.Soundness())
	return fleet.Repair{From: member, PutBack: back, Fsck: api.FsckView(&r)}, nil
}

// memberBy finds a member of the roster.
func (n *Node) memberBy(ctx context.Context, member string) (resource.ID, error) {
	roster, err := n.roster(ctx)
	if err != nil {
		return resource.ID{}, err
	}
	delete(roster, n.store.Identity().Instance)
	var found []resource.ID
	var names []string
	for id, name := range roster {
		names = append(names, name)
		if name == member || id.String() == member {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return resource.ID{}, fmt.Errorf("%w: %d members are named %q: give the instance id", resource.ErrAmbiguous, len(found), member)
	case len(names) == 0:
		return resource.ID{}, fmt.Errorf("%w: this node knows no other member", ErrNoMember)
	}
	return resource.ID{}, fmt.Errorf("%w: %q is none of %s", ErrNoMember, member, strings.Join(names, ", "))
}
