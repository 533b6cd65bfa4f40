package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"driftless.dev/resource"
	"driftless.dev/store"
	"github.com/google/go-cmp/cmp"
)

var updateTests = []test{
	{"Update/FiftyGoroutinesCountExactly", testCounting},
	{"Update/SkipEndsWithoutAWrite", testSkip},
	{"Update/EveryAttemptGetsAFreshCopy", testFreshCopy},
	{"Update/OtherErrorsEndIt", testUpdateErrors},
	{"Update/ExhaustionIsAConflict", testExhausted},
}

// P5: no update is lost under contention.
func testCounting(e *env) {
	n := e.open()
	r := n.put(skill("counter", `{"size":0}`))
	const workers, each = 50, 4
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for range each {
				var err error
				if i%2 == 0 {
					_, err = n.Update(e.Context(), "Skill", resource.Scope{}, "counter", increment)
				} else {
					_, err = n.UpdateByID(e.Context(), r.ID, increment)
				}
				if err != nil {
					e.Errorf("worker %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	if got := n.get("counter"); string(got.Spec) != fmt.Sprintf(`{"size":%d}`, workers*each) || got.SyncVersion != workers*each+1 {
		e.Errorf("the count is %s at version %d", got.Spec, got.SyncVersion)
	}
}

func increment(r *resource.Resource) error {
	var spec struct {
		Size int `json:"size"`
	}
	if err := json.Unmarshal(r.Spec, &spec); err != nil {
		return err
	}
	r.Spec = fmt.Appendf(nil, `{"size":%d}`, spec.Size+1)
	return nil
}

func testSkip(e *env) {
	n := e.open()
	want := n.put(with(skill("a", `{"size":1}`), func(r *resource.Resource) { r.Labels = map[string]string{"l": "1"} }))
	before := n.Head()
	got, err := n.Update(e.Context(), "Skill", resource.Scope{}, "a", func(r *resource.Resource) error {
		r.Labels["l"], r.Spec[2], r.Name = "2", 'X', "b"
		return fmt.Errorf("seen: %w", resource.ErrSkipUpdate)
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || n.Head() != before {
		e.Errorf("a skipped update came to %v, %s", err, diff)
	}
	// As read, even when the record is gone meanwhile.
	got, err = n.Update(e.Context(), "Skill", resource.Scope{}, "a", func(*resource.Resource) error {
		n.remove("a")
		return resource.ErrSkipUpdate
	})
	if err != nil || got.Digest != want.Digest {
		e.Errorf("a skipped update of what was read came to %+v, %v", got, err)
	}
}

func testFreshCopy(e *env) {
	n := e.open()
	n.put(with(skill("a", `{"size":1}`), func(r *resource.Resource) { r.Labels = map[string]string{"l": "1"} }))
	attempts := 0
	got, err := n.Update(e.Context(), "Skill", resource.Scope{}, "a", func(r *resource.Resource) error {
		if attempts++; attempts == 1 {
			n.put(with(skill("a", `{"size":7}`), func(r *resource.Resource) { r.Labels = map[string]string{"l": "7"} }))
		}
		r.Labels["l"] += "x"
		return nil
	})
	if err != nil || attempts != 2 || got.Labels["l"] != "7x" || string(got.Spec) != `{"size":7}` {
		e.Errorf("after %d attempts: %+v, %v", attempts, got, err)
	}
}

func testUpdateErrors(e *env) {
	n := e.open()
	calls := 0
	update := func(change func(*resource.Resource) error) error {
		_, err := n.Update(e.Context(), "Skill", resource.Scope{}, "a", func(r *resource.Resource) error { calls++; return change(r) })
		return err
	}
	if err := update(func(*resource.Resource) error { return nil }); !errors.Is(err, resource.ErrNotFound) || calls != 0 {
		e.Errorf("absent: %v after %d calls", err, calls)
	}
	n.put(skill("a", ""), human)
	mine := errors.New("mine")
	if err := update(func(*resource.Resource) error { return mine }); err != mine || calls != 1 {
		e.Errorf("a mutate's error came back as %v after %d calls", err, calls)
	}
	size := func(r *resource.Resource) error { r.Spec = []byte(`{"size":1}`); return nil }
	if err := update(size); !errors.Is(err, resource.ErrOutranked) || calls != 2 {
		e.Errorf("outranked: %v after %d calls", err, calls)
	}
}

func testExhausted(e *env) {
	n := e.open()
	n.put(skill("a", `{"size":0}`))
	attempts := 0
	_, err := n.Update(e.Context(), "Skill", resource.Scope{}, "a", func(r *resource.Resource) error {
		attempts++
		n.write(store.Write{Resource: skill("a", fmt.Sprintf(`{"size":%d}`, attempts))})
		r.Spec = []byte(`{"text":"never"}`)
		return nil
	})
	if !errors.Is(err, resource.ErrConflict) || attempts < 100 {
		e.Errorf("after %d attempts: %v", attempts, err)
	}
}
