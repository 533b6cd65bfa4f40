package driftless_test

import (
	"fmt"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/resource"
)

// rounds counts the reconciliations that moved something, of all members.
func rounds(fleet []*member) (n uint64) {
	for _, m := range fleet {
		by := m.Sample().Exchanges
		n += by["repaired"] + by["partial"]
	}
	return n
}

// roundsEnd waits until every round has ended that is under way: a member has
// one at a time, so it is over when two more have been counted.
func roundsEnd(t *testing.T, fleet []*member) {
	t.Helper()
	for _, m := range fleet {
		counted := func() (n uint64) {
			for _, by := range m.Sample().Exchanges {
				n += by
			}
			return n
		}
		before := counted()
		eventually(t, 30*time.Second, m.cfg.Name+" goes on comparing", func() bool { return counted() >= before+2 })
	}
}

// Both sides of a cut go on writing, to records of their own and to shared
// ones. After the heal the fleet agrees within two reconciliation rounds per
// link, with the stream's help and without.
func TestFleet_P3_AgreementAfterAHeal(t *testing.T) {
	const each, shared = 200, 50
	for _, c := range []struct {
		names      []string
		streamless bool
	}{{[]string{"a", "b"}, true}, {[]string{"a", "b", "c"}, true}, {[]string{"a", "b", "c"}, false}} {
		t.Run(fmt.Sprintf("%d members, streamless %t", len(c.names), c.streamless), func(t *testing.T) {
			fleet := newFleet(t, c.names, func(cfg *driftless.Config) { cfg.NATS.Streamless = c.streamless })
			registerNotes(t, fleet, resource.IdentityName)
			far := fleet[len(fleet)-1]
			want := map[string]string{}
			for i := range shared {
				put(t, fleet[0], note(fmt.Sprint("shared-", i), "before"))
			}
			settle(t, fleet)
			far.link.Cut()
			eventually(t, 10*time.Second, "the cut is noticed", func() bool { return !far.Info().NATS.Connected })
			for _, m := range []*member{fleet[0], far} {
				for i := range each {
					name := fmt.Sprint(m.cfg.Name, "-", i)
					want[name] = "own"
					put(t, m, note(name, "own"))
				}
			}
			for i := range shared { // the later write wins: far's
				name := fmt.Sprint("shared-", i)
				put(t, fleet[0], note(name, "near"))
				want[name] = "far"
				put(t, far, note(name, "far"))
			}
			before, links := rounds(fleet), len(fleet)*(len(fleet)-1)/2
			far.link.Heal()
			eventually(t, 10*time.Second, "NATS is back", func() bool { return far.Info().NATS.Connected })
			back := time.Now()
			settle(t, fleet)
			took := time.Since(back)
			roundsEnd(t, fleet)
			n := int(rounds(fleet) - before)
			t.Logf("agreement %s after NATS was back, in %d rounds over %d links", took.Round(time.Millisecond), n, links)
			if n > 2*links {
				t.Errorf("%d rounds, want at most two for each of %d links", n, links)
			}
			if c.streamless && n == 0 {
				t.Error("no round was counted: what brought the members together?")
			}
			holdNotes(t, fleet, want)
		})
	}
}
