package enginetest

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"driftless.dev/store"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is an engine as simple as it can be: a map for each bucket, sorted when
// it is walked, copied as a whole by every update.
type model [store.NumBuckets]map[string]string

func newModel() model {
	var m model
	for b := range m {
		m[b] = map[string]string{}
	}
	return m
}

func (m model) clone() model {
	for b := range m {
		m[b] = maps.Clone(m[b])
	}
	return m
}

func (m model) ascend(b store.Bucket, from string, max int) []pair {
	var met []pair
	for _, k := range slices.Sorted(maps.Keys(m[b])) {
		if k >= from && len(met) != max {
			met = append(met, pair{k, m[b][k]})
		}
	}
	return met
}

// Two buckets are enough to mix them up, and one is the log.
var (
	someBucket = rapid.SampledFrom([]store.Bucket{store.BucketLog, store.BucketRecords})
	someKey    = rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune{0, 'a', 'b'}), 1, 3, -1), // near each other
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 40), func(k []byte) string { return string(k) }))
	someFrom  = rapid.OneOf(someKey, rapid.Just(""))
	someValue = rapid.OneOf(
		rapid.StringN(0, 8, -1),
		rapid.Map(rapid.IntRange(0, 9000), func(n int) string { return string(make([]byte, n)) })) // beyond a page
)

// testModel performs random updates and reads on the engine and on the model,
// and reopens at random.
func testModel(t *testing.T, h *harness) {
	rapid.Check(t, func(t *rapid.T) {
		emptied(t, h)
		committed := newModel()
		t.Repeat(map[string]func(*rapid.T){
			"update": func(t *rapid.T) { committed = randomUpdate(t, h, committed) },
			"view": func(t *rapid.T) {
				h.view(t, func(tx store.Tx) { randomRead(t, tx, committed) })
			},
			"reopen": func(t *rapid.T) { h.reopen(t) },
			"": func(t *rapid.T) {
				for _, b := range []store.Bucket{store.BucketLog, store.BucketRecords} {
					if diff := cmp.Diff(committed.ascend(b, "", -1), h.all(t, b)); diff != "" {
						t.Fatalf("%s: %s", b, diff)
					}
				}
			},
		})
	})
}

// emptied empties the engine, which is cheaper than opening another.
func emptied(t failer, h *harness) {
	h.update(t, func(tx store.WriteTx) error {
		for b := range store.NumBuckets {
			for _, p := range ascend(tx, b, "", -1) {
				if err := tx.Delete(b, []byte(p.Key)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// randomUpdate performs one update, which commits or not, and returns what is
// committed after it.
func randomUpdate(t *rapid.T, h *harness, committed model) model {
	now := committed.clone()
	undo := rapid.Bool().Draw(t, "undo")
	err := h.Update(func(tx store.WriteTx) error {
		for range rapid.IntRange(0, 30).Draw(t, "writes") {
			if err := randomWrite(t, tx, now); err != nil {
				return err
			}
		}
		randomRead(t, tx, now)
		if undo {
			return errUndo
		}
		return nil
	})
	switch {
	case undo && errors.Is(err, errUndo):
		return committed
	case err != nil:
		t.Fatalf("update: %v", err)
	}
	return now
}

func randomWrite(t *rapid.T, tx store.WriteTx, now model) error {
	b := someBucket.Draw(t, "bucket")
	switch rapid.IntRange(0, 9).Draw(t, "op") {
	case 0: // a range, as trimming does: it empties whole pages
		for _, p := range now.ascend(b, someFrom.Draw(t, "from"), rapid.IntRange(0, 50).Draw(t, "max")) {
			delete(now[b], p.Key)
			if err := tx.Delete(b, []byte(p.Key)); err != nil {
				return err
			}
		}
		return nil
	case 1, 2, 3:
		key := someKey.Draw(t, "key")
		delete(now[b], key)
		return tx.Delete(b, []byte(key))
	case 4:
		randomRead(t, tx, now)
		return nil
	}
	key, value := someKey.Draw(t, "key"), someValue.Draw(t, "value")
	now[b][key] = value
	return tx.Put(b, []byte(key), []byte(value))
}

// randomRead reads in each of the three ways.
func randomRead(t *rapid.T, tx store.Tx, want model) {
	b, key := someBucket.Draw(t, "bucket"), someKey.Draw(t, "key")
	value, present := want[b][key]
	if got := tx.Get(b, []byte(key)); string(got) != value || (got != nil) != present {
		t.Fatalf("get %s/%x: %d bytes (nil %v), want %d (present %v)", b, key, len(got), got == nil, len(value), present)
	}
	from, max := someFrom.Draw(t, "from"), rapid.IntRange(-1, 5).Draw(t, "max")
	if diff := cmp.Diff(want.ascend(b, from, max), ascend(tx, b, from, max)); diff != "" {
		t.Fatalf("ascend %s/%x: %s", b, from, diff)
	}
	k, v := tx.Last(b)
	if all := want.ascend(b, "", -1); len(all) == 0 && k == nil && v == nil {
		return
	} else if len(all) == 0 || string(k) != all[len(all)-1].Key || string(v) != all[len(all)-1].Value {
		t.Fatalf("last %s: %x of %d keys", b, k, len(all))
	}
}
