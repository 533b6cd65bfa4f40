package replicate_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"driftless.dev/merkle"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// TestSession_LimitExchangesAndBeginsAgain: more differences than one descent
// collects are true all the same. They are exchanged, nothing is adopted, and
// the next session begins at once.
func TestSession_LimitExchangesAndBeginsAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("a million rows")
	}
	a, b := pair(t)
	mine := crowd(t, a, 1, 15, merkle.MaxDifferences+1000)
	a.state = func() store.State { return mine }
	theirs := crowd(t, a, 0, 1, 100).Realms[0]

	b.put("", "differs", 1)
	a.hear(b)
	asked := map[string]int{}
	for a.sessions("partial") == 0 && len(a.todo) > 0 {
		e := a.todo[0]
		a.todo = a.todo[1:]
		switch e := e.(type) {
		case replicate.ReadRecords: // the rows are made up, there is nothing to push
			asked["read"]++
			a.step(replicate.RecordsRead{ID: e.ID, Done: len(e.Places)})
		default:
			a.act(e, func(e replicate.Request) ([]byte, error) {
				asked[e.Verb]++
				return answerFor(b, e, theirs)
			})
		}
	}
	ended(a, "partial")
	if asked["hello"] != 1 || asked["nodes"] != 2 || asked["read"] != merkle.MaxDifferences/1024+1 {
		t.Errorf("asked %v", asked)
	}
	if e := one[replicate.Request](a); e.Verb != replicate.VerbHello || e.To != b.store.Identity().Instance {
		t.Errorf("then asks %s for %s", e.To, e.Verb)
	}
}

// TestMembership_BusyEntriesDoNotStarveTheOthers: more than 64 incarnations
// that write all the time, and one beyond them.
func TestMembership_BusyEntriesDoNotStarveTheOthers(t *testing.T) {
	t.Skip("bug: membership.go heartbeat begins at the lowest incarnation every time")
	r := lone(t)
	heard := map[int]bool{}
	for round := range uint64(10) {
		move(r, 0, 100, round+1)
		for _, n := range told(r) {
			heard[n] = true
		}
	}
	if len(heard) != 100 {
		t.Errorf("%d of 100 entries were told in ten heartbeats", len(heard))
	}
}

// TestWake_RememberedAfterAnAdmit: a push that is judged between two steps must
// not make a timer that was due meanwhile be forgotten.
func TestWake_RememberedAfterAnAdmit(t *testing.T) {
	t.Skip("bug: exchange.go Admit moves the core's clock past timers that were not served")
	a, b := pair(t)
	a.hear(b)
	w := b.put("", "x", 1)
	a.step(b.message(1, b.events(w.Seq-1)...))
	a.act(one[replicate.Apply](a), nil)
	due := a.core.Wake()
	*a.mono += 25 * time.Millisecond
	if _, _, err := a.core.Admit(a.now(), id(1, 1), nil); err != nil {
		t.Fatal(err)
	}
	if got := a.core.Wake(); got > due {
		t.Errorf("the acknowledgement was due at %s, the core wakes at %s", due, got)
	}
}

// TestSession_LargeRecordThatChangesItsSize: honest members do that.
func TestSession_LargeRecordThatChangesItsSize(t *testing.T) {
	for _, size := range []int{1, 200 << 10, 440 << 10, 460 << 10} {
		t.Run(fmt.Sprint("size=", size), func(t *testing.T) {
			if size <= 200<<10 {
				t.Skip("bug: exchange.go calls a record that shrank between its pieces an error of the member")
			}
			a, b := pair(t)
			b.put("", "large", 450<<10)
			n := 0
			a.hear(b)
			a.do(func(e replicate.Request) ([]byte, error) {
				if e.Verb == replicate.VerbRecords {
					if n++; n == 3 {
						b.put("", "large", size)
					}
				}
				return b.answer(e)
			})
			ended(a, "moved")
		})
	}
}

// crowd is a state of n made-up rows under the first nibbles from..to-1.
func crowd(t *testing.T, r *rig, from, to, n int) store.State {
	t.Helper()
	trie := merkle.New(r.fleet.Key, resource.GlobalRealm)
	for i := range n {
		key := uint64(i)*0x9e3779b97f4a7c15>>4 | uint64(from+i%(to-from))<<60
		var digest merkle.Digest
		binary.BigEndian.PutUint64(digest[:], uint64(i)+1)
		if err := trie.Replace(merkle.Key(key), merkle.Digest{}, digest); err != nil {
			t.Fatal(err)
		}
	}
	st := r.store.State()
	v := trie.View()
	st.Realms = []store.RealmState{{Realm: resource.GlobalRealm, Root: v.Root(), Records: n, View: v}}
	st.Super[0] ^= 1
	return st
}

// answerFor answers hello and nodes as b would if it held the realm.
func answerFor(b *rig, e replicate.Request, realm store.RealmState) ([]byte, error) {
	data, err := b.answer(e)
	switch {
	case err != nil:
	case e.Verb == replicate.VerbHello:
		return standing(b.fleet, func(m *wire.Standing) {
			m.Realms = []wire.Realm{{Name: realm.Realm, Root: realm.Root, Records: uint64(realm.Records)}}
		})(1, data), nil
	case e.Verb == replicate.VerbNodes:
		req, err := b.fleet.ReadNodesRequest(e.Data)
		if err != nil {
			return nil, err
		}
		m := wire.Nodes{}
		for _, p := range req.Prefixes {
			m.Nodes = append(m.Nodes, realm.View.Node(p))
		}
		return b.fleet.AppendNodes(nil, &m), nil
	}
	return data, err
}
