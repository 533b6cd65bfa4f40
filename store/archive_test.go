package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

var here = store.Fleet{ID: [16]byte{7}, Name: "test"}

// settings opens stores of the fleet here.
func settings() store.Config {
	return store.Config{Wall: time.Now, Secret: [32]byte{3}, Fleet: here}
}

func openWith(t *testing.T, e store.Engine, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// saved is a store with something everywhere, and its snapshot file.
func saved(t *testing.T, cfg store.Config) (*store.Store, []byte) {
	t.Helper()
	same := func(c *store.Config) { *c = cfg }
	s, peer := notes(t, memory.NewEngine(), same), open(t, memory.NewEngine(), same)
	for i := range 700 { // several reads and several chunks
		if _, err := s.Put(t.Context(), noteOf(i, strings.Repeat("x", 600))); err != nil {
			t.Fatal(err)
		}
	}
	take := func(to, from *store.Store) {
		t.Helper()
		if _, err := to.Apply(t.Context(), store.Batch{Records: outbox(t, from)}); err != nil {
			t.Fatal(err)
		}
	}
	take(peer, s)
	for n, owner := range map[*store.Store]string{s: "s", peer: "p"} {
		if _, err := n.Put(t.Context(), noteOf(1, owner)); err != nil {
			t.Fatal(err)
		}
	}
	take(s, peer)
	if err := s.Delete(t.Context(), "Note", resource.Scope{}, "n3"); err != nil {
		t.Fatal(err)
	}
	stranger := store.Incoming{From: id(9)}
	if _, err := s.Entries(s.Head().Seq-1, 1, func(en store.Entry) error { stranger.Record = en.Record; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Quarantine([]store.Incoming{stranger}, "no"); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	m, err := s.Export(t.Context(), &file)
	if err != nil {
		t.Fatal(err)
	}
	if m.Records != 701 || m.Ledger == 0 || m.Quarantined != 1 || m.Chunks < 4 {
		t.Fatalf("the case did not arise: %+v", m)
	}
	return s, file.Bytes()
}

func noteOf(i int, text string) resource.Resource {
	return with(named(fmt.Sprint("n", i)), func(r *resource.Resource) { r.Annotations = map[string]string{"text": text} })
}

// A backup restored is the same records under a new incarnation and a new log:
// P9 holds of it, and the old own position is covered like a stranger's.
func TestArchive_RoundTrip(t *testing.T) {
	for name, fresh := range map[string]bool{"the same instance": false, "a new instance": true} {
		t.Run(name, func(t *testing.T) {
			s, file := saved(t, settings())
			e := memory.NewEngine()
			r, m, err := store.Import(t.Context(), bytes.NewReader(file), e, settings(), fresh)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			was, is := s.State(), r.State()
			if was.Super != is.Super || is.Super != m.Super {
				t.Errorf("roots %s, %s, %s", was.Super, is.Super, m.Super)
			}
			old, now := s.Identity(), r.Identity()
			if (old.Instance == now.Instance) == fresh || old.Incarnation == now.Incarnation || old.LogID == now.LogID {
				t.Errorf("identities %+v, %+v", old, now)
			}
			if !maps.Equal(was.Vector, is.Vector) || is.Vector[old.Incarnation] != s.Head().Own {
				t.Errorf("vectors %v, %v", was.Vector, is.Vector)
			}
			if !r.RejoinAllowed() {
				t.Error("it may not rejoin its fleet by itself")
			}
			if r.Head().HLC < s.Head().HLC {
				t.Errorf("the clock stands at %s, was at %s", r.Head().HLC, s.Head().HLC)
			}
			same(t, s, r)
			sound(t, r)
			again := openWith(t, e.Reopen(), settings())
			sound(t, again)
			if _, err := again.Put(t.Context(), noteOf(1000, "")); err != nil {
				t.Error(err)
			}
			sound(t, again)
		})
	}
}

// same compares ledger and quarantine.
func same(t *testing.T, a, b *store.Store) {
	t.Helper()
	la, _ := a.Ledger(100)
	lb, err := b.Ledger(100)
	if err != nil || len(la) == 0 || fmt.Sprint(la) != fmt.Sprint(lb) {
		t.Errorf("ledgers of %d and %d, %v", len(la), len(lb), err)
	}
	qa, _ := a.QuarantineList(100)
	qb, err := b.QuarantineList(100)
	if err != nil || len(qa) == 0 || fmt.Sprint(qa) != fmt.Sprint(qb) {
		t.Errorf("quarantines of %d and %d, %v", len(qa), len(qb), err)
	}
}

// A save beside writers is of one state, and Import finds it so.
func TestArchive_BesideWriters(t *testing.T) {
	s, _ := saved(t, settings())
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	for w := range 3 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if _, err := s.Put(t.Context(), noteOf((i*7+w)%900, fmt.Sprint(w, i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		before := s.Head().Seq
		file := pausing{wait: func() { awaitWrites(s, 5) }}
		m, err := s.Export(t.Context(), &file)
		if err != nil {
			t.Fatal(err)
		}
		if m.Head.Seq <= before {
			t.Fatalf("nothing was written meanwhile: %d, %d", before, m.Head.Seq)
		}
		if got, err := store.VerifyArchive(t.Context(), bytes.NewReader(file.Bytes()), settings()); err != nil || got.Super != m.Super {
			t.Fatalf("verify: %v", err)
		}
		r, _, err := store.Import(t.Context(), bytes.NewReader(file.Bytes()), memory.NewEngine(), settings(), false)
		if err != nil {
			t.Fatal(err)
		}
		sound(t, r)
		_ = r.Close()
	}
}

// pausing waits before it takes anything.
type pausing struct {
	bytes.Buffer
	wait func()
}

func (p *pausing) Write(b []byte) (int, error) {
	p.wait()
	return p.Buffer.Write(b)
}

func awaitWrites(s *store.Store, n uint64) {
	for until := s.Head().Seq + n; ; {
		changed, head := s.Changed()
		if head.Seq >= until {
			return
		}
		<-changed
	}
}

// D5, H5: whatever bit is flipped and wherever the file ends, it is refused
// with the place named, and nothing is half restored.
func TestArchive_DamageIsRefused(t *testing.T) {
	_, file := saved(t, settings())
	rapid.Check(t, func(t *rapid.T) {
		bad := bytes.Clone(file)
		if rapid.Bool().Draw(t, "cut") {
			bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "at")]
		} else {
			at := rapid.IntRange(0, len(bad)-1).Draw(t, "at")
			bad[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		_, err := store.VerifyArchive(context.Background(), bytes.NewReader(bad), settings())
		if !errors.Is(err, store.ErrArchive) && !errors.Is(err, store.ErrArchiveVersion) {
			t.Fatalf("verify: %v", err)
		}
		if _, err := store.Inspect(bytes.NewReader(bad), nil); err == nil {
			t.Fatal("inspect found nothing")
		}
		if s, _, err := store.Import(context.Background(), bytes.NewReader(bad), memory.NewEngine(), settings(), false); err == nil || s != nil {
			t.Fatal("import took it")
		}
	})
	_, err := store.VerifyArchive(t.Context(), bytes.NewReader(append(bytes.Clone(file), 0)), settings())
	if !errors.Is(err, store.ErrArchive) {
		t.Errorf("something behind its end: %v", err)
	}
	bad := bytes.Clone(file)
	bad[len(bad)/2] ^= 1
	if _, err := store.Inspect(bytes.NewReader(bad), nil); err == nil || !strings.Contains(err.Error(), "chunk ") || !strings.Contains(err.Error(), "at byte ") {
		t.Errorf("the chunk is not named: %v", err)
	}
}

// A length is believed for no more than what is there (H5).
func TestArchive_LengthsCostNothing(t *testing.T) {
	head := []byte("DRIFTSNP\x00\x00\x00\x01\x01\x01\x0f\xff\xff\x00\x00\x00\x00some bytes")
	per := testing.AllocsPerRun(10, func() { _, _ = store.Inspect(bytes.NewReader(head), nil) })
	res := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = store.Inspect(bytes.NewReader(head), nil)
		}
	})
	if got := res.AllocedBytesPerOp(); got > 1<<20 || per > 200 {
		t.Errorf("%d bytes in %.0f allocations for %d bytes of input", got, per, len(head))
	}
}

// sealing is a codec that signs by a sum nobody else makes.
type sealing struct{ key byte }

func (c sealing) Seal(b []byte) ([]byte, error) {
	sum := c.key
	for _, x := range b {
		sum = sum*31 + x
	}
	return append(bytes.Clone(b), sum), nil
}

func (c sealing) Open(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errors.New("empty")
	}
	if s, _ := c.Seal(b[:len(b)-1]); s[len(b)-1] != b[len(b)-1] {
		return nil, errors.New("signature differs")
	}
	return b[:len(b)-1], nil
}

// A file that another key sealed is refused by its chunk.
func TestArchive_SealedByCodec(t *testing.T) {
	cfg := settings()
	cfg.SnapshotCodec = sealing{key: 1}
	_, file := saved(t, cfg)
	if _, err := store.VerifyArchive(t.Context(), bytes.NewReader(file), cfg); err != nil {
		t.Fatal(err)
	}
	cfg.SnapshotCodec = sealing{key: 2}
	_, err := store.VerifyArchive(t.Context(), bytes.NewReader(file), cfg)
	if !errors.Is(err, store.ErrArchive) || !strings.Contains(err.Error(), "chunk 0") || !strings.Contains(err.Error(), "seal") {
		t.Errorf("verify with another key: %v", err)
	}
}

// A chunk that the same key sealed in another file does not fit into this one.
func TestArchive_SealCoversTheWhole(t *testing.T) {
	cfg := settings()
	cfg.SnapshotCodec = sealing{key: 1}
	_, file := saved(t, cfg)
	_, other := saved(t, cfg)
	begin := func(f []byte) int { return 12 + 9 + int(binary.BigEndian.Uint32(f[13:])) }
	if begin(file) != begin(other) {
		t.Fatal("the case did not arise")
	}
	mixed := append(bytes.Clone(other[:begin(other)]), file[begin(file):len(file)-32]...)
	sum := sha256.Sum256(mixed)
	_, err := store.Inspect(bytes.NewReader(append(mixed, sum[:]...)), cfg.SnapshotCodec)
	if !errors.Is(err, store.ErrArchive) || !strings.Contains(err.Error(), "manifest is another file's") {
		t.Errorf("inspect: %v", err)
	}
}

// S11: a backup of another fleet is refused, naming both; so is a store that
// holds something.
func TestArchive_OfAnotherFleet(t *testing.T) {
	_, file := saved(t, settings())
	cfg := settings()
	cfg.Fleet = store.Fleet{ID: [16]byte{8}, Name: "other"}
	_, _, err := store.Import(t.Context(), bytes.NewReader(file), memory.NewEngine(), cfg, false)
	if !errors.Is(err, store.ErrFleet) || !strings.Contains(err.Error(), `"test"`) || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("import: %v", err)
	}
	e := memory.NewEngine()
	openWith(t, e, settings())
	if _, _, err := store.Import(t.Context(), bytes.NewReader(file), e, settings(), false); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("import over something: %v", err)
	}
	if _, err := store.Open(e.Reopen(), cfg); !errors.Is(err, store.ErrFleet) {
		t.Errorf("open for another fleet: %v", err)
	}
}

// What does not write ends the save.
func TestArchive_WriterFails(t *testing.T) {
	s, _ := saved(t, settings())
	r, w := io.Pipe()
	_ = r.CloseWithError(io.ErrClosedPipe)
	if _, err := s.Export(t.Context(), w); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("save: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Export(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("save: %v", err)
	}
}
