package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"driftless.dev/fuzztest"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// FuzzArchive feeds files, and chunks with checksums that fit, to everything
// that reads them: no panic, and what is imported is sound.
func FuzzArchive(f *testing.F) {
	cfg := settings()
	s, err := store.Open(memory.NewEngine(), cfg)
	if err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := s.Export(f.Context(), &file); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes(), byte(0), []byte(nil))
	f.Add(file.Bytes()[:40], byte(2), []byte{0x91, 0xc4, 0x00})
	f.Add([]byte("DRIFTSNP"), byte(7), []byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, file []byte, kind byte, payload []byte) {
		if kind > 0 {
			file = withChunk(kind, payload)
		}
		cost.Run(t, file, func() {
			_, _ = store.Inspect(bytes.NewReader(file), nil)
			_, _ = store.VerifyArchive(t.Context(), bytes.NewReader(file), cfg)
		})
		_, _ = store.Inspect(bytes.NewReader(file), nil)
		_, bad := store.VerifyArchive(t.Context(), bytes.NewReader(file), cfg)
		r, _, err := store.Import(t.Context(), bytes.NewReader(file), memory.NewEngine(), cfg, false)
		if (err == nil) != (bad == nil) {
			t.Fatalf("verify says %v, import %v", bad, err)
		}
		if err == nil {
			sound(t, r)
			_ = r.Close()
		}
	})
}

// withChunk is a file whose second chunk is the input's.
func withChunk(kind byte, payload []byte) []byte {
	s, err := store.Open(memory.NewEngine(), store.Config{Wall: time.Now, Secret: [32]byte{3}, Fleet: here})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	var whole bytes.Buffer
	if _, err := s.Export(context.Background(), &whole); err != nil {
		panic(err)
	}
	size := binary.BigEndian.Uint32(whole.Bytes()[13:])
	file := bytes.Clone(whole.Bytes()[:12+9+size])
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, table, binary.BigEndian.AppendUint64([]byte{kind}, 1))
	sum = crc32.Update(sum, table, payload)
	file = binary.BigEndian.AppendUint32(append(file, kind), uint32(len(payload)))
	return append(binary.BigEndian.AppendUint32(file, sum), payload...)
}
