package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"driftless.dev/resource"
)

// A snapshot file is a stream of chunks between a mark and a checksum:
//
//	"DRIFTSNP" version                        8 bytes, 4 bytes big-endian
//	type length crc payload                   1, 4, 4 and length bytes, for each chunk
//	SHA-256                                   of all bytes before it
//
// The CRC-32C is over type, the chunk's number (8 bytes) and payload, so that
// a chunk out of place is a damaged one; a codec seals payloads. The chunks
// are: one that begins the file (who saved it), records in the order of the
// trie's leaves, ledger rows, quarantine rows, the records that were written and
// those that were collected meanwhile, and one that ends it: the manifest, which holds the SHA-256
// of everything before itself, so that a codec's seal covers the whole file.
const (
	archiveMark    = "DRIFTSNP"
	archiveVersion = 1
	chunkHead      = 1 + 4 + 4
	// archiveChunk is about how large a chunk is made; one record may exceed it.
	archiveChunk = 256 << 10
	// maxArchiveChunk bounds a chunk that is read: a record, a little beside it
	// and what a codec adds.
	maxArchiveChunk = resource.MaxFrameSize + 1<<20
)

// Chunk types.
const (
	chunkBegin byte = iota + 1
	chunkRecords
	chunkLater
	chunkGone
	chunkLedger
	chunkQuarantine
	chunkEnd
)

// Sentinels of the moment a snapshot file is read.
var (
	// ErrArchive is returned for a file that is no snapshot, or a damaged one:
	// it is named where it fails, and nothing of it is taken.
	ErrArchive = errors.New("snapshot file is damaged")
	// ErrArchiveVersion is returned for a file of a format that is not known
	// here.
	ErrArchiveVersion = errors.New("snapshot file is of another format")
)

// archiveWriter writes chunks.
type archiveWriter struct {
	out   *bufio.Writer
	sum   hash.Hash
	codec SnapshotCodec
	n     uint64
}

func newArchiveWriter(w io.Writer, codec SnapshotCodec) (*archiveWriter, error) {
	a := &archiveWriter{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New(), codec: codec}
	return a, a.write(binary.BigEndian.AppendUint32([]byte(archiveMark), archiveVersion))
}

func (a *archiveWriter) write(b []byte) error {
	a.sum.Write(b)
	_, err := a.out.Write(b)
	return err
}

func (a *archiveWriter) chunk(kind byte, payload []byte) (err error) {
	if a.codec != nil {
		if payload, err = a.codec.Seal(payload); err != nil {
			return err
		}
	}
	if len(payload) > maxArchiveChunk {
		return fmt.Errorf("%w: a chunk of %d bytes, at most %d", resource.ErrTooLarge, len(payload), maxArchiveChunk)
	}
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	head = binary.BigEndian.AppendUint32(head, chunkSum(kind, a.n, payload))
	a.n++
	if err := a.write(head); err != nil {
		return err
	}
	return a.write(payload)
}

// end writes the checksum and everything that is buffered.
func (a *archiveWriter) end() error {
	if err := a.write(a.sum.Sum(nil)); err != nil {
		return err
	}
	return a.out.Flush()
}

func chunkSum(kind byte, n uint64, payload []byte) uint32 {
	t := castagnoli()
	sum := crc32.Update(0, t, binary.BigEndian.AppendUint64([]byte{kind}, n))
	return crc32.Update(sum, t, payload)
}

// archiveReader reads chunks. It holds one at a time, and allocates for no more
// than what the file turned out to have.
type archiveReader struct {
	in    *bufio.Reader
	sum   hash.Hash
	codec SnapshotCodec
	n     uint64 // of the next chunk
	at    uint64 // where it begins
	// before is the checksum of everything before the last chunk that was read.
	before [sha256.Size]byte
	buf    bytes.Buffer
}

func newArchiveReader(r io.Reader, codec SnapshotCodec) (*archiveReader, error) {
	a := &archiveReader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New(), codec: codec}
	head := make([]byte, len(archiveMark)+4)
	if err := a.read(head); err != nil || string(head[:len(archiveMark)]) != archiveMark {
		if err != nil && !shortRead(err) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: it does not begin as one", ErrArchive)
	}
	if v := binary.BigEndian.Uint32(head[len(archiveMark):]); v != archiveVersion {
		return nil, fmt.Errorf("%w: version %d, known is %d", ErrArchiveVersion, v, archiveVersion)
	}
	return a, nil
}

func shortRead(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// read fills b and counts it in.
func (a *archiveReader) read(b []byte) error {
	_, err := io.ReadFull(a.in, b)
	if err == nil {
		a.sum.Write(b)
		a.at += uint64(len(b))
	}
	return err
}

// next returns the next chunk, opened; the payload is valid until the next
// call. Of a damaged one the error says which it is, and where.
func (a *archiveReader) next() (kind byte, payload []byte, err error) {
	copy(a.before[:], a.sum.Sum(nil))
	at := a.at
	kind, payload, err = a.readChunk()
	switch {
	case err == nil:
		a.n++
		return kind, payload, nil
	case shortRead(err):
		err = errors.New("the file ends here")
	case !errors.Is(err, errChunk):
		return 0, nil, err
	}
	return 0, nil, fmt.Errorf("%w: chunk %d, at byte %d: %w", ErrArchive, a.n, at, err)
}

var errChunk = errors.New("unsound")

func (a *archiveReader) readChunk() (kind byte, payload []byte, err error) {
	var head [chunkHead]byte
	if err := a.read(head[:]); err != nil {
		return 0, nil, err
	}
	kind = head[0]
	size := int64(binary.BigEndian.Uint32(head[1:]))
	if kind < chunkBegin || kind > chunkEnd || size > maxArchiveChunk {
		return 0, nil, fmt.Errorf("%w: type %d, %d bytes", errChunk, kind, size)
	}
	a.buf.Reset()
	// Grows as bytes arrive: a length is believed for no more than is there.
	if n, err := io.CopyN(&a.buf, a.in, size); err != nil {
		a.at += uint64(n)
		return 0, nil, err
	}
	payload = a.buf.Bytes()
	a.sum.Write(payload)
	a.at += uint64(size)
	if binary.BigEndian.Uint32(head[5:]) != chunkSum(kind, a.n, payload) {
		return 0, nil, fmt.Errorf("%w: wrong checksum", errChunk)
	}
	if a.codec != nil {
		if payload, err = a.codec.Open(payload); err != nil {
			return 0, nil, fmt.Errorf("%w: its seal does not open: %w", errChunk, err)
		}
	}
	return kind, payload, nil
}

// end reads the checksum of the whole, after which nothing may follow.
func (a *archiveReader) end() error {
	want := a.sum.Sum(nil)
	var got [sha256.Size]byte
	if _, err := io.ReadFull(a.in, got[:]); err != nil && !shortRead(err) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: the checksum at its end is missing", ErrArchive)
	}
	if !bytes.Equal(want, got[:]) {
		return fmt.Errorf("%w: the checksum at its end is another file's", ErrArchive)
	}
	if _, err := a.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows its end", ErrArchive)
	}
	return nil
}
