package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"driftless.dev/store"
	"driftless.dev/store/bolt"
)

// sample writes a file with branch pages, values beyond a page and free pages,
// and returns its used part.
func sample(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	e := open(t, path, small())
	for round := range 4 {
		if err := e.Update(func(tx store.WriteTx) error {
			var err error
			for i := range 300 {
				err = errors.Join(err, tx.Put(store.BucketRecords, fmt.Appendf(nil, "%04d", i), bytes.Repeat([]byte{byte(round + 1)}, 150)))
			}
			return errors.Join(err, tx.Put(store.BucketLog, []byte{byte(round)}, bytes.Repeat([]byte{7}, 20_000)))
		}); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, e)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Without the hole at the end: no page that was written ends in a zero.
	used := len(bytes.TrimRight(file, "\x00"))
	return file[:(used+os.Getpagesize()-1)/os.Getpagesize()*os.Getpagesize()]
}

func damagedFile(t *testing.T, file []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVerify_Sound(t *testing.T) {
	sound(t, filepath.Join(t.TempDir(), "absent.db"))
	sound(t, damagedFile(t, nil))
	sound(t, damagedFile(t, sample(t)))
}

// D3, D6: damage is a verdict, neither a crash nor a silent yes.
func TestVerify_NamesDamage(t *testing.T) {
	file, page := sample(t), os.Getpagesize()
	zeroed := func(from, to int) []byte {
		return append(append(bytes.Clone(file[:from]), make([]byte, to-from)...), file[to:]...)
	}
	// Which pages are free differs from run to run, and damage there is none: so
	// all of them are meant, or all behind one.
	for name, content := range map[string][]byte{
		"text":               []byte("not a database"),
		"garbage":            bytes.Repeat([]byte{0xa5, 0x5a}, len(file)/2),
		"zeros":              make([]byte, len(file)),
		"one page":           file[:page],
		"two pages":          file[:2*page],
		"half":               file[:len(file)/2/page*page],
		"within a page":      file[:5*page+100],
		"no metas":           zeroed(0, 2*page),
		"pages zeroed":       zeroed(2*page, len(file)-page),
		"a page twice":       append(bytes.Clone(file[:4*page]), file[3*page:len(file)-page]...),
		"metas with garbage": append(bytes.Clone(file[:2*page]), bytes.Repeat([]byte{0xff}, len(file)-2*page)...),
	} {
		t.Run(name, func(t *testing.T) {
			path := damagedFile(t, content)
			err := bolt.Verify(t.Context(), path)
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(fmt.Sprint(err), path) {
				t.Fatalf("error is %v, want ErrDamaged with the file", err)
			}
			if strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("error has many lines: %v", err)
			}
			t.Log(err)
		})
	}
}

// Opening a pipe with nobody at its other end does not return.
func TestVerify_EndsWhatHangs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := bolt.VerifyFor(t.Context(), path, 200*time.Millisecond); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("error is %v, want ErrDamaged", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := bolt.Verify(ctx, path); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrDamaged) {
		t.Errorf("the caller gave up: %v", err)
	}
}

func TestVerify_LargeFileIsNotWalked(t *testing.T) {
	file := sample(t)
	path := damagedFile(t, file)
	if err := bolt.Walk(path, 0); err != nil {
		t.Errorf("sound: %v", err)
	}
	if err := bolt.Walk(damagedFile(t, make([]byte, len(file))), 0); err == nil {
		t.Error("without metas: sound")
	}
}

// D5: a flipped bit is found by Verify, or the engine reads and writes with
// errors that wrap ErrDamaged, or it is in a value or in no page that counts.
func TestEngine_SurvivesFlippedBits(t *testing.T) {
	file := sample(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	found := map[string]int{}
	for i := range 100 {
		at := random.IntN(len(file))
		if i%3 != 0 { // most bytes are values; two of three flips hit what bbolt reads
			at = at/os.Getpagesize()*os.Getpagesize() + random.IntN(80)
		}
		content := bytes.Clone(file)
		content[at] ^= 1 << random.IntN(8)
		found[use(t, damagedFile(t, content))]++
	}
	t.Log(found)
	if found["found by Verify"] == 0 || found["not found"] == 0 {
		t.Errorf("not what flips do: %v", found)
	}
}

// use verifies, opens, reads all and writes, and returns where it ended.
func use(t *testing.T, path string) string {
	t.Helper()
	if err := bolt.VerifyFor(t.Context(), path, 2*time.Second); errors.Is(err, store.ErrDamaged) {
		return "found by Verify"
	} else if err != nil {
		t.Fatal(err)
	}
	e, err := bolt.OpenEngine(path, small())
	if errors.Is(err, store.ErrDamaged) {
		return "found by OpenEngine"
	} else if err != nil {
		t.Fatal(err)
	}
	defer closed(t, e)
	err = errors.Join(readAll(e), e.Update(func(tx store.WriteTx) error {
		return tx.Put(store.BucketRecords, []byte("0100"), make([]byte, 10_000))
	}))
	if errors.Is(err, store.ErrDamaged) {
		return "found in use"
	} else if err != nil {
		t.Fatal(err)
	}
	return "not found"
}

// readAll touches every byte.
func readAll(e *bolt.Engine) error {
	return e.View(func(tx store.Tx) error {
		var sum uint32
		for b := range store.NumBuckets {
			tx.Ascend(b, nil, func(key, value []byte) bool {
				sum = crc32.Update(crc32.Update(sum, crc32.IEEETable, key), crc32.IEEETable, value)
				return true
			})
		}
		return nil
	})
}
