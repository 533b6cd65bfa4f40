package replicate_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"driftless.dev/merkle"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// meddle runs a session of a with b in which the answers to one verb are
// changed on their way.
func meddle(a, b *rig, verb string, change func(n int, data []byte) []byte) {
	a.t.Helper()
	a.hear(b)
	n := 0
	a.do(func(e replicate.Request) ([]byte, error) {
		data, err := b.answer(e)
		if e.Verb == verb && err == nil {
			n++
			data = change(n, data)
		}
		return data, err
	})
	if n == 0 {
		a.t.Fatalf("the session never asked for %s", verb)
	}
}

// nodes, records and standing change a decoded answer.
func nodes(f wire.Fleet, change func(*wire.Nodes)) func(int, []byte) []byte {
	return func(_ int, data []byte) []byte {
		m, err := f.ReadNodes(data)
		if err != nil {
			panic(err)
		}
		change(&m)
		return f.AppendNodes(nil, &m)
	}
}

func records(f wire.Fleet, change func(*wire.Records)) func(int, []byte) []byte {
	return func(_ int, data []byte) []byte {
		m, err := f.ReadRecords(data)
		if err != nil {
			panic(err)
		}
		change(&m)
		return f.AppendRecords(nil, &m)
	}
}

func standing(f wire.Fleet, change func(*wire.Standing)) func(int, []byte) []byte {
	return func(_ int, data []byte) []byte {
		m, err := f.ReadStanding(data)
		if err != nil {
			panic(err)
		}
		change(&m)
		return f.AppendStanding(nil, &m)
	}
}

func garbage(int, []byte) []byte { return []byte{0xdd, 0xff, 0xff, 0xff, 0xff} }

// TestSession_HostileAnswersAreErrors: whatever a member answers, the session
// ends with an error and a reason, and nothing of it is in the state.
func TestSession_HostileAnswersAreErrors(t *testing.T) {
	f, err := wire.NewFleet("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	other := newRig(t, "o", new(time.Duration))
	other.registerKind()
	other.put("", "unasked", 1)
	other.put("q", "elsewhere", 1)
	frames := [][]byte{}
	for _, ev := range other.events(1) {
		frames = append(frames, ev.Record.AppendTo(nil))
	}
	for name, c := range map[string]struct {
		verb   string
		change func(int, []byte) []byte
	}{
		"hello garbage":        {replicate.VerbHello, garbage},
		"hello empty":          {replicate.VerbHello, func(int, []byte) []byte { return nil }},
		"hello of another":     {replicate.VerbHello, standing(f, func(m *wire.Standing) { m.Heartbeat.Instance = id(1, 9) })},
		"nodes garbage":        {replicate.VerbNodes, garbage},
		"no nodes":             {replicate.VerbNodes, nodes(f, func(m *wire.Nodes) { m.Nodes = nil })},
		"too many nodes":       {replicate.VerbNodes, nodes(f, func(m *wire.Nodes) { m.Nodes = append(m.Nodes, m.Nodes...) })},
		"forged node":          {replicate.VerbNodes, nodes(f, func(m *wire.Nodes) { m.Nodes[0] = merkle.Node{Leaf: true} })},
		"records garbage":      {replicate.VerbRecords, garbage},
		"none done":            {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Done = 0 })},
		"too many done":        {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Done = 1 << 63 })},
		"unasked record":       {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Frames = append(m.Frames, frames[0]) })},
		"record of a realm":    {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Frames = append(m.Frames, frames[1]) })},
		"broken record":        {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Frames = [][]byte{{1, 2, 3}} })},
		"piece larger than it": {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Size = 1 })},
		"empty piece":          {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Size, m.Frames = 9, [][]byte{{}} })},
		"two pieces":           {replicate.VerbRecords, records(f, func(m *wire.Records) { m.Size, m.Frames = 9, [][]byte{{1}, {2}} })},
		"push garbage":         {replicate.VerbPush, garbage},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t)
			b.put("", "x", 1)
			a.put("", "y", 1)
			before := a.store.Head().Seq
			meddle(a, b, c.verb, c.change)
			ended(a, "error")
			s := a.status()
			if s.LastError == "" || s.Ready {
				t.Errorf("error %q, ready %v", s.LastError, s.Ready)
			}
			if after := a.store.Head().Seq; c.verb != replicate.VerbPush && after != before {
				t.Errorf("the log grew from %d to %d", before, after)
			}
		})
	}
}

// TestSession_MovedRootIsARetry: not a success, nothing is ready by it, and it
// is tried again soon.
func TestSession_MovedRootIsARetry(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	meddle(a, b, replicate.VerbNodes, nodes(b.fleet, func(m *wire.Nodes) { *m = wire.Nodes{Moved: true} }))
	ended(a, "moved")
	if a.status().Ready {
		t.Error("ready by a session that found nothing out")
	}
	a.pass(200 * time.Millisecond)
	a.do(b.answer)
	if a.sessions("repaired") != 1 || !a.status().Ready {
		t.Errorf("sessions %v, ready %v", a.status().Counters.Sessions, a.status().Ready)
	}
	agree(a, b)
}

// TestSession_NotHandedOverIsPartial: no vector is adopted over a hole.
func TestSession_NotHandedOverIsPartial(t *testing.T) {
	a, b := pair(t)
	b.put("", "x", 1)
	b.put("", "y", 1)
	had := a.store.Summary().VectorDigest
	meddle(a, b, replicate.VerbRecords, records(b.fleet, func(m *wire.Records) { m.Frames = m.Frames[:1] }))
	ended(a, "partial")
	if a.store.Summary().VectorDigest != had {
		t.Error("the member's vector was adopted")
	}
}

// TestSession_RefusedIsPartial: nor over a record that was refused, which is
// not pulled again while the reason stands.
func TestSession_RefusedIsPartial(t *testing.T) {
	a, b := pair(t)
	a.stranger(1)
	a.stranger(2)
	b.skew = 2 * time.Minute
	b.put("", "future", 1)
	b.skew = 0
	had := a.store.Summary().VectorDigest
	asked := 0
	count := func(e replicate.Request) ([]byte, error) {
		if e.Verb == replicate.VerbRecords {
			asked++
		}
		return b.answer(e)
	}
	a.hear(b)
	a.do(count)
	ended(a, "partial")
	if a.store.Summary().VectorDigest != had {
		t.Error("the member's vector was adopted")
	}
	for _, want := range []int{1, 2} {
		a.pass(29 * time.Second)
		for n := range 2 {
			a.stranger(n + 1)
		}
		a.hear(b)
		a.pass(3 * time.Second)
		a.hear(b)
		a.do(count)
		if asked != want {
			t.Errorf("after %s asked %d times for the record, want %d", *a.mono, asked, want)
		}
	}
}

func TestSession_LargeRecordComesInPieces(t *testing.T) {
	a, b := pair(t)
	b.put("", "large", 450<<10)
	b.put("", "small", 1)
	a.hear(b)
	var offsets []uint64
	a.do(func(e replicate.Request) ([]byte, error) {
		if req, err := b.fleet.ReadRecordsRequest(e.Data); err == nil && e.Verb == replicate.VerbRecords {
			offsets = append(offsets, req.Offset)
		}
		return b.answer(e)
	})
	ended(a, "repaired")
	agree(a, b)
	if slices.Sort(offsets); fmt.Sprint(offsets) != fmt.Sprint([]int{0, 0, 192 << 10, 384 << 10}) {
		t.Errorf("offsets %v", offsets)
	}
}

// TestSession_LargeRecordThatChanges on its way is what nobody ever wrote.
func TestSession_LargeRecordThatChanges(t *testing.T) {
	a, b := pair(t)
	b.put("", "large", 450<<10)
	meddle(a, b, replicate.VerbRecords, func(n int, data []byte) []byte {
		if n == 1 {
			return data
		}
		return bytes.ReplaceAll(data, []byte("xxxx"), []byte("yyyy"))
	})
	ended(a, "moved")
	if _, err := a.store.Get(t.Context(), "notes", resource.Scope{}, "large"); err == nil {
		t.Error("the mixture was taken")
	}
	a.pass(200 * time.Millisecond)
	a.do(b.answer)
	agree(a, b)
}
