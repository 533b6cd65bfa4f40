package resolve_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

// drawVersions draws versions of one record: arbitrary ones, or post-images of
// a simulated history.
func drawVersions(t *rapid.T, n int) []resource.Record {
	out := make([]resource.Record, n)
	var posts []resource.Record
	if rapid.Bool().Draw(t, "history") {
		s := shape{nodes: 3, ops: 10, clone: rapid.Bool().Draw(t, "clone"), named: rapid.Bool().Draw(t, "named")}
		posts = simulate(rapid.Uint64().Draw(t, "seed"), s).posts
	}
	for i := range out {
		if i > 0 && rapid.IntRange(0, 7).Draw(t, "again") == 0 {
			out[i] = out[i-1] // the same writes, by another signer
			out[i].Desired.Signature = rapid.SampledFrom([][]byte{nil, {1}, {2}}).Draw(t, "signature")
		} else if posts != nil {
			out[i] = posts[rapid.IntRange(0, len(posts)-1).Draw(t, "post")]
		} else {
			out[i] = resourcetest.Record(t, resourcetest.Options{})
		}
	}
	return out
}

func join(a, b resource.Record) resource.Record { return resolve.Merge(&a, &b).Record }

func same(a, b resource.Record) bool { return encoded(a) == encoded(b) && a.Digest() == b.Digest() }

// The join is commutative, associative and idempotent, to the byte.
func TestMerge_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 3)
		a, b, c := v[0], v[1], v[2]
		if !same(join(a, b), join(b, a)) {
			t.Error("not commutative")
		}
		if !same(join(join(a, b), c), join(a, join(b, c))) {
			t.Error("not associative")
		}
		if !same(join(a, a), a) {
			t.Error("not idempotent")
		}
		ab := join(a, b)
		if !same(join(ab, a), ab) || !same(join(ab, b), ab) {
			t.Error("a join does not absorb its parts")
		}
	})
}

// A join lowers nothing: no counter, no fence, no register, no finalizer; and
// creation only falls. Of valid records it is valid.
func TestMerge_IsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 2)
		a, b := v[0], v[1]
		j := join(a, b)
		for _, part := range v {
			if j.SyncVersion < part.SyncVersion || j.Version < part.Version || j.Fence.Compare(part.Fence) < 0 {
				t.Error("a counter or the fence fell")
			}
			if bytes.Compare(key(&j.Desired, ranks), key(&part.Desired, ranks)) < 0 ||
				bytes.Compare(key(j.Deletion, ranks), key(part.Deletion, ranks)) < 0 ||
				bytes.Compare(key(j.Observed, ranksNot), key(part.Observed, ranksNot)) < 0 {
				t.Error("a register fell")
			}
			if j.Creation.Point().Compare(part.Creation.Point()) > 0 {
				t.Error("creation rose")
			}
		}
		if !resolve.Same(&j, &a) {
			t.Error("identity changed")
		}
		if err := j.Validate(); err != nil {
			t.Error(err)
		}
	})
}

// ranks and ranksNot say whether a person outranks automation.
const ranks, ranksNot = true, false

// key is a register's place in the total order as bytes, written out from
// DESIGN section 3 and sharing no code with the join; absent is lowest.
func key[V any](r *resource.Register[V], ranked bool) []byte {
	if r == nil {
		return nil
	}
	s := r.Stamp
	b := binary.BigEndian.AppendUint64(nil, s.Release)
	person := s.Actor == resource.Human
	if ranked && person {
		b = append(b, 1)
		s.Epoch = resource.Epoch{}
	} else {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint64(b, s.Epoch.Number)
	b = binary.BigEndian.AppendUint64(b, uint64(s.Epoch.Claim.HLC))
	b = append(b, s.Epoch.Claim.Writer[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.HLC))
	b = append(b, s.Writer[:]...)
	digest := r.Digest()
	return append(append(b, digest[:]...), r.Signature...)
}

// The oracle: sort all writes of a register by key and take the last.
func TestMerge_TakesTheLastOfAllWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, rapid.IntRange(1, 6).Draw(t, "versions"))
		got := mergeAll(v...)
		var desired []*resource.Register[resource.Desired]
		var deletion []*resource.Register[resource.Deletion]
		var observed []*resource.Register[resource.Observed]
		for i := range v {
			desired, deletion, observed = append(desired, &v[i].Desired), append(deletion, v[i].Deletion), append(observed, v[i].Observed)
		}
		want := v[0]
		want.Desired, want.Deletion, want.Observed = *last(desired, ranks), last(deletion, ranks), last(observed, ranksNot)
		want.Finalizers = lastFinalizers(v)
		for _, r := range v {
			want.SyncVersion, want.Version = max(want.SyncVersion, r.SyncVersion), max(want.Version, r.Version)
			if r.Fence.Compare(want.Fence) > 0 {
				want.Fence = r.Fence
			}
			if bytes.Compare(creationKey(r.Creation), creationKey(want.Creation)) < 0 {
				want.Creation = r.Creation
			}
		}
		if !same(got, want) {
			t.Fatalf("joined\n%+v\nwant\n%+v", got, want)
		}
	})
}

func last[V any](writes []*resource.Register[V], ranked bool) *resource.Register[V] {
	return slices.MaxFunc(writes, func(a, b *resource.Register[V]) int { return bytes.Compare(key(a, ranked), key(b, ranked)) })
}

func creationKey(c resource.Creation) []byte {
	b := append(binary.BigEndian.AppendUint64(nil, uint64(c.HLC)), c.Writer[:]...)
	return append(append(b, byte(c.Actor)), c.Origin[:]...)
}

// lastFinalizers keeps the highest entry of each key, and of those the 64
// highest.
func lastFinalizers(v []resource.Record) []resource.Finalizer {
	highest := map[string]resource.Finalizer{}
	for _, r := range v {
		for _, f := range r.Finalizers {
			if have, ok := highest[f.Key]; !ok || bytes.Compare(entryKey(f), entryKey(have)) > 0 {
				highest[f.Key] = f
			}
		}
	}
	var out []resource.Finalizer
	for _, f := range highest {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b resource.Finalizer) int {
		if c := bytes.Compare(entryKey(b), entryKey(a)); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.Key), []byte(b.Key))
	})
	out = out[:min(len(out), resource.MaxFinalizers)]
	slices.SortFunc(out, func(a, b resource.Finalizer) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return out
}

func entryKey(f resource.Finalizer) []byte {
	b := append(binary.BigEndian.AppendUint64(nil, uint64(f.Incarnation.HLC)), f.Incarnation.Writer[:]...)
	b = append(binary.BigEndian.AppendUint64(b, uint64(f.At.HLC)), f.At.Writer[:]...)
	if f.Present {
		return append(b, 1)
	}
	return append(b, 0)
}

// Three versions of up to 64 keys each, of 128 in all: the bound holds, and the
// laws too.
func TestMerge_FinalizersAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := make([]resource.Record, 3)
		for i := range v {
			v[i] = resourcetest.Record(t, resourcetest.Options{Finalizers: resource.MaxFinalizers})
		}
		a, b, c := v[0], v[1], v[2]
		abc := join(join(a, b), c)
		if !same(abc, join(a, join(b, c))) || !same(join(a, b), join(b, a)) || !same(join(abc, b), abc) {
			t.Error("the bound breaks a law")
		}
		if len(abc.Finalizers) > resource.MaxFinalizers || !slices.Equal(abc.Finalizers, lastFinalizers(v)) {
			t.Errorf("%d finalizers", len(abc.Finalizers))
		}
		if _, err := resource.DecodeRecord(abc.AppendTo(nil)); err != nil {
			t.Error(err)
		}
		checkFinalizers(t, &abc, &a, resolve.Merge(&abc, &a))
		checkFinalizers(t, &a, &b, resolve.Merge(&a, &b))
		checkOverflow(t, &a, &b)
	})
}

// checkOverflow holds P5 for the bound: each standing finalizer that a merge
// drops is reported, with a version that holds it, and nothing else is.
func checkOverflow(t *rapid.T, a, b *resource.Record) {
	res := resolve.Merge(a, b)
	want := map[string]resource.Finalizer{}
	for _, v := range []*resource.Record{a, b} {
		for _, f := range v.Finalizers {
			if have, ok := want[f.Key]; !ok || bytes.Compare(entryKey(f), entryKey(have)) > 0 {
				want[f.Key] = f
			}
		}
	}
	for _, f := range res.Record.Finalizers {
		delete(want, f.Key)
	}
	maps.DeleteFunc(want, func(_ string, f resource.Finalizer) bool { return !f.Present })
	for _, l := range res.Losers {
		key, ok := strings.CutPrefix(l.Register, "finalizers/")
		if !ok {
			continue
		}
		if f, ok := want[key]; !ok || l.Stamp.Point() != f.At || l.Reason != resolve.Overfull || !slices.Contains(l.Record.Finalizers, f) {
			t.Errorf("reported %s %s, dropped %v", l.Register, l.Reason, want)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("dropped without a word: %v", want)
	}
}
