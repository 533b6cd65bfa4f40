package replicate_test

import (
	"encoding/binary"
	"testing"

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
			m.Heartbeat.Super = merkle.SuperRoot(&b.fleet.Key, []merkle.RealmRoot{{Realm: realm.Realm, Root: realm.Root, Count: realm.Records}})
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
