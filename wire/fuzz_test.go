package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"

	"driftless.dev/fuzztest"
	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// goldenFrames are the messages of testdata.
func goldenFrames(f *testing.F) (out [][]byte) {
	f.Helper()
	text, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		f.Fatal(err)
	}
	var golden map[string]string
	if err := json.Unmarshal(text, &golden); err != nil {
		f.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		b, err := hex.DecodeString(golden[name])
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// headOf is what every message of the fleet begins with; its first byte counts
// the fields.
func headOf(fl *wire.Fleet, fields byte) []byte {
	b := []byte{0x90 | fields&0x0f}
	if fields > 15 {
		b = []byte{0xdc, 0, fields}
	}
	return pack.AppendBin(pack.AppendUint(b, wire.Version), fl.ID[:])
}

// FuzzMessages reads every message from any bytes, bare and behind a sound head:
// an error, or a message that is written back as those bytes.
func FuzzMessages(f *testing.F) {
	fl := testFleet(f)
	all := codecs()
	for i := range all {
		for _, b := range append(goldenFrames(f), fuzztest.Bombs()...) {
			f.Add(byte(i), byte(0), b)
		}
		for _, b := range fuzztest.Bombs() {
			for fields := byte(3); fields < 24; fields++ {
				f.Add(byte(i), fields, b)
			}
		}
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, which, fields byte, b []byte) {
		c := all[int(which)%len(all)]
		if fields > 0 {
			b = append(headOf(fl, fields), b...)
		}
		var m any
		var err error
		cost.Run(t, b, func() { m, err = c.read(fl, b) })
		if err == nil && !laterFields(b, c.write(fl, m)) && !bytes.Equal(c.write(fl, m), b) {
			t.Fatalf("%s is accepted and not canonical:\n%x\n%x", c.name, b, c.write(fl, m))
		}
	})
}

// laterFields reports whether b holds more fields than this release writes: they
// are skipped, so that b is not what it writes.
func laterFields(b, written []byte) bool {
	return pack.NewReader(b).Array() > pack.NewReader(written).Array()
}

// FuzzDescent takes any bytes for a peer's answer to what a descent asked. There
// is no sketch yet: the trie's nodes are all that a reconciliation believes.
func FuzzDescent(f *testing.F) {
	fl := testFleet(f)
	local, remote := merkle.New(fl.Key, "atlas"), merkle.New(fl.Key, "atlas")
	for i := range 200 {
		id := resource.ID{0: byte(i + 1), 8: byte(i)}
		for _, side := range []*merkle.Trie{local, remote} {
			d := merkle.Digest{0: 1, 1: byte(i)}
			if side == remote && i%3 == 0 {
				d[2] = 9
			}
			if err := side.Replace(merkle.Place(&fl.Key, id), merkle.Digest{}, d); err != nil {
				f.Fatal(err)
			}
		}
	}
	lv, rv := local.View(), remote.View()
	honest := wire.Nodes{Nodes: []merkle.Node{rv.Node(merkle.Prefix{})}}
	for i := range 16 {
		honest.Nodes = append(honest.Nodes, rv.Node(merkle.Prefix{}.Child(i)))
	}
	f.Add(fl.AppendNodes(nil, &honest))
	for _, b := range fuzztest.Bombs() {
		f.Add(append(headOf(fl, 4), b...))
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		cost.Run(t, b, func() {
			m, err := fl.ReadNodes(b)
			if err != nil {
				return
			}
			d := merkle.NewDescent(lv, rv.Root())
			for _, n := range m.Nodes {
				asked := d.Ask(16)
				if len(asked) == 0 {
					return
				}
				for _, p := range asked {
					if err := d.Answer(p, n); err != nil && !errors.Is(err, merkle.ErrMoved) && !errors.Is(err, merkle.ErrForged) {
						t.Fatalf("answer at %v: %v", p, err)
					}
				}
			}
		})
	})
}

// FuzzToken holds that any text has one token, and any token one text.
func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "*", ">", "a.b", "=", "==", "=58", "=5", "\x00", "\xff", "Ä", "atlas", "../", "%2f"} {
		f.Add(s)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, text string) {
		cost.Run(t, []byte(text), func() { _, _ = wire.ParseToken(wire.Token(text)) })
		if back, err := wire.ParseToken(wire.Token(text)); err != nil || back != text || !oneToken.MatchString(wire.Token(text)) {
			t.Fatalf("%q came back as %q, %v", text, back, err)
		}
		if read, err := wire.ParseToken(text); err == nil && wire.Token(read) != text {
			t.Fatalf("%q was read as %q, which is written %q", text, read, wire.Token(read))
		}
	})
}

// FuzzSubjects reads any subject: refused, or written back as it was.
func FuzzSubjects(f *testing.F) {
	s, err := wire.NewSubjects("default")
	if err != nil {
		f.Fatal(err)
	}
	id := resource.ID{0: 1, 15: 9}
	for _, subject := range []string{s.Event("atlas", id), s.Event("*", id), s.Heartbeat(id), s.RPC(id, "hello"), "driftless.default.ev..", ">", "driftless.default.rpc.*.>"} {
		f.Add(subject)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, subject string) {
		cost.Run(t, []byte(subject), func() {
			_, _, _ = s.ParseEvent(subject)
			_, _ = s.ParseHeartbeat(subject)
			_, _, _ = s.ParseRPC(subject)
		})
		if realm, origin, err := s.ParseEvent(subject); err == nil && s.Event(realm, origin) != subject {
			t.Fatalf("event %q is written %q", subject, s.Event(realm, origin))
		}
		if id, err := s.ParseHeartbeat(subject); err == nil && s.Heartbeat(id) != subject {
			t.Fatalf("heartbeat %q is written %q", subject, s.Heartbeat(id))
		}
		if id, verb, err := s.ParseRPC(subject); err == nil && s.RPC(id, verb) != subject {
			t.Fatalf("request %q is written %q", subject, s.RPC(id, verb))
		}
	})
}
