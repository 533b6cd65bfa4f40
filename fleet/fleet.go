// Package fleet is what nodes say about themselves and about each other: the
// forms that the HTTP API answers with, that clients read and that verdicts
// are made from.
package fleet

import (
	"encoding/json"
	"time"
)

// Node is one node's account of itself.
type Node struct {
	Name        string `json:"name"`
	Instance    string `json:"instance"`
	Incarnation string `json:"incarnation"`
	LogID       string `json:"logId"`
	Fleet       string `json:"fleet"`
	Version     string `json:"version"`
	// Ready means: store open, NATS up, first reconciliation done. Waiting says
	// what is missing.
	Ready   bool   `json:"ready"`
	Waiting string `json:"waiting,omitempty"`
	// Seq is the end of the log and HLC the highest stamp in it.
	Seq       uint64 `json:"seq"`
	HLC       string `json:"hlc"`
	SuperRoot string `json:"superRoot"`
	Records   int    `json:"records"`
	// FirstSeq is where the log begins: what was before it was trimmed.
	FirstSeq uint64 `json:"firstSeq"`
	// Damaged lists rows that are damaged and not repaired, the first of them,
	// and DamagedRows counts all.
	Damaged     []Damage `json:"damaged,omitempty"`
	DamagedRows int      `json:"damagedRows"`
	Scrub       Scrub    `json:"scrub"`
	Dropped     Dropped  `json:"dropped"`
	// Realms lists what is held.
	Realms     []Realm    `json:"realms"`
	NATS       Transport  `json:"nats"`
	Clock      Clock      `json:"clock"`
	Counts     Counts     `json:"counts"`
	Conditions []string   `json:"conditions,omitempty"`
	StartedAt  time.Time  `json:"startedAt"`
	Published  uint64     `json:"publishedSeq"`
	Vector     []Position `json:"vector"`
	// LastError is what the last failed reconciliation said, within the last minute.
	LastError string `json:"lastError,omitempty"`
}

// Realm is one realm's root.
type Realm struct {
	Name    string `json:"name"`
	Root    string `json:"root"`
	Records int    `json:"records"`
}

// Transport is the state of the connection to the fleet.
type Transport struct {
	Connected bool   `json:"connected"`
	Stream    bool   `json:"stream"`
	URL       string `json:"url,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Listen is the embedded server's address, when there is one.
	Listen string `json:"listen,omitempty"`
}

// Clock compares this node's wall clock with the fleet's reference, the median
// of all live members'. Sure says that there are enough clocks to tell.
type Clock struct {
	OffsetSeconds    float64 `json:"offsetSeconds"`
	Sure             bool    `json:"sure"`
	MaxOffsetSeconds float64 `json:"maxOffsetSeconds"`
}

// Counts are what people look for first.
type Counts struct {
	Applied     uint64 `json:"applied"`
	Ignored     uint64 `json:"ignored"`
	Conflicts   uint64 `json:"conflicts"`
	Rejected    uint64 `json:"rejected"`
	Quarantined uint64 `json:"quarantined"`
}

// Position is how far an incarnation's events are in a node's state.
type Position struct {
	Incarnation string `json:"incarnation"`
	Seq         uint64 `json:"seq"`
	HLC         string `json:"hlc"`
}

// Collection is how far a node's collection of tombstones is.
type Collection struct {
	// Tombstones counts the records that hold something to collect, Collected
	// what was collected since the start; Sweeping says that a collection is
	// under way.
	Tombstones int    `json:"tombstones"`
	Collected  uint64 `json:"collected"`
	Sweeping   bool   `json:"sweeping"`
	// MinAgeSeconds is how old a tombstone must be.
	MinAgeSeconds float64 `json:"minAgeSeconds"`
	// Blocked says what a higher floor waits for, "" when nothing; since
	// BlockedAt. LastRound is when all members were last asked.
	Blocked   string     `json:"blocked,omitempty"`
	BlockedAt *time.Time `json:"blockedAt,omitempty"`
	LastRound *time.Time `json:"lastRound,omitempty"`
	// Floor says up to where everything that is deleted is gone for good.
	Floor []Mark `json:"floor"`
}

// Mark is an entry of a floor.
type Mark struct {
	Incarnation string `json:"incarnation"`
	HLC         string `json:"hlc"`
}

// Fleet is one node's view of all members, itself included.
type Fleet struct {
	Name string `json:"name"`
	// Converged is true only when every member of the roster answered and all
	// roots are equal.
	Converged bool `json:"converged"`
	// Reason says why not.
	Reason string `json:"reason,omitempty"`
	// DistinctRoots counts the different super-roots among those that answered.
	DistinctRoots int `json:"distinctRoots"`
	// ConvergedUpTo is the time up to which everything that any member wrote is
	// in every member's state; nil while a member is silent.
	ConvergedUpTo *time.Time `json:"convergedUpTo,omitempty"`
	Members       []Member   `json:"members"`
}

// Member is what a node knows of a member of the roster.
type Member struct {
	Name        string `json:"name"`
	Instance    string `json:"instance"`
	Incarnation string `json:"incarnation"`
	// State is self, alive, suspect, lost, or unknown for one that was never
	// heard since the start.
	State string `json:"state"`
	// Answered says that the member was asked now and answered.
	Answered  bool   `json:"answered"`
	Ready     bool   `json:"ready"`
	Version   string `json:"version,omitempty"`
	SuperRoot string `json:"superRoot,omitempty"`
	// BehindEvents counts events known to others that are not in the member's
	// state.
	BehindEvents       uint64     `json:"behindEvents"`
	LastRootMatch      *time.Time `json:"lastRootMatch,omitempty"`
	LastHeard          *time.Time `json:"lastHeard,omitempty"`
	ClockOffsetSeconds float64    `json:"clockOffsetSeconds"`
	Error              string     `json:"error,omitempty"`
}

// Problem is an error as the API tells it (RFC 9457), with a stable code for
// programs.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Code is one of the stable codes, Detail is for people and ends with the
	// next step where there is one.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Owner names the controller of a record that another one wrote to.
	Owner string `json:"owner,omitempty"`
	// Fleet is where the members stood when a wait for them ran out.
	Fleet *Fleet `json:"fleet,omitempty"`
}

// The stable codes.
const (
	CodeNotFound     = "not_found"
	CodeInvalid      = "invalid"
	CodeConflict     = "conflict"
	CodeExists       = "exists"
	CodeOutranked    = "outranked"
	CodeFenced       = "fenced"
	CodeOwner        = "owner"
	CodeInUse        = "in_use"
	CodeParked       = "parked"
	CodeAmbiguous    = "ambiguous"
	CodeTooLarge     = "too_large"
	CodeClock        = "clock"
	CodeNoSpace      = "no_space"
	CodeUnavailable  = "unavailable"
	CodeUnauthorized = "unauthorized"
	CodeForbidden    = "forbidden"
	CodeTimeout      = "timeout"
	CodeInternal     = "internal"
	CodeUnconfirmed  = "unconfirmed"
	CodeCloned       = "cloned"
)

// NameConflict is a name that several live records claim: all are kept, the
// holder is the same on every node and answers by name, the others by id.
type NameConflict struct {
	Kind   string  `json:"kind"`
	Scope  string  `json:"scope"`
	Name   string  `json:"name"`
	Holder Claim   `json:"holder"`
	Others []Claim `json:"others"`
}

// Claim is one record's claim to a name.
type Claim struct {
	ID        string    `json:"id"`
	Origin    string    `json:"originInstance"`
	CreatedAt time.Time `json:"createdAt"`
	Digest    string    `json:"digest"`
}

// Loss is an entry of the ledger: a version that lost a conflict.
type Loss struct {
	// Entry names the entry, the same on every node.
	Entry    string `json:"entry"`
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Scope    string `json:"scope"`
	Name     string `json:"name"`
	Register string `json:"register"`
	Reason   string `json:"reason"`
	HLC      string `json:"hlc"`
	Writer   string `json:"writer"`
	// Actor is empty for a finalizer, whose entry does not tell it.
	Actor string `json:"actor"`
	// Winner is the write that stands instead, as HLC@INCARNATION; empty when
	// the record is gone.
	Winner string `json:"winner"`
	// From is the instance whose version met this node's, empty when none did.
	From    string    `json:"from,omitempty"`
	FoundAt time.Time `json:"foundAt"`
	// The members' names of From, Writer and Winner, where they are known.
	FromName   string `json:"fromName,omitempty"`
	WriterName string `json:"writerName,omitempty"`
	WinnerName string `json:"winnerName,omitempty"`
	// Strength is that of a deletion that lost.
	Strength string `json:"strength,omitempty"`
	// Resource is the version that lost, as a resource; left out unless it was
	// asked for.
	Resource json.RawMessage `json:"resource,omitempty"`
}
