package replicate

import (
	"bytes"
	"testing"

	"driftless.dev/fuzztest"
)

// FuzzCursor reads a stored cursor from any bytes: an error, or one that is
// written back as those bytes.
func FuzzCursor(f *testing.F) {
	f.Add(Cursor{Created: -7, Seq: 1 << 40, Check: [16]byte{1}}.encode())
	for _, b := range fuzztest.Bombs() {
		f.Add(b)
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		cost.Run(t, b, func() {
			_, _ = decodeCursor(b)
			_, _ = decodeSeq(b)
		})
		if c, err := decodeCursor(b); err == nil && len(b) > 0 && !bytes.Equal(c.encode(), b) {
			t.Fatalf("%x is read as %+v, which is %x", b, c, c.encode())
		}
		if n, err := decodeSeq(b); err == nil && len(b) > 0 && !bytes.Equal(encodeSeq(n), b) {
			t.Fatalf("%x is read as %d", b, n)
		}
	})
}
