package resolve_test

import (
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/hlc"
	"driftless.dev/resolve"
	"driftless.dev/resource"
)

// Resolve takes incoming exactly when Merge's desired does; two writes of one
// stamp apart, where it is the same on every node at least.
func TestResolve_AgreesWithMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 2)
		cur, in := v[0], v[1]
		curSeen, inSeen := cur.Resource(), in.Resource()
		winner, take := resolve.Resolve(inSeen, curSeen)
		back, takeBack := resolve.Resolve(curSeen, inSeen)
		if take && takeBack {
			t.Fatal("each wins against the other")
		}
		if cur.Desired.Stamp.Compare(in.Desired.Stamp) != 0 {
			if merged := resolve.Merge(&cur, &in).Desired == resolve.Applied; merged != take || take == takeBack || winner.Digest != back.Digest {
				t.Errorf("Resolve takes incoming: %t, Merge: %t", take, merged)
			}
			return
		}
		if winner.SpecHash != back.SpecHash || winner.Owner != back.Owner {
			t.Error("the winner depends on the order")
		}
		if cur.Desired.SameValue(&in.Desired) && cur.Desired.Stamp == in.Desired.Stamp && take {
			t.Error("the same write is taken")
		}
	})
}

// Two resources of the foundation model are decided by their envelopes, as
// FromEnvelope and Merge decide them.
func TestResolve_FoundationModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) resource.Resource {
			pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
			return resource.Resource{
				ID: resource.ID{15: 1}.String(), APIVersion: "v1", Kind: "Note", Name: "n", Spec: []byte(pick(values...)),
				Envelope: resource.Envelope{
					OriginInstanceID: "laptop", LastWriterID: pick("laptop", "server", "phone"),
					UpdatedHLC: hlc.At(rapid.Int64Range(1, 3).Draw(t, label), 0), WriterActor: resource.Actor(rapid.IntRange(0, 2).Draw(t, label)),
				},
			}
		}
		in, cur := draw("in"), draw("cur")
		inRec, err := resource.FromEnvelope(in)
		if err != nil {
			t.Fatal(err)
		}
		curRec, err := resource.FromEnvelope(cur)
		if err != nil {
			t.Fatal(err)
		}
		_, take := resolve.Resolve(in, cur)
		if merged := resolve.Merge(&curRec, &inRec).Desired == resolve.Applied; merged != take {
			t.Errorf("Resolve takes incoming: %t, Merge: %t", take, merged)
		}
	})
}
