package replicate

import (
	"context"
	"errors"

	"driftless.dev/resource"
)

// Sentinels of the moment a transport is asked for something.
var (
	// ErrUnreachable is returned when a member did not answer in time, or the
	// transport is down: nothing is known about whether it acted.
	ErrUnreachable = errors.New("member unreachable")
	// ErrDisconnected is returned when the transport is not up yet.
	ErrDisconnected = errors.New("transport disconnected")
)

// Bus is the transport that a node needs: a stream that carries events as a
// fast hint, heartbeats to whoever listens, and requests to one member. It may
// lose, repeat, reorder, delay, delete or recreate anything; nothing is lost
// by that.
type Bus interface {
	// Run connects, subscribes and delivers to h until ctx ends, and retries
	// for ever what fails: an unreachable server is reported by h.Transport,
	// not returned. It returns nil when ctx ended, else what cannot be cured
	// by waiting.
	Run(ctx context.Context, h Handler) error
	// Publish hands a message to the stream under (realm, origin) without
	// waiting; done is called once, from any goroutine and perhaps before
	// Publish returns, with nil when the stream has taken it. Beyond 256
	// messages on their way it refuses with ErrDisconnected. data is the bus's
	// from here on.
	Publish(realm string, origin resource.ID, data []byte, done func(error))
	// Broadcast sends a heartbeat; nobody may hear it.
	Broadcast(origin resource.ID, data []byte) error
	// Request asks one instance and waits for its answer, within ctx.
	Request(ctx context.Context, to resource.ID, verb string, data []byte) ([]byte, error)
}

// Handler receives what a Bus delivers. Its methods may be called from several
// goroutines; data belongs to the handler from the call on.
type Handler interface {
	// Message delivers one stream message, in stream order, own ones included
	// (so that the cursor moves). The bus delivers the next when it returns;
	// an error that wraps ErrDisconnected or a context's makes the bus deliver
	// the same message again later, any other makes it skip and count it.
	Message(ctx context.Context, at Cursor, realm string, origin resource.ID, data []byte) error
	// Heartbeat delivers another member's heartbeat, or that of a clone of this
	// one; it must not block.
	Heartbeat(origin resource.ID, data []byte)
	// Serve answers a request made to this instance; it may be called by a
	// bounded number of goroutines at once.
	Serve(ctx context.Context, verb string, data []byte) ([]byte, error)
	// Resume tells where the stream was left: the zero Cursor starts over.
	Resume() Cursor
	// Transport reports a change of the transport's state.
	Transport(Transport)
}

// Cursor is a place in one incarnation of the stream. Sequences mean nothing
// beyond the stream they were given by: Created tells streams apart, and Check
// (a hash of the message at Seq) tells apart a stream that was rolled back and
// grew again.
type Cursor struct {
	Created int64 // the stream's creation time, Unix nanoseconds
	Seq     uint64
	Check   [16]byte
}

// Transport is the state of the connection to the fleet, for people and for
// readiness.
type Transport struct {
	Connected bool
	// Stream reports that the event stream is usable; without it the fleet
	// converges by reconciliation alone.
	Stream bool
	// Fresh reports that the stream is new, or was recreated, rolled back or
	// restarted since the last report: what was published before may be gone.
	Fresh bool
	// Reason says what is missing, in words; "" when nothing is.
	Reason string
	// URL is the server's address, without credentials.
	URL string
}

// Verbs of requests. The transport puts the verb into an address, so each is a
// plain word.
const (
	VerbHello   = "hello"   // where do you stand: roots, vector, head
	VerbNodes   = "nodes"   // Merkle nodes of a realm
	VerbRecords = "records" // records by placement key
	VerbPush    = "push"    // records for you
	VerbApplied = "applied" // acknowledgement: I have applied your events up to
)

// MaxFrame bounds a message in bytes: well under the transport's limit, and
// small enough that a slow link is shared fairly.
const MaxFrame = 256 << 10
