package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func testFleet(t rapid.TB) *wire.Fleet {
	f, err := wire.NewFleet("golden", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

// codec is one kind of message: how to draw one, write it and read it.
type codec struct {
	name  string
	draw  func(*rapid.T) any
	write func(*wire.Fleet, any) []byte
	read  func(*wire.Fleet, []byte) (any, error)
}

// codecOf makes a codec of a message's two functions.
func codecOf[M any](name string, draw func(*rapid.T) M, write func(*wire.Fleet, []byte, *M) []byte, read func(*wire.Fleet, []byte) (M, error)) codec {
	return codec{
		name: name,
		draw: func(t *rapid.T) any { return draw(t) },
		write: func(f *wire.Fleet, m any) []byte {
			v := m.(M)
			return write(f, nil, &v)
		},
		read: func(f *wire.Fleet, b []byte) (any, error) { return read(f, b) },
	}
}

func codecs() []codec {
	return []codec{
		codecOf("batch", drawBatch, (*wire.Fleet).AppendBatch, (*wire.Fleet).ReadBatch),
		codecOf("heartbeat", drawHeartbeat, (*wire.Fleet).AppendHeartbeat, (*wire.Fleet).ReadHeartbeat),
		codecOf("hello", func(t *rapid.T) wire.Hello {
			return wire.Hello{From: drawID(t), Name: drawText(t), Held: drawPosition(t)}
		}, (*wire.Fleet).AppendHello, (*wire.Fleet).ReadHello),
		codecOf("standing", drawStanding, (*wire.Fleet).AppendStanding, (*wire.Fleet).ReadStanding),
		codecOf("nodes-request", drawNodesRequest, (*wire.Fleet).AppendNodesRequest, (*wire.Fleet).ReadNodesRequest),
		codecOf("nodes", drawNodes, (*wire.Fleet).AppendNodes, (*wire.Fleet).ReadNodes),
		codecOf("records-request", func(t *rapid.T) wire.RecordsRequest {
			keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) merkle.Key { return merkle.Key(rapid.Uint64().Draw(t, "key")) }), 0, 20).Draw(t, "places")
			return wire.RecordsRequest{Realm: drawText(t), Places: keys, Offset: rapid.Uint64().Draw(t, "offset")}
		}, (*wire.Fleet).AppendRecordsRequest, (*wire.Fleet).ReadRecordsRequest),
		codecOf("records", func(t *rapid.T) wire.Records {
			return wire.Records{Done: rapid.Uint64().Draw(t, "done"), Size: rapid.Uint64Range(0, resource.MaxRecordSize).Draw(t, "size"), Frames: drawFrames(t)}
		}, (*wire.Fleet).AppendRecords, (*wire.Fleet).ReadRecords),
		codecOf("push", func(t *rapid.T) wire.Push {
			return wire.Push{From: drawID(t), Frames: drawFrames(t), Adopt: drawPositions(t, 10), FloorDigest: drawHash(t), Floor: drawFloor(t)}
		}, (*wire.Fleet).AppendPush, (*wire.Fleet).ReadPush),
		codecOf("pushed", func(t *rapid.T) wire.Pushed {
			return wire.Pushed{Taken: rapid.Uint64().Draw(t, "taken"), Refused: rapid.Uint64().Draw(t, "refused")}
		}, (*wire.Fleet).AppendPushed, (*wire.Fleet).ReadPushed),
		codecOf("ack", func(t *rapid.T) wire.Ack { return wire.Ack{From: drawID(t), Position: drawPosition(t)} }, (*wire.Fleet).AppendAck, (*wire.Fleet).ReadAck),
	}
}

func drawID(t *rapid.T) (id resource.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	id[0] |= 1
	return id
}

func drawText(t *rapid.T) string { return rapid.StringN(0, 40, 120).Draw(t, "text") }

func drawHash(t *rapid.T) (h [32]byte) {
	copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
	return h
}

func drawPosition(t *rapid.T) wire.Position {
	return wire.Position{Incarnation: drawID(t), Seq: rapid.Uint64().Draw(t, "seq"), HLC: hlc.Timestamp(rapid.Uint64().Draw(t, "hlc")), Hash: drawHash(t)}
}

func drawPositions(t *rapid.T, most int) (ps []wire.Position) {
	for range rapid.IntRange(0, most).Draw(t, "positions") {
		ps = append(ps, drawPosition(t))
	}
	return ps
}

func drawFrames(t *rapid.T) [][]byte {
	var frames [][]byte
	for range rapid.IntRange(0, 5).Draw(t, "frames") {
		frames = append(frames, rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "frame"))
	}
	return frames
}

func drawHeartbeat(t *rapid.T) wire.Heartbeat {
	return wire.Heartbeat{
		Instance: drawID(t), Incarnation: drawID(t), Name: drawText(t), Software: drawText(t), Boot: rapid.Uint64().Draw(t, "boot"),
		WallMillis: rapid.Uint64().Draw(t, "wall"), HLC: hlc.Timestamp(rapid.Uint64().Draw(t, "hlc")), Ready: rapid.Bool().Draw(t, "ready"),
		Own: drawPosition(t), Super: drawHash(t), VectorDigest: drawHash(t), Changed: drawPositions(t, wire.MaxChanged),
		Started: hlc.Timestamp(rapid.Uint64().Draw(t, "started")), FloorDigest: drawHash(t),
	}
}

func drawFloor(t *rapid.T) (marks []wire.Mark) {
	for range rapid.IntRange(0, 5).Draw(t, "marks") {
		marks = append(marks, wire.Mark{Incarnation: drawID(t), HLC: hlc.Timestamp(rapid.Uint64().Draw(t, "mark"))})
	}
	return marks
}

func drawStanding(t *rapid.T) wire.Standing {
	m := wire.Standing{Heartbeat: drawHeartbeat(t), Seq: rapid.Uint64().Draw(t, "seq"), Vector: drawPositions(t, 10), Floor: drawFloor(t)}
	for range rapid.IntRange(0, 5).Draw(t, "realms") {
		m.Realms = append(m.Realms, wire.Realm{Name: drawText(t), Root: merkle.Root(drawHash(t)), Records: rapid.Uint64().Draw(t, "records")})
	}
	return m
}

func drawNodesRequest(t *rapid.T) wire.NodesRequest {
	m := wire.NodesRequest{Realm: drawText(t), Root: merkle.Root(drawHash(t))}
	for range rapid.IntRange(0, wire.MaxPrefixes).Draw(t, "prefixes") {
		p := merkle.Prefix{}
		for range rapid.IntRange(0, 16).Draw(t, "depth") {
			p = p.Child(rapid.IntRange(0, 15).Draw(t, "nibble"))
		}
		m.Prefixes = append(m.Prefixes, p)
	}
	return m
}

func drawNodes(t *rapid.T) wire.Nodes {
	m := wire.Nodes{Moved: rapid.Bool().Draw(t, "moved")}
	for range rapid.IntRange(0, 5).Draw(t, "nodes") {
		n := merkle.Node{Leaf: rapid.Bool().Draw(t, "leaf"), Count: rapid.IntRange(0, 1<<30).Draw(t, "count")}
		if n.Leaf {
			n.Rows = []merkle.Row{}
			for range rapid.IntRange(0, 5).Draw(t, "rows") {
				h := drawHash(t)
				n.Rows = append(n.Rows, merkle.Row{Key: merkle.Key(rapid.Uint64().Draw(t, "key")), Value: merkle.Digest(h[:16])})
			}
		} else {
			for i := range n.Children {
				h := drawHash(t)
				n.Children[i] = merkle.Digest(h[:16])
			}
		}
		m.Nodes = append(m.Nodes, n)
	}
	return m
}

// drawBatch makes a chain of events of one small record.
func drawBatch(t *rapid.T) wire.Batch {
	m := wire.Batch{Instance: drawID(t), Incarnation: drawID(t), Realm: "atlas", Missing: rapid.Bool().Draw(t, "missing")}
	var prev [32]byte
	for i := range rapid.IntRange(0, 5).Draw(t, "events") {
		ev := event(m.Incarnation, uint64(i+1), prev, rapid.IntRange(0, 1000).Draw(t, "n"))
		prev = ev.Hash()
		m.Events = append(m.Events, ev)
	}
	return m
}

func event(inc resource.ID, seq uint64, prev [32]byte, n int) resource.Event {
	at := hlc.At(int64(1_800_000_000_000)+int64(seq), 0)
	stamp := resource.Stamp{HLC: at, Writer: inc}
	rec := resource.Record{
		ID: resource.ID{9: 1}, Kind: resource.GroupKind{Group: "g.example.dev", Kind: "Note"}, Scope: resource.Scope{Project: "atlas"}, Name: "n",
		Creation:    resource.Creation{HLC: hlc.At(1_800_000_000_000, 0), Writer: inc, Origin: resource.ID{3: 7}},
		Desired:     resource.NewRegister(stamp, nil, resource.Desired{APIVersion: "g.example.dev/v1", Spec: []byte(`{"n":` + string(rune('0'+n%10)) + `}`)}),
		SyncVersion: seq, Version: seq,
	}
	return resource.Event{Incarnation: inc, Seq: seq, HLC: at, RealmPrev: seq - 1, PrevHash: prev, Record: rec}
}

// Every message reads back as it was written, byte for byte, and any
// MessagePack library reads it too.
func TestMessages_RoundTrip(t *testing.T) {
	f := testFleet(t)
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := c.draw(t)
				b := c.write(f, m)
				back, err := c.read(f, b)
				if err != nil {
					t.Fatalf("read: %v", err)
				}
				if again := c.write(f, back); !bytes.Equal(again, b) {
					t.Fatalf("written again:\n%x\n%x", again, b)
				}
				if c.name != "batch" && !cmp.Equal(m, back, cmpopts.EquateEmpty()) {
					t.Fatalf("differs: %s", cmp.Diff(m, back, cmpopts.EquateEmpty()))
				}
				var any []msgpack.RawMessage
				if err := msgpack.Unmarshal(b, &any); err != nil {
					t.Fatalf("another library: %v", err)
				}
			})
		})
	}
}

// Whatever is cut off, added or changed, a reader gives an error or a message
// that is written back as those bytes; it never panics.
func TestMessages_HostileBytes(t *testing.T) {
	f := testFleet(t)
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				b := c.write(f, c.draw(t))
				switch rapid.IntRange(0, 2).Draw(t, "how") {
				case 0:
					b = b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]
				case 1:
					b = append(b, rapid.Byte().Draw(t, "more"))
				default:
					b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
				}
				m, err := c.read(f, b)
				if err == nil && !bytes.Equal(c.write(f, m), b) {
					t.Fatalf("accepted and not canonical: %x", b)
				}
			})
		})
	}
}

func TestMessages_AnotherFleetOrVersion(t *testing.T) {
	f := testFleet(t)
	other, err := wire.NewFleet("golden", []byte("another secret"))
	if err != nil {
		t.Fatal(err)
	}
	b := f.AppendHello(nil, &wire.Hello{From: resource.ID{1: 1}, Name: "a"})
	if _, err := other.ReadHello(b); !errors.Is(err, wire.ErrFleet) {
		t.Errorf("another fleet: %v", err)
	}
	b[1]++
	if _, err := f.ReadHello(b); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

// Within a version, fields that a later release appends are skipped; a message
// that promises more than it holds, or far more than anyone would append, is
// refused.
func TestMessages_LaterFieldsAreSkipped(t *testing.T) {
	f := testFleet(t)
	for _, c := range codecs() {
		b := c.write(f, rapid.Custom(c.draw).Example(3))
		r := pack.NewReader(b)
		fields := r.Array()
		head := len(pack.AppendArray(nil, fields))
		for later, want := range map[int]bool{1: true, 3: true, 17: false} {
			m := append(pack.AppendArray(nil, fields+later), b[head:]...)
			if _, err := c.read(f, m); err == nil {
				t.Errorf("%s: %d fields are missing and it was read", c.name, later)
			}
			for range later {
				m = pack.AppendArray(m, 1)
				m = pack.AppendText(m, "later")
			}
			if _, err := c.read(f, m); (err == nil) != want {
				t.Errorf("%s with %d later fields: %v", c.name, later, err)
			}
		}
	}
}

// A batch holds events of its own incarnation and realm alone, in order.
func TestBatch_RefusesStrangers(t *testing.T) {
	f := testFleet(t)
	inc, other := resource.ID{1: 1}, resource.ID{1: 2}
	first := event(inc, 1, [32]byte{}, 1)
	for name, m := range map[string]wire.Batch{
		"incarnation": {Instance: inc, Incarnation: other, Realm: "atlas", Events: []resource.Event{first}},
		"realm":       {Instance: inc, Incarnation: inc, Realm: "borealis", Events: []resource.Event{first}},
		"order":       {Instance: inc, Incarnation: inc, Realm: "atlas", Events: []resource.Event{first, first}},
	} {
		if _, err := f.ReadBatch(f.AppendBatch(nil, &m)); !errors.Is(err, resource.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The golden file holds one message of each kind, in hex, for other
// implementations.
func TestMessages_Golden(t *testing.T) {
	f := testFleet(t)
	got := map[string]string{"fleetId": hex.EncodeToString(f.ID[:]), "fleetKey": hex.EncodeToString(f.Key[:])}
	for _, c := range codecs() {
		got[c.name] = hex.EncodeToString(c.write(f, rapid.Custom(c.draw).Example(7)))
	}
	path := filepath.Join("testdata", "messages.json")
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want map[string]string
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for name, golden := range want {
		b, err := hex.DecodeString(golden)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range codecs() {
			if c.name != name {
				continue
			}
			m, err := c.read(f, b)
			if err != nil || !bytes.Equal(c.write(f, m), b) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if want["fleetId"] != got["fleetId"] || want["fleetKey"] != got["fleetKey"] {
		t.Errorf("fleet derives as %s %s", got["fleetId"], got["fleetKey"])
	}
}
