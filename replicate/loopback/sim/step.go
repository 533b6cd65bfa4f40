package sim

import (
	"fmt"
	"strings"
	"time"
)

// Step is one step of a trace: time that passes, a write, or a fault.
type Step struct {
	Do   Verb
	Node int
	Peer int           // of a cut
	For  time.Duration // how long, or how far a clock goes
	N    int           // how many, how fast, or whether
	Op   *Op           // of a write
}

// Verb says what a step does.
type Verb string

// The verbs.
const (
	DoWait      Verb = "wait"
	DoWrite     Verb = "write"
	DoCut       Verb = "cut"
	DoCutStream Verb = "cut-stream"
	DoIsolate   Verb = "isolate"
	DoHeal      Verb = "heal"
	DoCrash     Verb = "crash"
	DoDieLost   Verb = "die-before-commit"
	DoDieDone   Verb = "die-after-commit"
	DoFailDisk  Verb = "fail-commit"
	DoStart     Verb = "start"
	DoFill      Verb = "fill-disk"
	DoSlow      Verb = "slow-disk"
	DoStepClock Verb = "step-clock"
	DoDrift     Verb = "drift-clock" // N is per mille
	DoFreeze    Verb = "freeze"
	DoThaw      Verb = "thaw"
	DoPurge     Verb = "purge-stream"
	DoRecreate  Verb = "recreate-stream"
	DoRollback  Verb = "roll-back-stream"
	DoTruncate  Verb = "truncate-stream"
	DoBackup    Verb = "back-up"
	DoRestore   Verb = "restore"
	DoClone     Verb = "clone"
	DoAway      Verb = "away"
	DoSnapshot  Verb = "snapshot"
)

// Op is a write as a client asks for it; what it finds decides what comes of
// it.
type Op struct {
	Do     Deed
	By     string // "human", "agent", or a controller's name
	Kind   string
	Scope  string // project, "" for global
	Name   string
	Serial int // makes the content one of its own
	Key    int // of a finalizer
}

// Deed is what a client does.
type Deed string

// The deeds.
const (
	Put       Deed = "put"
	CAS       Deed = "cas" // put what was read, if it still stands
	Create    Deed = "create"
	Status    Deed = "status"
	Delete    Deed = "delete"
	Teardown  Deed = "teardown"
	Destroy   Deed = "destroy"
	Release   Deed = "release"
	Claim     Deed = "claim"
	Finalize  Deed = "finalize"
	Unfinal   Deed = "unfinalize"
	Child     Deed = "child"
	Large     Deed = "large"
	Crowd     Deed = "crowd" // more finalizers than two nodes can both keep
	ServeKind Deed = "serve-kind"
	DropKind  Deed = "drop-kind"
)

// String is a step in one line.
func (s Step) String() string {
	var b strings.Builder
	switch s.Do {
	case DoWait:
		return fmt.Sprintf("wait %s", s.For)
	case DoWrite:
		o := s.Op
		fmt.Fprintf(&b, "n%d: %s %s %s/%s by %s (#%d)", s.Node, o.Do, o.Kind, o.Scope, o.Name, o.By, o.Serial)
		return b.String()
	case DoHeal, DoPurge, DoRecreate:
		return string(s.Do)
	case DoRollback, DoTruncate:
		return fmt.Sprintf("%s by %d", s.Do, s.N)
	case DoCut:
		return fmt.Sprintf("cut n%d -> n%d", s.Node, s.Peer)
	}
	fmt.Fprintf(&b, "%s n%d", s.Do, s.Node)
	if s.For != 0 {
		fmt.Fprintf(&b, " %s", s.For)
	}
	if s.N != 0 {
		fmt.Fprintf(&b, " %d", s.N)
	}
	return b.String()
}
