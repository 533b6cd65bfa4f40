package resolve_test

import (
	"fmt"
	"reflect"

	"driftless.dev/resource"
)

// write names a write of a register.
type write struct {
	register string
	at       resource.Point
}

// An oracle keeps what truly happened in a history, whatever contexts say.
type oracle struct {
	// known tells, per write of a register, all earlier writes that it was made
	// upon. Desired and deletion can undo each other, so a write of one is made
	// upon both.
	known map[write]map[write]bool
	// twins tells, per write that gave way to one of the same value with the
	// same standing, what stands for it.
	twins map[write][]write
	// upon is the deletion that the writer of a status saw, per digest.
	upon map[[32]byte]standing
	// moved are changes of the incarnation that no deletion explains.
	moved []string
}

// standing is what a record's incarnation may depend on.
type standing struct {
	deletion  [32]byte
	requested bool
}

func newOracle() oracle {
	return oracle{known: map[write]map[write]bool{}, twins: map[write][]write{}, upon: map[[32]byte]standing{}}
}

func standingOf(r *resource.Record) standing { return standing{digestOf(r.Deletion), r.Requested()} }

// learn notes upon what each register of a post-image was written.
func (o *oracle) learn(before, after *resource.Record) {
	old := map[string]resource.Point{}
	if before != nil {
		old = registers(before)
	}
	for name, p := range registers(after) {
		w := write{name, p}
		if p == old[name] || o.known[w] != nil {
			continue
		}
		o.known[w] = map[write]bool{}
		for prev, at := range old {
			if prev != name && (prev == "observed" || name == "observed") {
				continue
			}
			o.known[w][write{prev, at}] = true
			for k := range o.known[write{prev, at}] {
				o.known[w][k] = true
			}
		}
		if name == "observed" {
			o.upon[after.Observed.Digest()] = standingOf(after)
		}
	}
}

// registers are the points of a record's registers, absent ones left out.
func registers(r *resource.Record) map[string]resource.Point {
	m := map[string]resource.Point{"desired": r.Desired.Stamp.Point()}
	if r.Deletion != nil {
		m["deletion"] = r.Deletion.Stamp.Point()
	}
	if r.Observed != nil {
		m["observed"] = r.Observed.Stamp.Point()
	}
	return m
}

// met notes what came of two versions that met.
func (o *oracle) met(cur, in, joined *resource.Record) {
	o.explain(joined)
	for _, r := range [...]*resource.Record{cur, in} {
		if r == nil {
			continue
		}
		if r.Incarnation() != joined.Incarnation() && standingOf(r) == standingOf(joined) {
			o.moved = append(o.moved, fmt.Sprintf("incarnation from %q to %q", r.Incarnation(), joined.Incarnation()))
		}
		twin(o, "desired", &r.Desired, &joined.Desired, r.Requested() || !joined.Requested())
		twin(o, "deletion", r.Deletion, joined.Deletion, !r.Requested() || joined.Requested())
		twin(o, "observed", r.Observed, joined.Observed, true)
	}
}

// explain checks that a status shows, unless its writer saw another deletion.
func (o *oracle) explain(r *resource.Record) {
	if r.Observed == nil || r.Observed.Value.Incarnation == r.Incarnation() {
		return
	}
	if o.upon[r.Observed.Digest()] == standingOf(r) {
		o.moved = append(o.moved, fmt.Sprintf("status of %s is hidden", r.Observed.Stamp.Point()))
	}
}

func twin[V any](o *oracle, name string, had, has *resource.Register[V], asGood bool) {
	if had != nil && asGood && had.Stamp != has.Stamp && reflect.DeepEqual(had.Value, has.Value) {
		w := write{name, had.Stamp.Point()}
		o.twins[w] = append(o.twins[w], write{name, has.Stamp.Point()})
	}
}

// knew reports whether the write at a point was made upon another. A winner's
// point may name a write of desired, of deletion, or of both.
func (o *oracle) knew(winner resource.Point, lost write) bool {
	if lost.register == "observed" {
		return o.known[write{"observed", winner}][lost]
	}
	return o.known[write{"desired", winner}][lost] || o.known[write{"deletion", winner}][lost]
}

// shown tells the writes of which the record shows the effect, or which were
// undone by one that knew of them.
func (o *oracle) shown(r *resource.Record) (ws []write) {
	at := registers(r)
	desired, deletion := write{"desired", at["desired"]}, write{"deletion", at["deletion"]}
	if !r.Requested() || desired.at == deletion.at || o.known[deletion][desired] {
		ws = append(ws, desired)
	}
	if r.Requested() || o.known[desired][deletion] {
		ws = append(ws, deletion)
	}
	return append(ws, write{"observed", at["observed"]})
}

// unaccounted returns the writes that are neither shown by the record, nor
// known to a later write, nor reported, nor stood for by a twin that is.
func (h *history) unaccounted(r *resource.Record) (lost []write) {
	accounted := map[write]bool{}
	for _, w := range h.shown(r) {
		accounted[w] = true
	}
	for _, upon := range h.known {
		for w := range upon {
			accounted[w] = true
		}
	}
	for _, res := range h.losses {
		for _, l := range res.Losers {
			accounted[write{l.Register, l.Stamp.Point()}] = true
		}
	}
	for more := true; more; {
		more = false
		for w, twins := range h.twins {
			for _, t := range twins {
				if accounted[t] && !accounted[w] {
					accounted[w], more = true, true
				}
			}
		}
	}
	for w := range h.known {
		if !accounted[w] {
			lost = append(lost, w)
		}
	}
	return lost
}
