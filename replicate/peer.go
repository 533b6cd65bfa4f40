package replicate

import (
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// Peer is what is known of another member.
type Peer struct {
	Instance, Incarnation resource.ID
	Name, Software        string
	Boot                  uint64
	Ready                 bool
	State                 PeerState
	// LastHeard is on the wall clock, for people; heardAt is what is measured.
	LastHeard time.Time
	heardAt   time.Duration
	// ClockOffset is how far the member's wall clock is ahead of this node's,
	// give or take a message's way, as of the status it is read in.
	ClockOffset time.Duration
	// wall is the member's wall clock when it was heard.
	wall time.Time
	// Super, Own and VectorDigest are of the last heartbeat.
	Super        [32]byte
	Own          store.Position
	VectorDigest [32]byte
	floor        [32]byte // digest of the last heartbeat's
	floorAskAt   time.Duration
	// Stale says that the member has not seen what this node's floor speaks of:
	// it takes part in no exchange until it has re-bootstrapped.
	Stale bool
	// Applied is how far this node's own events are in the member's state.
	Applied uint64
	// LastMatch is when both roots were last equal.
	LastMatch time.Time
	// differsAt is since when they are not, on the monotonic clock.
	differs   bool
	unequalAt time.Duration // since when the vectors are not, while the roots are; 0 when they are
	differsAt time.Duration
}

// PeerState is how alive a member seems.
type PeerState uint8

// The states. Silence is not absence: a lost member still counts.
const (
	Alive PeerState = iota
	Suspect
	Lost
)

// String returns the state's name.
func (s PeerState) String() string { return [...]string{"alive", "suspect", "lost"}[s] }
