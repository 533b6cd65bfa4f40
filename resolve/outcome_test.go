package resolve_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resolve"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

// Applied: the joined bytes differ. Unchanged: every register and finalizer of
// incoming is the write that current holds. Ignored: the rest.
func TestMerge_Outcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawVersions(t, 2)
		cur, in := v[0], v[1]
		res := resolve.Merge(&cur, &in)
		want := resolve.Ignored
		switch {
		case encoded(res.Record) != encoded(cur):
			want = resolve.Applied
		case digestOf(&in.Desired) == digestOf(&cur.Desired) && digestOf(in.Deletion) == digestOf(cur.Deletion) &&
			digestOf(in.Observed) == digestOf(cur.Observed) && slices.Equal(in.Finalizers, cur.Finalizers):
			want = resolve.Unchanged
		}
		if res.Outcome != want {
			t.Errorf("outcome is %s, want %s", res.Outcome, want)
		}
		checkPart(t, "desired", res.Desired, &cur.Desired, &in.Desired, &res.Record.Desired)
		checkPart(t, "deletion", res.Deletion, cur.Deletion, in.Deletion, res.Record.Deletion)
		checkPart(t, "observed", res.Observed, cur.Observed, in.Observed, res.Record.Observed)
		checkFinalizers(t, &cur, &in, res)
	})
}

func checkFinalizers(t *rapid.T, cur, in *resource.Record, res resolve.Result) {
	want := resolve.Ignored
	switch {
	case !slices.Equal(res.Record.Finalizers, cur.Finalizers):
		want = resolve.Applied
	case slices.Equal(in.Finalizers, cur.Finalizers):
		want = resolve.Unchanged
	}
	if res.Finalizers != want {
		t.Errorf("finalizers are %s, want %s", res.Finalizers, want)
	}
}

func digestOf[V any](r *resource.Register[V]) [32]byte {
	if r == nil {
		return [32]byte{}
	}
	return r.Digest()
}

func checkPart[V any](t *rapid.T, name string, got resolve.Outcome, cur, in, joined *resource.Register[V]) {
	want := resolve.Ignored
	switch {
	case digestOf(joined) != digestOf(cur) || joined != nil && string(joined.Signature) != string(cur.Signature):
		want = resolve.Applied
	case digestOf(in) == digestOf(cur):
		want = resolve.Unchanged
	}
	if got != want {
		t.Errorf("%s is %s, want %s", name, got, want)
	}
}

func TestMerge_FirstSight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := resourcetest.Record(t, resourcetest.Options{Wide: true})
		res := resolve.Merge(nil, &in)
		has := map[bool]resolve.Outcome{true: resolve.Applied}
		if res.Outcome != resolve.Applied || res.Desired != resolve.Applied || res.Deletion != has[in.Deletion != nil] ||
			res.Observed != has[in.Observed != nil] || res.Finalizers != has[in.Finalizers != nil] || res.Losers != nil || res.Clone || !same(res.Record, in) {
			t.Errorf("%+v", res)
		}
	})
}
