// Package mutant breaks the code on purpose. Each constant is one known way to
// get a replicated store wrong; it is false, and what it guards is compiled
// away, unless the build carries its tag (mutant_<name>). The simulation has to
// catch every one of them: a harness that lets a mutant live proves nothing
// (make mutants; docs/RELIABILITY.md has the results).
package mutant

// Active is the tag's name without its prefix, "" in a normal build.
const Active = active

// The mutants.
const (
	// NoTieBreak: of two versions equal in everything but their writers each
	// node keeps its own.
	NoTieBreak = active == "no_tie_break"
	// XORLeaf: a Merkle leaf is an XOR over its rows, a byte wide.
	XORLeaf = active == "xor_leaf"
	// KeyOnlyLeaf: a Merkle leaf covers which records there are, not what they
	// hold.
	KeyOnlyLeaf = active == "key_only_leaf"
	// AckBeforeSync: a write is acknowledged whatever its commit came to.
	AckBeforeSync = active == "ack_before_sync"
	// IndexApart: the head of the log is committed one transaction late.
	IndexApart = active == "index_apart"
	// ClockForgotten: a restart takes the clock from the wall alone.
	ClockForgotten = active == "clock_forgotten"
	// ClockBeforeCheck: a stamp that is refused moves the clock all the same.
	ClockBeforeCheck = active == "clock_before_check"
	// IncarnationReused: a node that was rolled back goes on under its name.
	IncarnationReused = active == "incarnation_reused"
	// AgeCollection: a tombstone goes at the next round, whoever has seen it.
	AgeCollection = active == "age_collection"
	// CursorOffByOne: the outbox goes on one entry behind where a chunk ended.
	CursorOffByOne = active == "cursor_off_by_one"
	// LateReply: an answer counts, whichever question it answers.
	LateReply = active == "late_reply"
	// DedupeBySeq: a stream message at or below the highest sequence seen is
	// taken for a repeat.
	DedupeBySeq = active == "dedupe_by_seq"
)
