// Package jetstream is the replicate.Bus over NATS: events on a JetStream
// stream, heartbeats on core NATS, requests as a NATS micro service. It also
// embeds a nats-server, for a node that brings its own.
//
// Its duties, in the order in which they are kept:
//
//  1. Never block the caller and never lose a done: a publish ends in exactly
//     one call of it, in bounded time, whatever the network does.
//  2. Serve heartbeats and requests whenever there is a connection, with or
//     without JetStream: the fleet converges on those alone.
//  3. Skip nothing that the stream holds. A place in the stream is believed only
//     after the stream was seen to be the one it belongs to.
//  4. Say what is missing, in words, once per change.
//
// The loop, as goroutines that all belong to Run:
//
//	Run        dial one server after the other, with backoff  ─▶ session
//	session    until the connection is lost:
//	             publisher   window of messages ─▶ acks
//	             heartbeats  in and out
//	             workers     requests ─▶ Handler.Serve
//	             follow      open the stream, deliver, rebuild what stalled
//
// A connection is never mended: nats.go's own reconnect is off. What is lost
// with a connection (subscriptions, the consumer, pending acks) is made again by
// the one path that made it first, and each failed attempt has its own reason.
// The consumer is a plain ephemeral one for the same reason. nats.go's ordered
// consumer resumes by itself after the last sequence it has seen, which skips
// messages without a word when the stream was deleted and made again.
//
// HAZARD: JetStream acknowledges before it syncs. A server that loses power
// comes back with an older stream, under the same name and creation time. That
// is what Cursor.Check and Transport.Fresh are for.
package jetstream
