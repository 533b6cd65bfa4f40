package bolt_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/store/enginetest"
	"go.uber.org/goleak"
)

// writerEnv makes a child of the test binary write to the file it names until
// it is killed.
const writerEnv = "BOLT_TEST_WRITE"

func TestMain(m *testing.M) {
	if bolt.RunVerifier() {
		return
	}
	if path, child := os.LookupEnv(writerEnv); child {
		fmt.Fprintln(os.Stderr, writeForever(path, os.Stdout))
		os.Exit(1)
	}
	// A child with the race detector would sleep for a second before it exits.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// small keeps tests from mapping 1 GiB each.
func small() bolt.Options { return bolt.Options{InitialMmapSize: 1 << 20} }

func fast() bolt.Options { return bolt.Options{InitialMmapSize: 64 << 20, NoSync: true} }

func open(t *testing.T, path string, o bolt.Options) *bolt.Engine {
	t.Helper()
	e, err := bolt.OpenEngine(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, e) })
	return e
}

func closed(t *testing.T, e *bolt.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestEngine_Contract(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) (store.Engine, func() store.Engine) {
		path := filepath.Join(t.TempDir(), "store.db")
		reopen := func() store.Engine { return open(t, path, fast()) }
		return reopen(), reopen
	})
}

// writeForever writes a sequence, each key in an update of its own with a value
// in another bucket, and prints a key after its update returned. It goes on
// where the file ends.
func writeForever(path string, acked io.Writer) error {
	e, err := bolt.OpenEngine(path, small())
	if err != nil {
		return err
	}
	var next uint64
	err = e.View(func(tx store.Tx) error {
		if key, _ := tx.Last(store.BucketLog); key != nil {
			next = binary.BigEndian.Uint64(key) + 1
		}
		return nil
	})
	for ; err == nil; next++ {
		if err = e.Update(func(tx store.WriteTx) error { return putSequence(tx, next) }); err == nil {
			_, err = fmt.Fprintln(acked, next)
		}
	}
	return err
}

func putSequence(tx store.WriteTx, n uint64) error {
	key := binary.BigEndian.AppendUint64(nil, n)
	if err := tx.Put(store.BucketLog, key, make([]byte, 100+n%5000)); err != nil {
		return err
	}
	return tx.Put(store.BucketMeta, []byte("head"), key)
}

// startWriter starts writeForever in a child, which the test's end kills.
func startWriter(t *testing.T, path string) (child *exec.Cmd, acked *bufio.Scanner) {
	t.Helper()
	child = exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), writerEnv+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Wait() })
	return child, bufio.NewScanner(out)
}
