package jetstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	js "github.com/nats-io/nats.go/jetstream"

	"driftless.dev/replicate"
)

// check is what a cursor says about the message at its place.
func check(data []byte) [16]byte {
	sum := sha256.Sum256(data)
	return [16]byte(sum[:16])
}

// place decides where to start reading: behind the cursor when the stream is the
// one the cursor belongs to, else at the first message. rolledBack reports that
// the stream has an older end, or other content, than the cursor knew.
//
// The server takes any start, also one past the end, and then delivers nothing
// until the stream has grown to it.
func place(ctx context.Context, stream js.Stream, at replicate.Cursor) (start uint64, rolledBack bool, err error) {
	info := stream.CachedInfo()
	switch {
	case at.Seq == 0 || at.Created != info.Created.UnixNano():
		return 1, false, nil
	case info.State.LastSeq < at.Seq:
		return 1, true, nil
	case info.State.FirstSeq > at.Seq:
		return at.Seq + 1, false, nil // aged out: there is nothing to compare with
	}
	msg, err := stream.GetMsg(ctx, at.Seq)
	switch {
	case errors.Is(err, js.ErrMsgNotFound):
		// Deleted, or lost by a server that crashed. Reading all again is safe.
		return 1, true, nil
	case err != nil:
		return 0, false, fmt.Errorf("read message %d: %w", at.Seq, err)
	case check(msg.Data) != at.Check:
		return 1, true, nil
	}
	return at.Seq + 1, false, nil
}
