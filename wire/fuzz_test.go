package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"driftless.dev/fuzztest"
	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

// goldenFrames are the messages of testdata, by name.
func goldenFrames(f *testing.F) map[string][]byte {
	f.Helper()
	text, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		f.Fatal(err)
	}
	var golden map[string]string
	if err := json.Unmarshal(text, &golden); err != nil {
		f.Fatal(err)
	}
	out := map[string][]byte{}
	for name, text := range golden {
		if out[name], err = hex.DecodeString(text); err != nil {
			f.Fatal(err)
		}
	}
	return out
}

// fieldEnds are the offsets at which the fields of a message end.
func fieldEnds(b []byte) (ends []int) {
	r := pack.NewReader(b)
	fields, at := r.Array(), 1
	if fields > 15 {
		at = 3
	}
	for range fields {
		at += len(r.Raw())
		ends = append(ends, at)
	}
	return ends
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
	all, golden := codecs(), goldenFrames(f)
	for i, c := range all {
		f.Add(byte(i), byte(0), golden[c.name])
		for _, b := range fuzztest.Bombs() {
			f.Add(byte(i), byte(0), b)
			f.Add(byte(i), byte(pack.NewReader(golden[c.name]).Array()), b)
		}
		for _, bomb := range []string{"\xdd\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xdc\x10\x00", "\x9f"} {
			for _, cut := range fieldEnds(golden[c.name]) {
				hostile := append(bytes.Clone(golden[c.name][:cut]), bomb...)
				f.Add(byte(i), byte(0), append(hostile, make([]byte, 1<<12)...))
			}
		}
	}
	// A leaf without rows takes the fewest bytes for what it is in memory.
	empty := wire.Nodes{Nodes: make([]merkle.Node, wire.MaxPrefixes)}
	for i := range empty.Nodes {
		empty.Nodes[i].Leaf = true
	}
	f.Add(byte(slices.IndexFunc(all, func(c codec) bool { return c.name == "nodes" })), byte(0), fl.AppendNodes(nil, &empty))
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
