package resolve

import (
	"bytes"

	"driftless.dev/resource"
)

// Resolve is the desired rule under the foundation model's name: it decides
// between two resources of one id by their desired stamps, returning the
// winner and whether it is the incoming one. The same write is a no-op.
//
// Between different writes of one stamp, which only clones produce, the value
// decides; a Resource lacks the context that the digest in Merge covers, so
// there the two may choose differently, each of them the same on every node.
func Resolve(incoming, current resource.Resource) (winner resource.Resource, takeIncoming bool) {
	in, cur := incoming.WriteStamp(), current.WriteStamp()
	c := in.Compare(cur)
	if c == 0 {
		a, b := valueDigest(incoming, in), valueDigest(current, cur)
		c = bytes.Compare(a[:], b[:])
	}
	if c > 0 {
		return incoming, true
	}
	return current, false
}

// valueDigest is the digest of the resource's desired register without
// context, zero when its spec is not JSON.
func valueDigest(r resource.Resource, stamp resource.Stamp) [32]byte {
	d, err := resource.Desire(r)
	if err != nil {
		return [32]byte{}
	}
	reg := resource.NewRegister(stamp, nil, d)
	return reg.Digest()
}
