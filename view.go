package driftless

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"driftless.dev/fleet"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// Info returns the node's account of itself.
func (n *Node) Info() fleet.Node {
	st := n.store.State()
	rep, _ := n.replicator.Status()
	ready, waiting := n.Ready()
	out := fleet.Node{
		Name: n.cfg.Name, Instance: st.Identity.Instance.String(), Incarnation: st.Identity.Incarnation.String(), LogID: st.Identity.LogID.String(),
		Fleet: n.cfg.Fleet, Version: n.cfg.Version, Ready: ready, Waiting: waiting,
		Seq: st.Head.Seq, HLC: st.Head.HLC.String(), SuperRoot: st.Super.String(), Published: rep.Published, StartedAt: n.started,
		NATS:  fleet.Transport{Connected: rep.Transport.Connected, Stream: rep.Transport.Stream, URL: rep.Transport.URL, Reason: rep.Transport.Reason, Listen: n.NATSURL()},
		Clock: fleet.Clock{OffsetSeconds: rep.ClockOffset.Seconds(), Sure: rep.ClockSure, MaxOffsetSeconds: n.maxClockOffset().Seconds()},
		Counts: fleet.Counts{
			Applied: rep.Counters.Applied, Ignored: rep.Counters.Ignored, Conflicts: rep.Counters.Conflicts,
			Rejected: rep.Counters.Rejected, Quarantined: rep.Counters.Quarantined,
		},
		Conditions: n.conditions(&rep),
	}
	n.tellIntegrity(&out)
	if recent(rep.LastErrorAt, n.cfg.Clock.Wall()) {
		out.LastError = rep.LastError
	}
	for _, r := range st.Realms {
		out.Records += r.Records
		out.Realms = append(out.Realms, fleet.Realm{Name: r.Realm, Root: r.Root.String(), Records: r.Records})
	}
	for _, inc := range st.Vector.Incarnations() {
		p := st.Vector[inc]
		out.Vector = append(out.Vector, fleet.Position{Incarnation: inc.String(), Seq: p.Seq, HLC: p.HLC.String()})
	}
	return out
}

func (n *Node) maxClockOffset() time.Duration {
	if n.cfg.MaxClockOffset > 0 {
		return n.cfg.MaxClockOffset
	}
	return replicate.DefaultMaxClockOffset
}

// conditions lists what an operator should look at, in words.
func (n *Node) conditions(rep *replicate.Status) []string {
	out := troubles(rep, n.cfg.Clock.Wall(), n.maxClockOffset())
	if held := n.memberHeld.Load(); held != nil && *held != "" {
		out = append(out, *held)
	}
	if err := n.store.Err(); err != nil {
		out = append(out, "StoreFailed: "+err.Error())
	}
	return out
}

// troubles are the conditions of replication. What happened once and no more
// is left out after a while.
func troubles(rep *replicate.Status, now time.Time, maxOffset time.Duration) (out []string) {
	say := func(holds bool, name, format string, args ...any) {
		if holds {
			out = append(out, name+": "+fmt.Sprintf(format, args...))
		}
	}
	say(rep.ClockSure && rep.ClockOffset.Abs() > maxOffset/2, "ClockSkew",
		"this machine's clock differs from the members' median by %s", rep.ClockOffset.Round(time.Millisecond))
	say(recent(rep.ForeignAt, now), "ForeignHeartbeat", "%s (another fleet name or secret uses this NATS)", rep.Foreign)
	say(rep.PublishError != "", "PublishFailing", "%s: what is written here waits, or spreads by reconciliation", rep.PublishError)
	say(recent(rep.CloneAt, now) && !rep.Cloned, "CloneSuspected", "another process uses this node's identity; the one that was started later takes no writes")
	say(rep.Cloned, "CloneSuspected", "another process uses this node's identity, and this one was started later: it takes no writes until it is stopped, or made a member of its own (driftless node reidentify)")
	say(rep.Stale != "", "Stale", "%s", rep.Stale)
	say(rep.Unconfirmed, "Unconfirmed", "local writes wait for a member to say whether this copy is the newest")
	say(rep.Counters.Rollbacks > 0, "RolledBack", "the fleet held more of this node's own events than it had: it goes on under a new incarnation")
	say(rep.Counters.Forks > 0, "Forked", "the fleet held other events of this node than it had: its own part was written anew under a new incarnation")
	say(rep.Collection.Blocked != "" && now.Sub(rep.Collection.BlockedAt) > collectPatience, "CollectionBlocked", "tombstones are kept since %s: a floor waits for %s", rep.Collection.BlockedAt.UTC().Format(time.RFC3339), rep.Collection.Blocked)
	say(rep.Counters.Clones > 0, "CloneSuspected", "two writes carry one stamp: an instance was cloned")
	return out
}

// collectPatience is how long collection may wait before it is worth a word.
const collectPatience = 24 * time.Hour

// Collection returns how far the collection of tombstones is.
func (n *Node) Collection() fleet.Collection {
	rep, _ := n.replicator.Status()
	sum := n.store.Summary()
	age := n.cfg.CollectAge
	if age <= 0 {
		age = replicate.DefaultCollectAge
	}
	out := fleet.Collection{
		Tombstones: sum.Garbage.Tombstones, Collected: sum.Garbage.Collected, Sweeping: sum.Garbage.Sweeping,
		MinAgeSeconds: age.Seconds(), Blocked: rep.Collection.Blocked, BlockedAt: timeOrNil(rep.Collection.BlockedAt),
		LastRound: timeOrNil(rep.Collection.LastRound), Floor: []fleet.Mark{},
	}
	for _, inc := range sum.Floor.Incarnations() {
		out.Floor = append(out.Floor, fleet.Mark{Incarnation: inc.String(), HLC: sum.Floor[inc].String()})
	}
	return out
}

// recent reports whether something happened within the last minute, however
// the clock was set since.
func recent(at, now time.Time) bool { return !at.IsZero() && now.Sub(at).Abs() < time.Minute }

// Ready reports whether the node has seen what the fleet knows, and what it
// waits for.
func (n *Node) Ready() (bool, string) {
	rep, _ := n.replicator.Status()
	if err := n.store.Err(); err != nil {
		return false, err.Error()
	}
	if reason := n.damaged(); reason != "" {
		return false, reason
	}
	return rep.Ready, rep.Waiting
}

// askTimeout bounds how long a member may take to say where it stands.
const askTimeout = 2 * time.Second

// standing is what one member of the roster answered.
type standing struct {
	id   resource.ID
	name string
	peer *replicate.Peer
	wire wire.Standing
	err  error
	self bool
}

// Fleet returns this node's view of all members. With ask, each is asked now
// and the verdict rests on the answers; without, on the last heartbeats, and
// then it says less.
func (n *Node) Fleet(ctx context.Context, ask bool) (fleet.Fleet, error) {
	roster, err := n.roster(ctx)
	if err != nil {
		return fleet.Fleet{}, err
	}
	rep, _ := n.replicator.Status()
	peers := map[resource.ID]*replicate.Peer{}
	for i := range rep.Peers {
		p := &rep.Peers[i]
		peers[p.Instance] = p
		if _, ok := roster[p.Instance]; !ok && p.State != replicate.Lost {
			// Heard, and its Member record is on its way. One that is silent and
			// has no record is no member: it was taken off the roster.
			roster[p.Instance] = p.Name
		}
	}
	ids := slices.Collect(maps.Keys(roster))
	slices.SortFunc(ids, func(a, b resource.ID) int { return bytes.Compare(a[:], b[:]) })
	all := make([]standing, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		all[i] = standing{id: id, name: roster[id], peer: peers[id], self: id == n.store.Identity().Instance}
		wg.Go(func() { n.gather(ctx, &all[i], ask) })
	}
	wg.Wait()
	return n.verdict(all), nil
}

// gather fills in where one member stands.
func (n *Node) gather(ctx context.Context, s *standing, ask bool) {
	switch {
	case s.self:
		s.wire, s.err = n.replicator.Self()
	case ask:
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		s.wire, s.err = n.replicator.Ask(ctx, s.id)
	case s.peer == nil:
		s.err = fmt.Errorf("%w: not heard since the start", replicate.ErrUnreachable)
	case s.peer.State != replicate.Alive:
		s.err = fmt.Errorf("%w: last heard %s", replicate.ErrUnreachable, s.peer.LastHeard.UTC().Format(time.RFC3339))
	}
}

// verdict says what the answers mean together. Silence is never agreement.
func (n *Node) verdict(all []standing) fleet.Fleet {
	out := fleet.Fleet{Name: n.cfg.Fleet}
	roots := map[string]bool{}
	var silent []string
	heads := heads(all)
	for i := range all {
		m := member(&all[i], heads)
		if m.Error != "" {
			silent = append(silent, m.Name)
		} else {
			roots[m.SuperRoot] = true
		}
		out.Members = append(out.Members, m)
	}
	out.DistinctRoots = len(roots)
	ready, waiting := n.Ready()
	rep, _ := n.replicator.Status()
	switch {
	case n.cfg.Clock.Wall().Sub(rep.CloneAt).Abs() < cloneFresh:
		out.Reason = "another process uses this node's identity: one of the two must go"
	case !ready:
		// Alone with an empty copy it would agree with itself.
		out.Reason = "this node is not ready: " + waiting
	case len(silent) > 0:
		out.Reason = "no answer from " + strings.Join(silent, ", ") + ": unknown is not agreement (gone for good? delete its Member record)"
	case len(roots) > 1:
		out.Reason = fmt.Sprintf("%d different roots", len(roots))
	default:
		out.Converged = true
	}
	if len(silent) == 0 {
		out.ConvergedUpTo = convergedUpTo(all)
	}
	return out
}

// cloneFresh is how long a clone that was heard stands against agreement: a few
// heartbeats.
const cloneFresh = 15 * time.Second

// heads is the highest position known of each incarnation.
func heads(all []standing) store.Vector {
	v := store.Vector{}
	for i := range all {
		if all[i].err != nil {
			continue
		}
		for _, p := range append(all[i].wire.Vector, all[i].wire.Heartbeat.Own) {
			v.Join(store.Vector{p.Incarnation: {Seq: p.Seq, HLC: p.HLC, Hash: p.Hash}})
		}
	}
	return v
}

func member(s *standing, heads store.Vector) fleet.Member {
	m := fleet.Member{Name: s.name, Instance: s.id.String(), State: "unknown"}
	if s.self {
		m.State = "self"
	}
	if p := s.peer; p != nil {
		m.State, m.Incarnation, m.Ready, m.Version = p.State.String(), p.Incarnation.String(), p.Ready, p.Software
		m.ClockOffsetSeconds = p.ClockOffset.Seconds()
		m.SuperRoot = fmt.Sprintf("%x", p.Super)
		m.LastHeard, m.LastRootMatch = timeOrNil(p.LastHeard), timeOrNil(p.LastMatch)
	}
	if s.err != nil {
		m.Error, m.Ready = s.err.Error(), false
		return m
	}
	hb := s.wire.Heartbeat
	if hb.Instance != s.id {
		return m // judged by heartbeats: no answer was asked for
	}
	m.Answered = true
	m.Incarnation, m.Ready, m.Version, m.SuperRoot = hb.Incarnation.String(), hb.Ready, hb.Software, fmt.Sprintf("%x", hb.Super)
	have := store.Vector{}
	for _, p := range append(s.wire.Vector, hb.Own) {
		have[p.Incarnation] = store.Position{Seq: p.Seq}
	}
	for inc, p := range heads {
		m.BehindEvents += p.Seq - min(p.Seq, have[inc].Seq)
	}
	return m
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// convergedUpTo is the earliest of all members' frontiers: for each origin the
// time up to which everything it wrote is in the member's state. An origin that
// has written nothing more is covered up to when it said so.
func convergedUpTo(all []standing) *time.Time {
	var least time.Time
	for i := range all {
		have := store.Vector{}
		for _, p := range all[i].wire.Vector {
			have[p.Incarnation] = store.Position{Seq: p.Seq, HLC: p.HLC}
		}
		for j := range all {
			o := all[j].wire.Heartbeat
			if o.Instance.IsZero() {
				return nil
			}
			frontier := time.UnixMilli(int64(o.WallMillis)).UTC()
			if p := have[o.Own.Incarnation]; i != j && p.Seq < o.Own.Seq {
				frontier = p.HLC.Time()
			}
			if least.IsZero() || frontier.Before(least) {
				least = frontier
			}
		}
	}
	return timeOrNil(least)
}
