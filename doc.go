// Package driftless is a fleet replication node that programs can embed: every
// instance of a fleet runs one, each keeps all the fleet's typed records, takes
// writes at any time, also when it is cut off, and converges with the others
// over NATS to byte-identical state. There is no leader.
//
// A node's duties, in order:
//
//  1. Commit, then acknowledge: a write is accepted when log, projection and
//     indexes are durable in one local transaction.
//  2. Acknowledge, then publish: own log entries go to the stream, which is a
//     fast hint and may lose anything.
//  3. Apply, then move the cursor: what the stream brings is joined in one
//     transaction with the place it was read at.
//  4. Compare, then say "in sync": Merkle roots are exchanged with peers, what
//     differs is repaired, and only equal roots count as agreement.
//
// The loop, as a program runs it:
//
//	n, err := driftless.Open(ctx, driftless.Config{Name: "a", Data: "/var/lib/driftless"})
//	if err != nil {
//		return err
//	}
//	defer n.Close()
//	return n.Run(ctx) // until ctx ends: drains, flushes, returns
//
// and inside Run: the API takes a write, store.Write commits it, the publisher
// wakes and hands it to the bus; the bus delivers others' events, the
// subscriber applies them through resolve.Merge; every few seconds the
// reconciler compares roots with a peer. Nothing calls back upstream.
package driftless
