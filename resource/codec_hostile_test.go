package resource_test

import (
	"runtime"
	"strings"
	"testing"

	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

// Decoding costs at most a hundredfold of its input, whatever that declares.
func TestRecord_HostileInputIsCheap(t *testing.T) {
	rec := whole()
	huge := func(head byte) []byte { return []byte{head, 0x00, 0x3f, 0, 0} }
	padding := make([]byte, 4<<20)
	for name, value := range map[string][]byte{
		"labels":     append(append([]byte{0x98, 0xa1, 'v'}, huge(0xdd)...), padding...),
		"owners":     append(append([]byte{0x98, 0xa1, 'v', 0x90, 0x90, 0xc0, 0xa0}, huge(0xdd)...), padding...),
		"extra":      append(huge(0xdd), padding...),
		"apiVersion": append(append([]byte{0x98}, huge(0xdb)...), padding...),
	} {
		frame := resourcetest.Split(rec.AppendTo(nil))
		body := resourcetest.Split(rec.Desired.Body())
		body[3] = value
		frame[resourcetest.DesiredField] = resourcetest.Join([][]byte{pack.AppendBin(nil, resourcetest.Join(body)), {0xc0}})
		b := resourcetest.Join(frame)
		if n := allocated(func() { _, _ = resource.DecodeRecord(b) }); n > 10*uint64(len(b)) {
			t.Errorf("%s: %d bytes made it allocate %d", name, len(b), n)
		}
	}
	// The dearest that is accepted: one-byte entries of many kinds.
	rec.Desired = resource.NewRegister(rec.Desired.Stamp, nil, resource.Desired{
		APIVersion: "v1", OwnerReferences: make([]resource.OwnerReference, 100_000), Labels: manyStrings(100_000),
	})
	b := rec.AppendTo(nil)
	if n := allocated(func() { decodeRecord(t, b) }); n > 100*uint64(len(b)) {
		t.Errorf("%d bytes of small entries made it allocate %d", len(b), n)
	}
}

func manyStrings(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[string(rune(i))+strings.Repeat(" ", i%2)] = ""
	}
	return m
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
