package replicate

import (
	"context"
	"errors"
	"fmt"

	"driftless.dev/merkle"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// TrimBound is the last log sequence that the publisher will not read again,
// also after a restart of this node or of the stream.
func (r *Replicator) TrimBound() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.core.pub.done - min(safetyWindow, r.core.pub.done)
}

// Bounds of a repair.
const (
	repairTries = 5
	// repairPlaces is how many records are asked for at once.
	repairPlaces = 256
)

// errPeerMoved ends a try: the peer's root moved on the way.
var errPeerMoved = errors.New("the member was written to meanwhile")

// PutBack compares this node's records with a member's and takes over those
// that are damaged or missing here, past the merge's refusals; others are left
// to the ordinary reconciliation. It returns how many were put back.
func (r *Replicator) PutBack(ctx context.Context, peer resource.ID) (n int, err error) {
	for range repairTries {
		var got int
		got, err = r.putBack(ctx, peer)
		n += got
		if !errors.Is(err, errPeerMoved) {
			break
		}
	}
	if err != nil {
		return n, fmt.Errorf("repair from %s: %w", peer, err)
	}
	return n, nil
}

func (r *Replicator) putBack(ctx context.Context, peer resource.ID) (n int, err error) {
	fleet := &r.core.cfg.Fleet // never changes
	hello := wire.Hello{From: r.store.Identity().Instance, Name: r.core.cfg.Name}
	data, err := r.askNow(ctx, peer, VerbHello, fleet.AppendHello(nil, &hello))
	if err != nil {
		return 0, err
	}
	theirs, err := fleet.ReadStanding(data)
	if err != nil {
		return 0, err
	}
	if theirs.Heartbeat.Instance != peer {
		return 0, fmt.Errorf("%w: %s answered for %s", resource.ErrInvalid, theirs.Heartbeat.Instance, peer)
	}
	mine := r.store.State()
	for _, realm := range theirs.Realms {
		here, ok := mine.Realm(realm.Name)
		if ok && here.Root == realm.Root || realm.Records == 0 {
			continue
		}
		view := here.View
		if !ok {
			view = merkle.New(fleet.Key, realm.Name).View()
		}
		places, err := r.differences(ctx, peer, realm, view)
		if err != nil {
			return n, err
		}
		got, err := r.fetch(ctx, peer, realm.Name, places, storeVector(theirs.Vector))
		n += got
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (r *Replicator) askNow(ctx context.Context, peer resource.ID, verb string, data []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return r.bus.Request(ctx, peer, verb, data)
}

// differences are the places at which the member has what this node has not.
func (r *Replicator) differences(ctx context.Context, peer resource.ID, realm wire.Realm, view *merkle.View) (places []merkle.Key, err error) {
	fleet := &r.core.cfg.Fleet
	d := merkle.NewDescent(view, realm.Root)
	for {
		asked := d.Ask(wire.MaxPrefixes)
		if len(asked) == 0 {
			break
		}
		req := wire.NodesRequest{Realm: realm.Name, Root: realm.Root, Prefixes: asked}
		data, err := r.askNow(ctx, peer, VerbNodes, fleet.AppendNodesRequest(nil, &req))
		if err != nil {
			return nil, err
		}
		nodes, err := fleet.ReadNodes(data)
		switch {
		case err != nil:
			return nil, err
		case nodes.Moved:
			return nil, errPeerMoved
		case len(nodes.Nodes) > len(asked) || len(nodes.Nodes) == 0:
			return nil, fmt.Errorf("%w: %d nodes for %d prefixes", resource.ErrInvalid, len(nodes.Nodes), len(asked))
		}
		for i, node := range nodes.Nodes {
			if err := d.Answer(asked[i], node); err != nil {
				return nil, fmt.Errorf("compare realm %q: %w", realm.Name, err)
			}
		}
	}
	for _, diff := range d.Differences() {
		if !diff.Remote.IsZero() {
			places = appendKey(places, diff.Key)
		}
	}
	return places, nil
}

// fetch pulls the records at places and puts back what is needed of them.
func (r *Replicator) fetch(ctx context.Context, peer resource.ID, realm string, places []merkle.Key, covers store.Vector) (n int, err error) {
	for len(places) > 0 {
		frames, done, err := r.pull(ctx, peer, realm, places[:min(len(places), repairPlaces)])
		if err != nil {
			return n, err
		}
		places = places[done:]
		var take []store.Incoming
		now := r.now()
		r.locked(func(c *Core) { take, _, err = c.admit(now, realm, peer, frames) })
		if err != nil {
			return n, err
		}
		got, err := r.store.PutBack(ctx, take, covers)
		n += got
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// pull asks for records, in pieces for one that is too large for a message.
func (r *Replicator) pull(ctx context.Context, peer resource.ID, realm string, places []merkle.Key) (frames [][]byte, done int, err error) {
	fleet := &r.core.cfg.Fleet
	var partial []byte
	for {
		req := wire.RecordsRequest{Realm: realm, Places: places, Offset: uint64(len(partial))}
		if len(partial) > 0 {
			req.Places = places[:1]
		}
		data, err := r.askNow(ctx, peer, VerbRecords, fleet.AppendRecordsRequest(nil, &req))
		if err != nil {
			return nil, 0, err
		}
		m, err := fleet.ReadRecords(data)
		switch {
		case err != nil:
			return nil, 0, err
		case m.Size == 0 && len(partial) > 0:
			return nil, 0, errPeerMoved
		case m.Size == 0 && (m.Done == 0 || m.Done > uint64(len(places))):
			return nil, 0, fmt.Errorf("%w: %d of %d records answered", resource.ErrInvalid, m.Done, len(places))
		case m.Size == 0:
			return m.Frames, int(m.Done), nil
		case len(m.Frames) != 1 || len(m.Frames[0]) == 0 || uint64(len(partial)+len(m.Frames[0])) > m.Size:
			return nil, 0, errPeerMoved
		}
		if partial = append(partial, m.Frames[0]...); uint64(len(partial)) == m.Size {
			return [][]byte{partial}, 1, nil
		}
	}
}
