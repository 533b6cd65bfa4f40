package driftless

import "driftless.dev/replicate"

// Replication shows tests what the node's view leaves out.
func (n *Node) Replication() replicate.Status {
	st, _ := n.replicator.Status()
	return st
}
