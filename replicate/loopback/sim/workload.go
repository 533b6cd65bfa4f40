package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"driftless.dev/replicate"
	"driftless.dev/replicate/loopback"
	"driftless.dev/resource"
	"driftless.dev/store"
)

const group = "note.example.dev/v1"

// clients are who writes: what they remember between writes is a controller's
// token and what was read last.
type clients struct {
	tokens  map[string]resource.Epoch // by controller and address
	read    map[string]resource.Resource
	padding []byte
}

func newClients() *clients {
	return &clients{tokens: map[string]resource.Epoch{}, read: map[string]resource.Resource{}}
}

func kinds() []resource.Kind {
	return []resource.Kind{
		{APIVersion: group, Name: noteKind, Plural: "notes"},
		{APIVersion: group, Name: pageKind, Plural: "pages", Identity: resource.IdentityName},
		{APIVersion: group, Name: lateKind, Plural: "memos", Schema: []byte(`{"type":"object"}`)},
	}
}

func (o *Op) scope() resource.Scope { return resource.Scope{Project: o.Scope} }

func (o *Op) address() string { return o.Kind + "/" + o.Scope + "/" + o.Name }

func (o *Op) actor() resource.Actor {
	switch {
	case o.By == "human":
		return resource.Human
	case slices.Contains(controllers(), o.By):
		return resource.System
	}
	return resource.Agent
}

// spec says something that no other write says.
func (c *clients) spec(o *Op) []byte {
	b := fmt.Appendf(nil, `{"n":%d`, o.Serial)
	if o.Do == Large {
		if c.padding == nil {
			c.padding = []byte(strings.Repeat("x", 300<<10))
		}
		b = append(append(append(b, `,"padding":"`...), c.padding...), '"')
	}
	return append(b, '}')
}

// ask turns a deed into the write that it comes to on a node; false when the
// client finds nothing to do.
func (c *clients) ask(n *loopback.Node, o *Op) (store.Write, bool) {
	w := store.Write{Kind: o.Kind, Scope: o.scope(), Name: o.Name, Actor: o.actor()}
	w.Resource = resource.Resource{APIVersion: group, Kind: o.Kind, Scope: o.scope(), Name: o.Name, Spec: c.spec(o)}
	if w.Actor == resource.System {
		w.Epoch = c.tokens[o.By+o.address()]
		if o.Serial%3 == 0 {
			w.Owner = o.By
		}
	}
	switch o.Do {
	case Put, Large:
		if o.Serial%2 == 0 { // leave what stands: finalizers, owners, status
			w.Given = &resource.Given{}
		}
	case Crowd:
		for i := range resource.MaxFinalizers/2 + 8 {
			w.Resource.Finalizers = append(w.Resource.Finalizers, fmt.Sprintf("example.dev/c%d-%d", o.Serial, i))
		}
	case Create:
		w.CreateOnly = true
	case Status:
		w.Op, w.Resource.Status = store.OpStatus, fmt.Appendf(nil, `{"at":%d}`, o.Serial)
	case Delete:
		w.Op = store.OpDelete
	case Teardown:
		w.Op = store.OpTeardown
	case Destroy:
		w.Op = store.OpDestroy
	case Release:
		w.Op, w.Actor = store.OpRelease, resource.Human
	case Claim:
		w.Op = store.OpClaim
	case ServeKind, DropKind:
		return c.kind(o)
	default:
		return c.onRead(n, o, w)
	}
	return w, true
}

// onRead makes the writes that begin with a read.
func (c *clients) onRead(n *loopback.Node, o *Op, w store.Write) (store.Write, bool) {
	r, err := n.Store.Get(context.Background(), o.Kind, o.scope(), o.Name)
	if err != nil {
		return w, false
	}
	key := fmt.Sprint("example.dev/f", o.Key)
	switch o.Do {
	case CAS:
		old, ok := c.read[o.address()]
		c.read[o.address()] = r
		if !ok || o.Serial%2 == 0 {
			old = r
		}
		old.Spec = w.Resource.Spec
		w.Resource = old
		w.ID = resource.ID{}
	case Finalize:
		w.Resource = r
		w.Resource.SyncVersion = 0
		if !slices.Contains(r.Finalizers, key) {
			w.Resource.Finalizers = append(slices.Clone(r.Finalizers), key)
		}
	case Unfinal:
		w.Resource = r
		w.Resource.SyncVersion = 0
		w.Resource.Finalizers = slices.DeleteFunc(slices.Clone(r.Finalizers), func(f string) bool { return f == key })
	case Child:
		w.Resource.Kind, w.Resource.Name = noteKind, o.Name+"-child"
		w.Resource.OwnerReferences = []resource.OwnerReference{{APIVersion: group, Kind: r.Kind, Name: r.Name, ID: r.ID, Controller: true}}
		w.Epoch = resource.Epoch{}
	}
	return w, true
}

func (c *clients) kind(o *Op) (store.Write, bool) {
	for _, k := range kinds() {
		if k.Name != o.Kind {
			continue
		}
		r, err := resource.KindResource(k, resource.Scope{})
		if err != nil {
			return store.Write{}, false
		}
		w := store.Write{Op: store.OpPut, Resource: r, Actor: o.actor()}
		if o.Do == DropKind {
			w = store.Write{Op: store.OpDelete, Kind: resource.KindKind, Name: r.Name, Actor: o.actor()}
		}
		return w, true
	}
	return store.Write{}, false
}

// heard takes what a client learns from an acknowledged write.
func (c *clients) heard(o *Op, out store.Written) {
	if o.Do == Claim {
		c.tokens[o.By+o.address()] = out.Resource.Fence
	}
	c.read[o.address()] = out.Resource
}

// refusals are what a node may answer, by the name of their counter.
func refusals() map[string]error {
	return map[string]error{
		"outranked": resource.ErrOutranked, "fenced": resource.ErrFenced, "conflict": resource.ErrConflict, "exists": resource.ErrExists,
		"not found": resource.ErrNotFound, "invalid": resource.ErrInvalid, "owner": resource.ErrOwnerConflict, "parked": resource.ErrParked,
		"in use": resource.ErrInUse, "no space": store.ErrNoSpace, "failed": store.ErrFailed, "clock": replicate.ErrClock,
		"unconfirmed": store.ErrUnconfirmed, "cloned": replicate.ErrCloned,
	}
}

// refusal names why a write was refused, "" for a reason that no node may
// give.
func refusal(err error) string {
	all := refusals()
	// The most particular first: an owner's conflict is a conflict too.
	for _, name := range []string{
		"unconfirmed", "cloned", "owner", "outranked", "fenced", "exists", "parked", "in use", "no space", "failed", "clock", "not found", "conflict", "invalid",
	} {
		if errors.Is(err, all[name]) {
			return name
		}
	}
	return ""
}
