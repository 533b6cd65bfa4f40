//go:build chaos

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"driftless.dev/chaos-tests/history"
	"driftless.dev/client"
	"driftless.dev/resource"
)

const (
	itemKind = "items"
	tagKind  = "tags"
	// sharedItems is how many records all nodes write to.
	sharedItems = 60
	// callTimeout is when a client gives up and does not know.
	callTimeout = 3 * time.Second
)

// itemSpec says what was written and upon what.
type itemSpec struct {
	Value int64 `json:"value"`
	Saw   int64 `json:"saw"`
}

// registerKinds makes the workload's kinds on one node.
func registerKinds(t *testing.T, n *node) {
	t.Helper()
	schema := []byte(`{"type":"object","required":["value","saw"],"properties":{"value":{"type":"integer"},"saw":{"type":"integer"}}}`)
	for _, k := range []resource.Kind{
		{APIVersion: itemVersion, Name: "Item", Plural: itemKind, Schema: schema, Identity: resource.IdentityName},
		{APIVersion: itemVersion, Name: "Tag", Plural: tagKind, Schema: schema, Identity: resource.IdentityUnique},
	} {
		r, err := resource.KindResource(k, resource.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.client.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// load is the clients of a fleet. Each of them makes one call after the other.
type load struct {
	t       *testing.T
	rec     *history.Recorder
	clients atomic.Int64
}

// writer is one client of one node.
type writer struct {
	*load
	id  int
	n   *node
	rng *rand.Rand
}

// start sets clients on the nodes until stop is called, which waits for them.
func (l *load) start(nodes []*node) (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var wg sync.WaitGroup
	began := time.Now()
	for _, n := range nodes {
		run := func(pace time.Duration, step func(*writer, context.Context)) {
			id := int(l.clients.Add(1))
			w := &writer{load: l, id: id, n: n, rng: rand.New(rand.NewPCG(uint64(id), 0))}
			wg.Go(func() { w.run(ctx, pace, step) })
		}
		for range 2 {
			run(50*time.Millisecond, (*writer).shared)
			run(60*time.Millisecond, (*writer).register)
		}
		run(200*time.Millisecond, (*writer).mayfly)
		run(100*time.Millisecond, func(w *writer, ctx context.Context) {
			// All nodes come to a name at about the same time.
			w.create(ctx, fmt.Sprintf("tag-%d-%d", began.UnixMilli(), time.Since(began)/(time.Second/2)))
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	l.t.Cleanup(stop)
	return stop
}

func (w *writer) run(ctx context.Context, pace time.Duration, step func(*writer, context.Context)) {
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			// A call under way is finished: its outcome is worth knowing.
			step(w, context.WithoutCancel(ctx))
		}
	}
}

// shared writes upon what it reads of a record that every node writes to. A
// quarter of them are written by persons too, after which automation is refused.
func (w *writer) shared(ctx context.Context) {
	item := w.rng.IntN(sharedItems)
	key := fmt.Sprintf("item-%03d", item)
	at, ok := w.read(ctx, key)
	if ok {
		w.put(ctx, key, at, item < sharedItems/4 && w.rng.IntN(5) == 0)
	}
}

// register reads or writes a record that only this node is asked for.
func (w *writer) register(ctx context.Context) {
	key := fmt.Sprintf("%s%s-%d", registerPrefix, w.n.name, w.rng.IntN(2))
	at, ok := w.read(ctx, key)
	if ok && w.rng.IntN(3) > 0 {
		w.put(ctx, key, at, false)
	}
}

const registerPrefix = "register-"

func isRegister(key string) bool { return strings.HasPrefix(key, registerPrefix) }

// mayfly creates a record of its own and deletes it.
func (w *writer) mayfly(ctx context.Context) {
	key := fmt.Sprintf("mayfly-%s-%d", w.n.name, w.rec.Value())
	at, ok := w.put(ctx, key, standing{}, false)
	if !ok {
		return
	}
	op := w.begin(history.Delete, key)
	op.Saw = at.value
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := w.n.client.With(client.Call{IfMatch: at.digest}).Delete(ctx, client.At(itemKind, resource.Scope{}, key))
	w.end(op, out, err)
}

// standing is what a read or a write found at a key.
type standing struct {
	value  int64
	digest string // "" for nothing
}

func (w *writer) begin(action history.Action, key string) history.Op {
	return history.Op{Client: w.id, Node: w.n.name, Action: action, Key: key, Invoked: w.rec.Now()}
}

func (w *writer) read(ctx context.Context, key string) (standing, bool) {
	op := w.begin(history.Read, key)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := w.n.client.Get(ctx, itemKind, resource.Scope{}, key)
	op.Returned = w.rec.Now()
	if errors.Is(err, resource.ErrNotFound) {
		err = nil // nothing is an answer too
	}
	if err != nil {
		return standing{}, false
	}
	op.Outcome, op.Value = history.Acked, valueOf(w.t, r)
	w.rec.Add(op)
	return standing{value: op.Value, digest: r.Digest}, true
}

func valueOf(t *testing.T, r resource.Resource) int64 {
	if len(r.Spec) == 0 {
		return 0
	}
	s, err := resource.DecodeSpec[itemSpec](r)
	if err != nil {
		t.Errorf("P10: %s was served with spec %s: %v", r.Name, r.Spec, err)
	}
	return s.Value
}

func (w *writer) put(ctx context.Context, key string, at standing, human bool) (standing, bool) {
	op := w.begin(history.Put, key)
	op.Value, op.Saw, op.Human = w.rec.Value(), at.value, human
	call := client.Call{IfMatch: at.digest, IfNoneMatch: at.digest == ""}
	if human {
		call.Actor = "human"
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := w.n.client.With(call).Put(ctx, valued(w.t, "Item", key, op.Value, op.Saw))
	done := w.end(op, out, err)
	return standing{value: op.Value, digest: done.Digest}, done.Outcome == history.Acked
}

func valued(t *testing.T, kind, name string, value, saw int64) resource.Resource {
	spec, err := resource.EncodeSpec(itemSpec{value, saw})
	if err != nil {
		t.Error(err)
	}
	return resource.Resource{APIVersion: itemVersion, Kind: kind, Name: name, Spec: spec}
}

func (w *writer) create(ctx context.Context, name string) {
	op := w.begin(history.Create, name)
	op.Value = w.rec.Value()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := w.n.client.Create(ctx, valued(w.t, "Tag", name, op.Value, 0))
	if errors.Is(err, resource.ErrExists) {
		return // as most are: not worth a row
	}
	w.end(op, out, err)
}

// end enters a write with what the client was told.
func (w *writer) end(op history.Op, out client.Written, err error) history.Op {
	op.Returned = w.rec.Now()
	op.Outcome, op.Code = outcome(err)
	if err == nil {
		stamp := out.Resource.DesiredStamp
		op.ID, op.Digest, op.Seq, op.HLC, op.Writer = out.Resource.ID, out.Resource.Digest, out.Seq, out.HLC, stamp.Writer.String()
	}
	w.rec.Add(op)
	return op
}

// outcome is what an answer lets a client know. A node that has failed, or
// did not say in time, may have done it.
func outcome(err error) (history.Outcome, string) {
	switch {
	case err == nil:
		return history.Acked, ""
	case errors.Is(err, resource.ErrConflict), errors.Is(err, resource.ErrExists):
		return history.Refused, history.CodeMismatch
	}
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status != 504 && e.Code != "unavailable" && e.Status != 500 {
		return history.Refused, e.Code
	}
	if errors.Is(err, client.ErrUnreachable) && strings.Contains(err.Error(), "dial unix") {
		return history.Refused, "unreachable" // nothing was sent
	}
	return history.Unknown, ""
}
