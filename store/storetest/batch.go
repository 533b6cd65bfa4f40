package storetest

import (
	"errors"
	"fmt"
	"sync"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var batchTests = []test{
	{"Batch/ConcurrentWritesStandAlone", testConcurrentWrites},
	{"Batch/P7/AcknowledgedIsVisible", testReadYourWrites},
	{"Close/RefusesLaterWrites", testClose},
	{"Apply/CursorMovesWithTheRecords", testCursor},
}

// Many writers at once share transactions: each write is judged on its own,
// a refused one leaves its neighbours alone, every event has its own dot.
func testConcurrentWrites(e *env) {
	n := e.open()
	before := n.Head()
	const workers, each = 16, 12
	var mu sync.Mutex
	dots := map[uint64]string{}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for j := range each {
				name := fmt.Sprintf("w%d-%d", i, j)
				w, err := n.Write(e.Context(), store.Write{Resource: skill(name, "")})
				if err != nil {
					e.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				dots[w.OriginSeq] = w.Resource.ID
				mu.Unlock()
				if _, err := n.Write(e.Context(), store.Write{Resource: skill(name, ""), CreateOnly: true}); !errors.Is(err, resource.ErrExists) {
					e.Errorf("%s again: %v", name, err)
				}
				if _, err := n.Write(e.Context(), at(store.OpDelete, "nobody")); !errors.Is(err, resource.ErrNotFound) {
					e.Errorf("delete of nobody: %v", err)
				}
			}
		})
	}
	wg.Wait()
	after := n.Head()
	if len(dots) != workers*each || after.Own.Seq != before.Own.Seq+workers*each || after.Seq != before.Seq+workers*each {
		e.Errorf("%d dots, head %+v, was %+v", len(dots), after, before)
	}
	for _, entry := range n.entries(e, before.Seq) {
		if dots[entry.Event.Seq] != entry.Record.ID.String() {
			e.Errorf("dot %d was acknowledged for %s, the log has %s", entry.Event.Seq, dots[entry.Event.Seq], entry.Record.ID)
		}
	}
}

func testReadYourWrites(e *env) {
	n := e.open()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				w, err := n.Write(e.Context(), store.Write{Resource: skill(fmt.Sprint("w", i), fmt.Sprintf(`{"size":%d}`, j))})
				got, getErr := n.GetByID(e.Context(), w.Resource.ID)
				if err != nil || getErr != nil || got.Digest != w.Resource.Digest || n.Head().Seq < w.Seq {
					e.Errorf("after its write %d: %s, %v, %v", j, got.Spec, err, getErr)
				}
			}
		})
	}
	wg.Wait()
}

func testClose(e *env) {
	n := e.open()
	n.put(skill("a", ""))
	n.verify()
	n.done = true
	if err := errors.Join(n.Close(), n.Close()); err != nil {
		e.Error(err)
	}
	if _, err := n.Put(e.Context(), skill("b", "")); !errors.Is(err, store.ErrClosed) {
		e.Errorf("put: %v", err)
	}
	if _, err := n.Get(e.Context(), "Skill", resource.Scope{}, "a"); !errors.Is(err, store.ErrClosed) {
		e.Errorf("get: %v", err)
	}
}

// A cursor is stored with the records that it stands for, or not at all.
func testCursor(e *env) {
	a, b := e.pair()
	a.put(skill("a", ""))
	if data := must(b.Cursor("stream"))(e); data != nil {
		e.Errorf("a cursor before any: %q", data)
	}
	b.apply(e, store.Batch{Records: a.outbox(e), Cursor: "stream", CursorData: []byte("here")})
	b.reopenIfPossible()
	if data := must(b.Cursor("stream"))(e); string(data) != "here" {
		e.Errorf("cursor %q", data)
	}
	b.apply(e, store.Batch{Cursor: "stream", CursorData: []byte("there")})
	if data := must(b.Cursor("stream"))(e); string(data) != "there" {
		e.Errorf("cursor %q of a batch without records", data)
	}
	agree(e, a, b)
}
