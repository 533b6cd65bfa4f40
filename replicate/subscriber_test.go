package replicate_test

import (
	"fmt"
	"testing"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// arrivals returns a reader, and n messages of one event each by a writer.
func arrivals(t *testing.T, n int) (a, b *rig, messages []replicate.Message) {
	t.Helper()
	a, b = pair(t)
	head := b.store.Head().Seq
	for i := range n {
		b.put("", fmt.Sprint("m", i), 1)
	}
	for i, ev := range b.events(head) {
		messages = append(messages, b.message(uint64(i+1), ev))
	}
	return a, b, messages
}

// own is a message of the rig's own.
func own(a *rig, seq uint64) replicate.Message {
	return replicate.Message{At: replicate.Cursor{Created: 1, Seq: seq}, Origin: a.store.Identity().Incarnation, Data: []byte("own")}
}

// resumed applies e, or stages it, and returns the stream's place then.
func resumed(a *rig, e replicate.Effect) uint64 {
	a.t.Helper()
	a.act(e, nil)
	if _, ok := e.(replicate.Stage); ok {
		a.put("", "any transaction carries what was staged", 1)
	}
	at, err := replicate.LoadCursor(a.store)
	if err != nil {
		a.t.Fatal(err)
	}
	return at.Seq
}

// seqs lists the dots of a batch.
func seqs(e replicate.Apply) (out []uint64) {
	for _, in := range e.Batch.Records {
		out = append(out, in.Event.Seq-1) // the kind was the first
	}
	return out
}

func TestSubscriber_BatchesGrowWhileAnApplyIsUnderWay(t *testing.T) {
	a, _, messages := arrivals(t, 300)
	a.step(messages[0])
	first := one[replicate.Apply](a)
	for _, m := range messages[1:] {
		a.step(m)
		none[replicate.Apply](a)
	}
	if got := fmt.Sprint(seqs(first)); got != "[1]" {
		t.Fatalf("an idle node applies %s at once, want [1]", got)
	}
	for _, want := range []int{256, 43} {
		a.act(first, nil)
		first = one[replicate.Apply](a)
		if got := len(first.Batch.Records); got != want {
			t.Fatalf("next batch of %d records, want %d", got, want)
		}
	}
	if at := resumed(a, first); at != 300 {
		t.Errorf("the stream's place is %d after all, want 300", at)
	}
}

func TestSubscriber_OwnMessagesStageTheCursorWhenNothingIsPending(t *testing.T) {
	a, _, messages := arrivals(t, 1)
	a.step(own(a, 1))
	none[replicate.Apply](a)
	if at := resumed(a, one[replicate.Stage](a)); at != 1 {
		t.Fatalf("place %d, want 1", at)
	}
	a.step(messages[0])
	e := one[replicate.Apply](a)
	a.step(own(a, 2))
	none[replicate.Stage](a) // it would pass what is on its way to the disk
	a.act(e, nil)
	one[replicate.Stage](a)
}

// TestSubscriber_ApplyErrorLosesNothing: what failed comes first again, in
// order, and no cursor passes it meanwhile.
func TestSubscriber_ApplyErrorLosesNothing(t *testing.T) {
	a, _, messages := arrivals(t, 3)
	a.step(messages[0])
	failed := one[replicate.Apply](a)
	a.step(messages[1])
	a.step(replicate.Applied{ID: failed.ID, Err: store.ErrNoSpace})
	a.step(own(a, 9))
	none[replicate.Apply](a)
	none[replicate.Stage](a)
	a.pass(time.Second)
	again := one[replicate.Apply](a)
	if got := fmt.Sprint(seqs(again)); got != "[1 2]" {
		t.Fatalf("retried events %s, want [1 2]", got)
	}
	a.step(replicate.Applied{ID: failed.ID}) // an old answer means nothing
	a.step(messages[2])
	none[replicate.Apply](a)
	if at := resumed(a, again); at != 9 {
		t.Errorf("place %d, want 9", at)
	}
	if got := fmt.Sprint(seqs(one[replicate.Apply](a))); got != "[3]" {
		t.Errorf("then events %s, want [3]", got)
	}
}

// TestSubscriber_RefusesFarFutureStamps: with three clocks there is a median to
// judge by, with two there is not.
func TestSubscriber_RefusesFarFutureStamps(t *testing.T) {
	for _, clocks := range []int{2, 3} {
		t.Run(fmt.Sprint("clocks=", clocks), func(t *testing.T) {
			a, b, _ := arrivals(t, 0)
			b.skew = 2 * time.Minute
			b.put("", "future", 1)
			for n := range clocks - 1 {
				a.stranger(n)
			}
			a.step(b.message(1, b.events(1)...))
			e := one[replicate.Apply](a)
			if refused := len(e.Refused); refused != clocks-2 || len(e.Batch.Records)+refused != 1 {
				t.Fatalf("%d refused, %d taken", refused, len(e.Batch.Records))
			}
			if at := resumed(a, e); at != 1 {
				t.Errorf("place %d: a refused record must not stop the rest", at)
			}
			if list, err := a.store.QuarantineList(9); err != nil || len(list) != clocks-2 {
				t.Errorf("quarantine %v, %v", list, err)
			}
		})
	}
}

func TestSubscriber_BacklogCountsBytes(t *testing.T) {
	a, _, messages := arrivals(t, 3)
	a.step(messages[0])
	e := one[replicate.Apply](a)
	if got := a.core.Backlog(); got != 0 {
		t.Errorf("backlog %d with one message on its way to the disk, want 0", got)
	}
	a.step(messages[1])
	a.step(messages[2])
	if got, least := a.core.Backlog(), len(messages[1].Data)+len(messages[2].Data); got < least {
		t.Errorf("backlog %d with two waiting, want at least %d", got, least)
	}
	a.step(replicate.Applied{ID: e.ID, Err: store.ErrNoSpace})
	if got, least := a.core.Backlog(), 3*len(messages[0].Data); got < least {
		t.Errorf("backlog %d after a failure, want at least %d", got, least)
	}
	a.pass(time.Second)
	if got := a.core.Backlog(); got != 0 {
		t.Errorf("backlog %d after the retry began, want 0", got)
	}
}

// TestSubscriber_RefusedMessageMovesOn: garbage, or a batch under another's
// subject, is counted and passed over, and its origin is asked instead.
func TestSubscriber_RefusedMessageMovesOn(t *testing.T) {
	for name, spoil := range map[string]func(*replicate.Message){
		"garbage":       func(m *replicate.Message) { m.Data = []byte{0xc1} },
		"cut":           func(m *replicate.Message) { m.Data = m.Data[:len(m.Data)/2] },
		"another realm": func(m *replicate.Message) { m.Realm = "other" },
		"another's":     func(m *replicate.Message) { m.Origin = id(2, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, messages := arrivals(t, 1)
			b.give(a, true)
			a.hear(b) // equal: no session yet
			a.stranger(7)
			none[replicate.Request](a)
			spoil(&messages[0])
			a.step(messages[0])
			none[replicate.Apply](a)
			one[replicate.Stage](a)
			if e := one[replicate.Request](a); e.Verb != replicate.VerbHello {
				t.Errorf("asks for %s", e.Verb)
			}
			if s := a.status(); s.Counters.Rejected != 1 || s.LastError == "" {
				t.Errorf("rejected %d, error %q", s.Counters.Rejected, s.LastError)
			}
		})
	}
}

func TestSubscriber_MissingEventIsAskedFor(t *testing.T) {
	a, b, _ := arrivals(t, 0)
	a.hear(b)
	none[replicate.Request](a)
	ident := b.store.Identity()
	m := wire.Batch{Instance: ident.Instance, Incarnation: ident.Incarnation, Realm: resource.GlobalRealm, Missing: true}
	a.step(replicate.Message{At: replicate.Cursor{Created: 1, Seq: 1}, Realm: m.Realm, Origin: ident.Incarnation, Data: b.fleet.AppendBatch(nil, &m)})
	if e := one[replicate.Request](a); e.To != ident.Instance || e.Verb != replicate.VerbHello {
		t.Errorf("asks %s for %s", e.To, e.Verb)
	}
}
