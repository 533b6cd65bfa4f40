package replicate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// registerKind makes the kind that put writes.
func (r *rig) registerKind() {
	r.t.Helper()
	k, err := resource.KindResource(resource.Kind{APIVersion: "note.example.dev/v1", Name: "Note", Plural: "notes"}, resource.Scope{})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.store.Write(context.Background(), store.Write{Op: store.OpPut, Resource: k}); err != nil {
		r.t.Fatal(err)
	}
}

// put writes a note of about size bytes into a realm, "" for the global one.
func (r *rig) put(realm, name string, size int) store.Written {
	r.t.Helper()
	w, err := r.store.Write(context.Background(), store.Write{Op: store.OpPut, Resource: resource.Resource{
		APIVersion: "note.example.dev/v1", Kind: "Note", Scope: resource.Scope{Project: realm}, Name: name,
		Spec: fmt.Appendf(nil, `{"text":%q,"by":%q}`, strings.Repeat("x", size), r.name),
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// events returns this rig's own events after a log sequence.
func (r *rig) events(after uint64) []resource.Event {
	r.t.Helper()
	events, _, err := r.store.Outbox(after, 10000)
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

// message is a stream message of this rig's events.
func (r *rig) message(seq uint64, events ...resource.Event) replicate.Message {
	ident := r.store.Identity()
	b := wire.Batch{Instance: ident.Instance, Incarnation: ident.Incarnation, Realm: events[0].Record.Realm(), Events: events}
	return replicate.Message{At: replicate.Cursor{Created: 1, Seq: seq}, Realm: b.Realm, Origin: ident.Incarnation, Data: r.fleet.AppendBatch(nil, &b)}
}

// give joins all of this rig's own records into another's store: with their
// events as the stream would, without as a reconciliation would.
func (r *rig) give(to *rig, withEvents bool) {
	r.t.Helper()
	events := r.events(0)
	var b store.Batch
	for i := range events {
		in := store.Incoming{Record: events[i].Record, From: r.store.Identity().Instance}
		if withEvents {
			in.Event = &events[i]
		}
		b.Records = append(b.Records, in)
	}
	if _, err := to.store.Apply(context.Background(), b); err != nil {
		r.t.Fatal(err)
	}
}

// pair returns two connected rigs that agree, and both know the notes' kind.
func pair(t *testing.T) (a, b *rig) {
	t.Helper()
	a = lone(t)
	b = newRig(t, "b", a.mono)
	b.connect()
	b.registerKind()
	b.give(a, true)
	a.todo, b.todo = nil, nil
	return a, b
}
