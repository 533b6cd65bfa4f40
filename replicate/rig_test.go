package replicate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
	"driftless.dev/wire"
)

// epoch is when every test begins.
func epoch() time.Time { return time.UnixMilli(1_800_000_000_000) }

// rig is a core over a store of its own. Nothing happens by itself: the test
// feeds inputs and finds in todo what the core asked for.
type rig struct {
	t      *testing.T
	name   string
	fleet  wire.Fleet
	engine *memory.Engine
	store  *store.Store
	core   *replicate.Core
	resp   *replicate.Responder
	mono   *time.Duration // shared by the rigs of one test
	skew   time.Duration  // of this rig's wall clock
	todo   []replicate.Effect
	state  func() store.State                               // instead of the store's, when set
	notes  func(in replicate.Input, out []replicate.Effect) // of every step, for a transcript
}

// newRig makes a rig; name is one letter and the seed of its ids.
func newRig(t *testing.T, name string, mono *time.Duration, tune ...func(*replicate.Config)) *rig {
	t.Helper()
	r := &rig{t: t, name: name, mono: mono, engine: memory.NewEngine()}
	var err error
	if r.fleet, err = wire.NewFleet("test", nil); err != nil {
		t.Fatal(err)
	}
	r.store, err = store.Open(r.engine, store.Config{Wall: r.wall, Secret: r.fleet.Key, Random: rand.NewChaCha8([32]byte{name[0]})})
	if err != nil {
		t.Fatal(err)
	}
	cfg := replicate.Config{Fleet: r.fleet, Name: name, Boot: uint64(name[0]), Seed: 1, SyncInterval: 24 * time.Hour}
	for _, f := range tune {
		f(&cfg)
	}
	if r.core, err = replicate.LoadCore(r.store, cfg); err != nil {
		t.Fatal(err)
	}
	r.resp = replicate.NewResponder(r.fleet, r.store, func(fn func(*replicate.Core)) { fn(r.core) }, r.now, r.step)
	return r
}

// lone is a rig of its own that the transport has connected.
func lone(t *testing.T, tune ...func(*replicate.Config)) *rig {
	r := newRig(t, "a", new(time.Duration), tune...)
	r.connect()
	return r
}

func (r *rig) wall() time.Time { return epoch().Add(*r.mono + r.skew) }

func (r *rig) now() replicate.Now {
	now := replicate.Now{Wall: r.wall(), Mono: *r.mono, State: r.store.State, Summary: r.store.Summary}
	if r.state != nil {
		now.State = r.state
	}
	return now
}

func (r *rig) step(in replicate.Input) {
	out := r.core.Step(r.now(), in)
	if r.notes != nil {
		r.notes(in, out)
	}
	r.todo = append(r.todo, out...)
}

// pass lets time pass, and one tick.
func (r *rig) pass(d time.Duration) {
	*r.mono += d
	r.step(replicate.Tick{})
}

func (r *rig) connect() {
	r.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true, Stream: true}})
}

func (r *rig) status() replicate.Status { return r.core.Status(r.now()) }

func (r *rig) sessions(result string) uint64 { return r.status().Counters.Sessions[result] }

// take removes and returns the effects of one kind.
func take[E replicate.Effect](r *rig) (out []E) {
	var rest []replicate.Effect
	for _, e := range r.todo {
		if m, ok := e.(E); ok {
			out = append(out, m)
		} else {
			rest = append(rest, e)
		}
	}
	r.todo = rest
	return out
}

// one is take for exactly one effect.
func one[E replicate.Effect](r *rig) E {
	r.t.Helper()
	all := take[E](r)
	if len(all) != 1 {
		r.t.Fatalf("%d effects %T, want one; the others are %v", len(all), *new(E), r.todo)
	}
	return all[0]
}

// none fails when there is an effect of a kind.
func none[E replicate.Effect](r *rig) {
	r.t.Helper()
	if all := take[E](r); len(all) > 0 {
		r.t.Fatalf("%d effects %T, want none", len(all), all[0])
	}
}

// do carries out what the core asked for, until it asks for nothing more:
// requests are answered by answer.
func (r *rig) do(answer func(replicate.Request) ([]byte, error)) {
	for len(r.todo) > 0 {
		e := r.todo[0]
		r.todo = r.todo[1:]
		r.act(e, answer)
	}
}

func (r *rig) act(e replicate.Effect, answer func(replicate.Request) ([]byte, error)) {
	switch e := e.(type) {
	case replicate.Stage:
		r.store.Stage(e.Name, e.Data)
	case replicate.Publish:
		r.step(replicate.Published{ID: e.ID})
	case replicate.Apply:
		out, err := r.store.Apply(context.Background(), e.Batch)
		if err == nil && len(e.Refused) > 0 {
			err = r.store.Quarantine(e.Refused, e.Reason)
		}
		r.step(replicate.Applied{ID: e.ID, Result: out, Err: err})
	case replicate.ReadOutbox:
		events, last, err := r.store.Outbox(e.After, e.Limit)
		r.step(replicate.OutboxRead{Events: events, Last: last, Err: err})
	case replicate.ReadRecords:
		frames, done, err := r.store.RecordsAt(e.Realm, e.Places, 192<<10)
		r.step(replicate.RecordsRead{ID: e.ID, Frames: frames, Done: done, Err: err})
	case replicate.Vouch:
		v, err := r.store.Vouch(e.Position)
		r.step(replicate.Vouched{ID: e.ID, Vouching: v, Err: err})
	case replicate.Reincarnate:
		err := r.store.Reincarnate(context.Background(), e.How)
		r.step(replicate.Reincarnated{ID: e.ID, Identity: r.store.Identity(), Err: err})
	case replicate.Joined:
		_ = r.store.DisallowRejoin() // a full disk
	case replicate.Answered:
		if e.Confirmed {
			r.store.Confirm()
		} else {
			r.store.Unanswered()
		}
	case replicate.Request:
		if data, err := answer(e); e.ID != 0 {
			r.step(replicate.Replied{ID: e.ID, Data: data, Err: err})
		}
	}
}

// answer serves a request from this rig's store.
func (r *rig) answer(e replicate.Request) ([]byte, error) {
	return r.resp.Serve(context.Background(), e.Verb, e.Data)
}

// heartbeat is this rig's of now.
func (r *rig) heartbeat() []byte {
	hb := r.core.Standing(r.now())
	return r.fleet.AppendHeartbeat(nil, &hb)
}

// hear gives the core another rig's heartbeat.
func (r *rig) hear(other *rig) { r.step(replicate.Heard{Data: other.heartbeat()}) }

// id makes a readable id; group tells instances from incarnations.
func id(group, n int) resource.ID {
	return resource.ID{0: byte(group), 14: byte(n >> 8), 15: byte(n)}
}

// stranger gives the core a heartbeat of a made-up member with a right clock
// and this rig's own state, unless edit says otherwise.
func (r *rig) stranger(n int, edit ...func(*wire.Heartbeat)) {
	hb := r.core.Standing(r.now())
	hb.Instance, hb.Incarnation, hb.Name, hb.Boot = id(1, n), id(2, n), fmt.Sprint("s", n), 1
	hb.Own = wire.Position{Incarnation: hb.Incarnation}
	for _, f := range edit {
		f(&hb)
	}
	r.step(replicate.Heard{Data: r.fleet.AppendHeartbeat(nil, &hb)})
}

func ahead(d time.Duration) func(*wire.Heartbeat) {
	return func(hb *wire.Heartbeat) { hb.WallMillis = uint64(int64(hb.WallMillis) + d.Milliseconds()) }
}
