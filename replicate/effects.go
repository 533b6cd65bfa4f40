package replicate

import (
	"driftless.dev/merkle"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// Input is something that happened.
type Input interface{ input() }

// Inputs.
type (
	// Tick says that time has passed.
	Tick struct{}
	// Appended says that the log has grown to Seq.
	Appended struct {
		Seq uint64
		// Identity is the store's, which a write may have changed; zero says
		// nothing.
		Identity store.Identity
	}
	// OutboxRead answers ReadOutbox.
	OutboxRead struct {
		Events []resource.Event
		Last   uint64
		Err    error
	}
	// Published answers Publish.
	Published struct {
		ID  uint64
		Err error
	}
	// Message is a stream message.
	Message struct {
		At     Cursor
		Realm  string
		Origin resource.ID
		Data   []byte
	}
	// Heard is another member's heartbeat.
	Heard struct{ Data []byte }
	// Acked is another member's acknowledgement.
	Acked struct{ Data []byte }
	// Applied answers Apply.
	Applied struct {
		ID     uint64
		Result store.Applied
		Err    error
	}
	// TookPush says that a push of a peer's was applied to the store.
	TookPush struct{ Result store.Applied }
	// Replied answers Request.
	Replied struct {
		ID   uint64
		Data []byte
		Err  error
	}
	// RecordsRead answers ReadRecords.
	RecordsRead struct {
		ID     uint64
		Frames [][]byte
		Done   int
		Err    error
	}
	// Vouched answers Vouch.
	Vouched struct {
		ID       uint64
		Vouching store.Vouching
		Err      error
	}
	// Claimed says what a member that asked holds of own events, as compared
	// with the log.
	Claimed struct {
		Incarnation resource.ID
		Position    store.Position
		Vouching    store.Vouching
	}
	// Reincarnated answers Reincarnate.
	Reincarnated struct {
		ID       uint64
		Identity store.Identity
		Err      error
	}
	// TransportChanged says how the transport stands.
	TransportChanged struct{ Transport Transport }
)

func (Tick) input()             {}
func (Appended) input()         {}
func (OutboxRead) input()       {}
func (Published) input()        {}
func (Message) input()          {}
func (Heard) input()            {}
func (Acked) input()            {}
func (Applied) input()          {}
func (TookPush) input()         {}
func (Replied) input()          {}
func (RecordsRead) input()      {}
func (Vouched) input()          {}
func (Claimed) input()          {}
func (Reincarnated) input()     {}
func (TransportChanged) input() {}

// Effect is something to be done. Each that has an ID is answered by one input
// with the same.
type Effect interface{ effect() }

// Effects.
type (
	// ReadOutbox asks for own events after a log sequence.
	ReadOutbox struct {
		After uint64
		Limit int
	}
	// Publish hands a batch to the stream.
	Publish struct {
		ID     uint64
		Realm  string
		Origin resource.ID
		Data   []byte
	}
	// Broadcast sends a heartbeat.
	Broadcast struct{ Data []byte }
	// Request asks a member.
	Request struct {
		ID   uint64
		To   resource.ID
		Verb string
		Data []byte
	}
	// Apply joins a batch into the store; effects of this kind are done in
	// order.
	Apply struct {
		ID    uint64
		Batch store.Batch
		// Refused are records that go into quarantine, with the reason.
		Refused []store.Incoming
		Reason  string
	}
	// ReadRecords reads records at placement keys.
	ReadRecords struct {
		ID     uint64
		Realm  string
		Places []merkle.Key
	}
	// Vouch compares a claim about own events with the log.
	Vouch struct {
		ID       uint64
		Position store.Position
	}
	// Reincarnate gives the store a new incarnation.
	Reincarnate struct {
		ID  uint64
		How store.Reincarnation
	}
	// Answered lets local writes go on: the fleet knows of no newer copy of this
	// node, or nobody was there to say.
	Answered struct{ Confirmed bool }
	// Joined ends the store's leave to re-bootstrap by itself.
	Joined struct{}
	// Stage keeps a cursor for the store's next transaction.
	Stage struct {
		Name string
		Data []byte
	}
)

func (ReadOutbox) effect()  {}
func (Publish) effect()     {}
func (Broadcast) effect()   {}
func (Request) effect()     {}
func (Apply) effect()       {}
func (ReadRecords) effect() {}
func (Vouch) effect()       {}
func (Reincarnate) effect() {}
func (Answered) effect()    {}
func (Joined) effect()      {}
func (Stage) effect()       {}
