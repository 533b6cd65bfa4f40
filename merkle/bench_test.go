package merkle_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"driftless.dev/merkle"
)

const million = 1_000_000

func benchRows(n int) []merkle.Row {
	rows := make([]merkle.Row, n)
	for i := range rows {
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], uint64(i))
		rows[i] = merkle.Row{Key: merkle.Place(&secret, id), Value: merkle.Digest(id)}
		rows[i].Value[15] = 1
	}
	return rows
}

func build(b failer, rows []merkle.Row) *merkle.Trie {
	trie := merkle.New(secret, realm)
	for _, r := range rows {
		replace(b, trie, r.Key, merkle.Digest{}, r.Value)
	}
	return trie
}

func BenchmarkBuildMillion(b *testing.B) {
	rows := benchRows(million)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		trie := build(b, rows)
		trie.Root()
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-live")
		runtime.KeepAlive(trie)
		b.StartTimer()
	}
}

func BenchmarkReplace(b *testing.B) {
	rows := benchRows(million)
	trie := build(b, rows)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		flip(b, trie, rows, i)
	}
}

func BenchmarkRootAfter(b *testing.B) {
	rows := benchRows(million)
	trie := build(b, rows)
	trie.View()
	for _, changes := range []int{1, 10_000} {
		b.Run(fmt.Sprint(changes), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); {
				b.StopTimer()
				for range changes {
					flip(b, trie, rows, i)
					i++
				}
				b.StartTimer()
				trie.Root()
			}
		})
	}
}

// BenchmarkReplaceView takes a view after each change: every path is copied.
func BenchmarkReplaceView(b *testing.B) {
	rows := benchRows(million)
	trie := build(b, rows)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		flip(b, trie, rows, i)
		trie.View()
	}
}

func BenchmarkDescent(b *testing.B) {
	rows := benchRows(million)
	trie := build(b, rows)
	local := trie.View()
	for i := range 1000 {
		flip(b, trie, rows, i)
	}
	remote := trie.View()
	for b.Loop() {
		if got := descend(b, merkle.NewDescent(local, remote.Root()), remote, 1<<20); len(got) != 1000 {
			b.Fatalf("%d differences", len(got))
		}
	}
}

// flip changes one row, far from the last one.
func flip(b failer, trie *merkle.Trie, rows []merkle.Row, i int) {
	r := &rows[i*7919%len(rows)]
	next := r.Value
	next[14] ^= 0xff
	replace(b, trie, r.Key, r.Value, next)
	r.Value = next
}
