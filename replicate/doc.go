// Package replicate brings nodes into agreement. Its core is a state machine
// without I/O: inputs (a tick, a message, a disk that is done) go in, effects
// (send, request, apply) come out; it has no goroutine, no clock and no
// randomness of its own, so that a simulation drives the very code that runs
// in production, from one seed.
//
// Four parts share the core. The publisher hands own log entries to the
// stream. The subscriber applies what the stream brings. Membership hears
// heartbeats and judges clocks. The reconciler compares Merkle roots with one
// peer at a time and repairs what differs: the stream is a hint, this is the
// guarantee.
package replicate
