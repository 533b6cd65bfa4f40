// Package history records what clients asked of a fleet and what they were
// told, and judges a fleet by that alone.
//
// The workload writes no value twice, and says in each write which value it
// was written upon: so what replaced what can be told without the nodes' word.
package history

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"driftless.dev/hlc"
)

// Action is what a client asked for.
type Action string

// The actions.
const (
	Read   Action = "read"
	Put    Action = "put"    // on top of Saw, or nothing when that is 0
	Delete Action = "delete" // of a key that no other client writes
	Create Action = "create" // of a name that others may create too
)

// Outcome is what the client knows of what became of it.
type Outcome string

// The outcomes.
const (
	Acked   Outcome = "acked"
	Refused Outcome = "refused" // it was not done, and never will be
	Unknown Outcome = "unknown" // no answer, or one that leaves it open
)

// Op is one call: who asked which node for what, when, and what came of it.
type Op struct {
	Client int
	Node   string
	Human  bool
	Action Action
	Key    string
	// Value is what was written or read, Saw what it was written upon; 0 is
	// nothing.
	Value, Saw int64
	// Invoked and Returned are since the recorder was made.
	Invoked, Returned time.Duration
	Outcome           Outcome
	Code              string // of a refusal
	ID, Digest        string
	// Point is the write's stamp: HLC and writer; Seq the node's log after it.
	HLC    hlc.Timestamp
	Writer string
	Seq    uint64
}

// Recorder keeps a history. It is safe for concurrent use.
type Recorder struct {
	start time.Time
	value atomic.Int64

	mu  sync.Mutex
	ops []Op
}

// NewRecorder returns an empty history that begins now.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now is the time since the history began.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Value returns a value that was not returned before.
func (r *Recorder) Value() int64 { return r.value.Add(1) }

// Add enters a call that has returned.
func (r *Recorder) Add(op Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// Ops returns a copy of what was entered so far.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ops)
}

// Counts are the writes of a history by outcome.
type Counts struct{ Acked, Refused, Unknown int }

// Count counts the writes among ops.
func Count(ops []Op) (c Counts) {
	for _, op := range ops {
		switch {
		case op.Action == Read:
		case op.Outcome == Acked:
			c.Acked++
		case op.Outcome == Refused:
			c.Refused++
		default:
			c.Unknown++
		}
	}
	return c
}
