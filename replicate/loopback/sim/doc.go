// Package sim runs whole fleets through faults and holds them to the promises.
//
// A seed expands to options (which faults there are at all, how many nodes,
// what is written) and these to a trace: explicit steps, which are data. A run
// carries the trace out over package loopback, keeps books on every write that
// a node acknowledged, checks what must hold at any time, then heals the fleet
// and checks the rest. The oracle works from these books and from what the
// stores return; it shares no code with the join or the Merkle trie.
//
// A run that fails is replayed from its seed, and shrunk: steps, faults and
// nodes are left out for as long as it fails in the same way.
package sim
