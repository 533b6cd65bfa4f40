package merkle

import "fmt"

// maxDepth is the number of nibbles in a key.
const maxDepth = 16

// Prefix names a node of the trie: the keys that begin with Depth nibbles.
// Bits holds these left-aligned, the rest zero. The zero value is the whole trie.
type Prefix struct {
	Bits  uint64
	Depth uint8
}

// Valid reports whether p has 0 to 16 nibbles and no bit beyond them.
func (p Prefix) Valid() bool { return p.Depth <= maxDepth && p.Bits<<(4*p.Depth) == 0 }

// Child returns the prefix one nibble longer, i from 0 to 15. p must be
// shorter than 16 nibbles.
func (p Prefix) Child(i int) Prefix {
	return Prefix{Bits: p.Bits | uint64(i)<<(60-4*p.Depth), Depth: p.Depth + 1}
}

// Contains reports whether k begins with p.
func (p Prefix) Contains(k Key) bool { return (uint64(k)^p.Bits)>>(64-4*p.Depth) == 0 }

// String returns p's nibbles in hex; the whole trie is the empty string.
func (p Prefix) String() string { return fmt.Sprintf("%016x", p.Bits)[:min(p.Depth, maxDepth)] }

// nibble returns the step a key takes at a depth from 0 to 15.
func nibble(k Key, depth int) int { return int(k>>(60-4*depth)) & 15 }
