package replicate

import (
	"context"
	"fmt"
	"sync"

	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// maxPins bounds the states that are kept for sessions under way.
const maxPins = 8

// Responder answers other members' requests from the store. It keeps no
// session: what a session needs is pinned under its root, the oldest pin makes
// room, and a session whose pin is gone starts over.
type Responder struct {
	fleet    wire.Fleet
	store    *store.Store
	standing func() wire.Heartbeat
	// admit decodes frames and parts off those with stamps too far ahead; told
	// takes what a push covered, acked an acknowledgement.
	admit func(from resource.ID, frames [][]byte) (take, refuse []store.Incoming, err error)
	told  func(store.Applied)
	acked func(data []byte)
	// claimed takes what a member holds of own events, cloned says that this
	// process is to be silent.
	claimed func(Claimed)
	cloned  func() bool

	mu   sync.Mutex
	pins []pin // oldest first
}

type pin struct {
	realm string
	root  merkle.Root
	view  *merkle.View
}

// NewResponder returns a responder over a store for the shell that steps the
// core: do runs a function on the core, under whatever keeps it to one
// goroutine, and step gives the core an input.
func NewResponder(fleet wire.Fleet, s *store.Store, do func(func(*Core)), now func() Now, step func(Input)) *Responder {
	return &Responder{
		fleet: fleet, store: s,
		standing: func() (hb wire.Heartbeat) {
			do(func(c *Core) { hb = c.Standing(now()) })
			return hb
		},
		admit: func(from resource.ID, frames [][]byte) (take, refuse []store.Incoming, err error) {
			at := now()
			do(func(c *Core) { take, refuse, err = c.Admit(at, from, frames) })
			return take, refuse, err
		},
		told:    func(a store.Applied) { step(TookPush{Result: a}) },
		acked:   func(data []byte) { step(Acked{Data: data}) },
		claimed: func(in Claimed) { step(in) },
		cloned: func() (yes bool) {
			do(func(c *Core) { yes = c.past.cloned })
			return yes
		},
	}
}

// Serve answers one request. It is safe for concurrent use.
func (r *Responder) Serve(ctx context.Context, verb string, data []byte) ([]byte, error) {
	if r.cloned() {
		return nil, ErrSilent // the older of the two answers
	}
	switch verb {
	case VerbHello:
		return r.hello(data, true)
	case VerbNodes:
		return r.nodes(data)
	case VerbRecords:
		return r.records(data)
	case VerbPush:
		return r.push(ctx, data)
	case VerbApplied:
		r.acked(data)
		return pack.AppendNil(nil), nil
	}
	return nil, fmt.Errorf("%w: verb %q", resource.ErrInvalid, verb)
}

// hello says what the current state is and, for a session to come, pins it.
func (r *Responder) hello(data []byte, pin bool) ([]byte, error) {
	m, err := r.fleet.ReadHello(data)
	if err != nil {
		return nil, err
	}
	if err := r.vouch(&m); err != nil {
		return nil, err
	}
	return r.standingOf(pin), nil
}

// vouch compares what a member holds of this node's own events with the log:
// while they differ no record flows.
func (r *Responder) vouch(m *wire.Hello) error {
	if m.Held.Incarnation != r.store.Identity().Incarnation {
		return nil
	}
	held := store.Position{Seq: m.Held.Seq, HLC: m.Held.HLC, Hash: m.Held.Hash}
	v, err := r.store.Vouch(held)
	if err != nil {
		return err
	}
	r.claimed(Claimed{Incarnation: m.Held.Incarnation, Position: held, Vouching: v})
	if v != store.Shared {
		return fmt.Errorf("%w: ask again in a moment", ErrUnsettled)
	}
	return nil
}

func (r *Responder) standingOf(pin bool) []byte {
	st := r.store.State()
	hb := r.standing()
	hb.Super, hb.VectorDigest, hb.HLC = st.Super, st.Vector.Digest(), st.Head.HLC
	hb.Own = wirePosition(st.Identity.Incarnation, st.Head.Own)
	hb.FloorDigest = st.Floor.Digest()
	m := wire.Standing{Heartbeat: hb, Seq: st.Head.Seq, Vector: wireVector(st.Vector), Floor: wireFloor(st.Floor)}
	for _, realm := range st.Realms {
		m.Realms = append(m.Realms, wire.Realm{Name: realm.Realm, Root: realm.Root, Records: uint64(realm.Records)})
	}
	if pin {
		r.pin(st)
	}
	return r.fleet.AppendStanding(nil, &m)
}

// pin keeps the views of a state. Realms that stood still share one pin.
func (r *Responder) pin(st store.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, realm := range st.Realms {
		for i := range r.pins {
			if r.pins[i].realm == realm.Realm && r.pins[i].root == realm.Root {
				r.pins = append(r.pins[:i], r.pins[i+1:]...)
				break
			}
		}
		r.pins = append(r.pins, pin{realm: realm.Realm, root: realm.Root, view: realm.View})
	}
	most := maxPins * max(1, len(st.Realms))
	if over := len(r.pins) - most; over > 0 {
		r.pins = append([]pin(nil), r.pins[over:]...)
	}
}

func (r *Responder) pinned(realm string, root merkle.Root) *merkle.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.pins {
		if r.pins[i].realm == realm && r.pins[i].root == root {
			return r.pins[i].view
		}
	}
	return nil
}

func (r *Responder) nodes(data []byte) ([]byte, error) {
	req, err := r.fleet.ReadNodesRequest(data)
	if err != nil {
		return nil, err
	}
	view := r.pinned(req.Realm, req.Root)
	if view == nil {
		return r.fleet.AppendNodes(nil, &wire.Nodes{Moved: true}), nil
	}
	m, size := wire.Nodes{}, 0
	for _, p := range req.Prefixes {
		n := view.Node(p)
		if size += 24*max(len(n.Rows), 11) + 16; size > MaxFrame-1024 && len(m.Nodes) > 0 {
			break
		}
		m.Nodes = append(m.Nodes, n)
	}
	return r.fleet.AppendNodes(nil, &m), nil
}

// records answers with whole frames, or with one piece of a frame that is too
// large for a message.
func (r *Responder) records(data []byte) ([]byte, error) {
	req, err := r.fleet.ReadRecordsRequest(data)
	if err != nil {
		return nil, err
	}
	frames, done, err := r.store.RecordsAt(req.Realm, req.Places, pushBytes)
	if err != nil {
		return nil, err
	}
	m := wire.Records{Done: uint64(done), Frames: frames}
	if len(frames) == 1 && len(frames[0]) > pushBytes {
		frame := frames[0]
		from := min(req.Offset, uint64(len(frame)))
		m = wire.Records{Done: 1, Size: uint64(len(frame)), Frames: [][]byte{frame[from:min(from+pushBytes, uint64(len(frame)))]}}
	}
	return r.fleet.AppendRecords(nil, &m), nil
}

// push applies records of a peer's session.
func (r *Responder) push(ctx context.Context, data []byte) ([]byte, error) {
	m, err := r.fleet.ReadPush(data)
	if err != nil {
		return nil, err
	}
	if err := r.joinFloor(ctx, &m); err != nil {
		return nil, err
	}
	if m.FloorDigest != r.store.Floor().Digest() {
		// What this store has collected might be among them, or what the sender
		// has collected might be missing.
		return r.fleet.AppendPushed(nil, &wire.Pushed{Refused: uint64(len(m.Frames) + len(m.Adopt))}), nil
	}
	if len(m.Adopt) > 0 && m.Boot != r.standing().Boot {
		// What it covers was told to an earlier process, and this one may have
		// been started from an older copy.
		return r.fleet.AppendPushed(nil, &wire.Pushed{Refused: uint64(len(m.Adopt))}), nil
	}
	take, refuse, err := r.admit(m.From, m.Frames)
	if err != nil {
		return nil, err
	}
	out, err := r.store.Apply(ctx, store.Batch{Records: take, Adopt: storeVector(m.Adopt)})
	if err != nil {
		return nil, err
	}
	if len(refuse) > 0 {
		if err := r.store.Quarantine(refuse, reasonAhead); err != nil {
			return nil, err
		}
	}
	r.told(out)
	return r.fleet.AppendPushed(nil, &wire.Pushed{Taken: uint64(len(take)), Refused: uint64(len(refuse) + out.Quarantined)}), nil
}

// joinFloor joins a peer's floor, when this state has seen everything that it
// speaks of.
func (r *Responder) joinFloor(ctx context.Context, m *wire.Push) error {
	if len(m.Floor) == 0 {
		return nil
	}
	floor := storeFloor(m.Floor)
	if !floor.Under(r.store.State().Vector) {
		return fmt.Errorf("%w: this state is older than the floor", ErrStale)
	}
	_, err := r.store.Apply(ctx, store.Batch{Floor: floor})
	return err
}
