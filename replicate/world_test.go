package replicate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/store"
)

// Ways of the transcripts' world; each takes its time, always the same.
const (
	diskTime    = time.Millisecond
	networkTime = 5 * time.Millisecond
	streamTime  = 3 * time.Millisecond
)

// world is a few rigs under one clock, whose every input and effect is written
// down.
type world struct {
	t      *testing.T
	mono   time.Duration
	rigs   []*rig
	queue  []happening
	stream []func(*rig)
	cut    func(from, to *rig) bool // nil, or whether nothing passes
	lose   func(seq int, to *rig) bool
	text   strings.Builder
	quiet  bool
	verbs  map[string]string // "a7": what a's request 7 asked for
}

type happening struct {
	at time.Duration
	do func()
}

// newWorld makes rigs that agree on the notes' kind, up and ready.
func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	w := &world{t: t, quiet: true, verbs: map[string]string{}}
	for _, name := range names {
		r := newRig(t, name, &w.mono)
		r.notes = func(in replicate.Input, out []replicate.Effect) { w.note(r, in, out) }
		w.rigs = append(w.rigs, r)
		r.connect()
	}
	w.rigs[0].registerKind()
	w.grown(w.rigs[0])
	w.run(5 * time.Second)
	for _, r := range w.rigs {
		if !r.status().Ready {
			t.Fatalf("%s is not ready: %s", r.name, r.status().Waiting)
		}
	}
	w.quiet = false
	return w
}

func (w *world) say(format string, args ...any) {
	if !w.quiet {
		fmt.Fprintf(&w.text, format+"\n", args...)
	}
}

func (w *world) after(d time.Duration, do func()) {
	w.queue = append(w.queue, happening{w.mono + d, do})
	slices.SortStableFunc(w.queue, func(a, b happening) int { return int(a.at - b.at) })
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	for end := w.mono + d; ; {
		w.carry()
		next, do := end, func() {}
		for _, r := range w.rigs {
			if at := max(r.core.Wake(), w.mono+1); at < next {
				next, do = at, func() { r.step(replicate.Tick{}) }
			}
		}
		if len(w.queue) > 0 && w.queue[0].at <= next {
			next, do = w.queue[0].at, w.queue[0].do
			w.queue = w.queue[1:]
		} else if next == end {
			w.mono = end
			return
		}
		w.mono = next
		do()
	}
}

// carry schedules what the rigs asked for.
func (w *world) carry() {
	for _, r := range w.rigs {
		todo := r.todo
		r.todo = nil
		for _, e := range todo {
			switch e := e.(type) {
			case replicate.Stage:
				r.act(e, nil)
			case replicate.Broadcast:
				for _, to := range w.rigs {
					if to != r && w.passes(r, to) {
						w.after(networkTime, func() { to.step(replicate.Heard(e)) })
					}
				}
			case replicate.Publish:
				w.publish(r, e)
			case replicate.Request:
				w.request(r, e)
			default:
				w.after(diskTime, func() {
					r.act(e, nil)
					w.grown(r)
				})
			}
		}
	}
}

func (w *world) grown(r *rig) { r.step(replicate.Appended{Seq: r.store.Head().Seq}) }

func (w *world) passes(from, to *rig) bool { return w.cut == nil || !w.cut(from, to) }

// publish carries a message through the stream; a nil end of a link is the
// stream's.
func (w *world) publish(r *rig, e replicate.Publish) {
	if !w.passes(r, nil) {
		w.after(time.Second, func() { r.step(replicate.Published{ID: e.ID, Err: replicate.ErrDisconnected}) })
		return
	}
	w.after(streamTime, func() {
		w.stream = append(w.stream, nil)
		seq := len(w.stream)
		m := replicate.Message{At: replicate.Cursor{Created: 1, Seq: uint64(seq)}, Realm: e.Realm, Origin: r.store.Identity().Incarnation, Data: e.Data}
		for _, to := range w.rigs {
			if w.passes(to, nil) && (w.lose == nil || !w.lose(seq, to)) {
				w.after(streamTime, func() { to.step(m) })
			}
		}
		r.step(replicate.Published{ID: e.ID})
	})
}

func (w *world) request(r *rig, e replicate.Request) {
	for _, to := range w.rigs {
		if to.store.Identity().Instance != e.To || !w.passes(r, to) {
			continue
		}
		w.after(networkTime, func() {
			data, err := to.answer(e)
			if e.Verb == replicate.VerbPush {
				w.grown(to)
			}
			if e.ID != 0 {
				w.after(networkTime, func() { r.step(replicate.Replied{ID: e.ID, Data: data, Err: err}) })
			}
		})
		return
	}
	if e.ID != 0 {
		w.after(time.Second, func() { r.step(replicate.Replied{ID: e.ID, Err: replicate.ErrUnreachable}) })
	}
}

// write makes a local write, as the API would.
func (w *world) write(r *rig, name string) store.Written {
	w.say("\n# %s writes %s", r.name, name)
	out := r.put("", name, 1)
	w.grown(r)
	return out
}

// agreed fails unless all rigs hold the same.
func (w *world) agreed() {
	w.t.Helper()
	for _, r := range w.rigs[1:] {
		agree(w.rigs[0], r)
	}
}
