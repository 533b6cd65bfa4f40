package wire_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"driftless.dev/resource"
	"driftless.dev/wire"
)

func subjects(t interface {
	Helper()
	Fatal(...any)
}, fleet string) wire.Subjects {
	t.Helper()
	s, err := wire.NewSubjects(fleet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// oneToken is a subject token that no server reads as a wildcard or a boundary.
var oneToken = regexp.MustCompile(`^[A-Za-z0-9_=-]+$`)

// awkward draws text that a naive encoding trips over, and any other text.
func awkward() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringN(0, 253, 253),
		rapid.StringMatching(`[a-z0-9_-]{0,70}`),
		rapid.StringMatching(`=[0-9a-v]{0,20}`),
		rapid.SampledFrom([]string{"", "*", ">", "a.b", ".", " ", "=", "==", "\x00", "\xff", "Ä", "A", "a", "$SYS", strings.Repeat("x", 253)}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 253), func(b []byte) string { return string(b) }),
	)
}

func anID() *rapid.Generator[resource.ID] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) resource.ID {
		b[0] |= 1 // the zero ID has no spelling
		return resource.ID(b)
	})
}

func TestToken_OneSafeTokenForAnyTextAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := awkward().Draw(t, "text")
		token := wire.Token(text)
		if !oneToken.MatchString(token) {
			t.Fatalf("token %q of %q is not one plain token", token, text)
		}
		back, err := wire.ParseToken(token)
		if err != nil || back != text {
			t.Fatalf("%q came back as %q (%v)", text, back, err)
		}
	})
}

func TestToken_DifferentTextsDifferentTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := awkward().Draw(t, "a"), awkward().Draw(t, "b")
		// An encoded token taken as text is the likeliest collision.
		for _, b := range []string{b, wire.Token(a)} {
			if a != b && wire.Token(a) == wire.Token(b) {
				t.Fatalf("%q and %q share the token %q", a, b, wire.Token(a))
			}
		}
	})
}

func TestParseToken_OnlyTheCanonicalSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.OneOf(rapid.String(), rapid.StringMatching(`=[0-9a-zA-V=]{0,12}`)).Draw(t, "token")
		text, err := wire.ParseToken(token)
		if err != nil {
			if !errors.Is(err, wire.ErrSubject) {
				t.Fatalf("error %v is no ErrSubject", err)
			}
			return
		}
		if wire.Token(text) != token {
			t.Fatalf("%q was read as %q, which is written %q", token, text, wire.Token(text))
		}
	})
}

func TestSubjects_RoundTrip(t *testing.T) {
	s := subjects(t, "Prod_eu-1")
	rapid.Check(t, func(t *rapid.T) {
		text, id := awkward().Draw(t, "text"), anID().Draw(t, "id")
		realm, origin, err := s.ParseEvent(s.Event(text, id))
		if err != nil || realm != text || origin != id {
			t.Fatalf("event: %q %v %v", realm, origin, err)
		}
		if got, err := s.ParseHeartbeat(s.Heartbeat(id)); err != nil || got != id {
			t.Fatalf("heartbeat: %v %v", got, err)
		}
		instance, verb, err := s.ParseRPC(s.RPC(id, text))
		if err != nil || instance != id || verb != text {
			t.Fatalf("rpc: %v %q %v", instance, verb, err)
		}
	})
}

// What stands on the wire: a change here cuts a fleet in two.
func TestSubjects_Golden(t *testing.T) {
	s := subjects(t, "default")
	id := resource.ID{0: 1, 15: 9}
	for name, pair := range map[string][2]string{
		"stream":     {s.Stream(), "DRIFTLESS_default"},
		"events":     {s.EventsFilter(), "driftless.default.ev.>"},
		"event":      {s.Event("atlas", id), "driftless.default.ev.atlas.01000000000000000000000009"},
		"event _":    {s.Event("_", id), "driftless.default.ev._.01000000000000000000000009"},
		"event *":    {s.Event("*", id), "driftless.default.ev.=58.01000000000000000000000009"},
		"event ''":   {s.Event("", id), "driftless.default.ev.=.01000000000000000000000009"},
		"heartbeats": {s.HeartbeatFilter(), "driftless.default.hb.*"},
		"heartbeat":  {s.Heartbeat(id), "driftless.default.hb.01000000000000000000000009"},
		"rpc":        {s.RPC(id, "hello"), "driftless.default.rpc.01000000000000000000000009.hello"},
		"rpcs":       {s.RPCFilter(id), "driftless.default.rpc.01000000000000000000000009.*"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %s, want %s", name, pair[0], pair[1])
		}
	}
	if n := len(s.Event(strings.Repeat("\xff", 253), id)); n > 512 {
		t.Errorf("the longest event subject has %d characters", n)
	}
}

func TestSubjects_ForeignOrBrokenIsRefused(t *testing.T) {
	s, other := subjects(t, "a"), subjects(t, "b")
	id := resource.ID{0: 1, 15: 0xaf} // its spelling has letters
	for _, subject := range []string{
		"", "driftless", other.Event("r", id), s.Heartbeat(id), s.Event("r", resource.ID{}),
		"driftless.a.ev.r", "driftless.a.ev.R." + id.String(), "driftless.a.ev.r.x." + id.String(),
		s.Event("r", id) + ".x", strings.ToLower(s.Event("r", id)),
	} {
		if _, _, err := s.ParseEvent(subject); !errors.Is(err, wire.ErrSubject) {
			t.Errorf("event %q: %v", subject, err)
		}
	}
	for _, subject := range []string{"", other.Heartbeat(id), s.Event("r", id), "driftless.a.hb.", s.Heartbeat(id) + ".x"} {
		if _, err := s.ParseHeartbeat(subject); !errors.Is(err, wire.ErrSubject) {
			t.Errorf("heartbeat %q: %v", subject, err)
		}
	}
	for _, subject := range []string{"", other.RPC(id, "v"), s.RPC(id, "v") + ".x", "driftless.a.rpc.v", "driftless.a.rpc..v"} {
		if _, _, err := s.ParseRPC(subject); !errors.Is(err, wire.ErrSubject) {
			t.Errorf("rpc %q: %v", subject, err)
		}
	}
}

func TestValidateFleet(t *testing.T) {
	for _, good := range []string{"default", "A", "a_b-C9", strings.Repeat("x", wire.MaxFleet)} {
		if err := wire.ValidateFleet(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "a.b", "*", ">", "a b", "ä", strings.Repeat("x", wire.MaxFleet+1)} {
		if err := wire.ValidateFleet(bad); !errors.Is(err, wire.ErrSubject) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := wire.NewSubjects(bad); err == nil {
			t.Errorf("%q: made subjects", bad)
		}
	}
}
