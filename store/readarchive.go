package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Inspect reads a snapshot file to its end and returns what it says of itself.
// Every chunk's checksum and that of the whole must fit; the records are not
// looked into. codec may be nil.
func Inspect(r io.Reader, codec SnapshotCodec) (Manifest, error) {
	m, err := readArchive(r, codec, archiveVisitor{})
	if err != nil {
		return Manifest{}, fmt.Errorf("inspect snapshot: %w", err)
	}
	return m, nil
}

// PeekArchive reads who saved a snapshot file, from its beginning alone: what it
// says is not proved.
func PeekArchive(r io.Reader, codec SnapshotCodec) (m Manifest, err error) {
	a, err := newArchiveReader(r, codec)
	if err != nil {
		return Manifest{}, fmt.Errorf("read snapshot: %w", err)
	}
	kind, payload, err := a.next()
	if err == nil {
		if m, err = readBegin(payload); err != nil || kind != chunkBegin {
			err = fmt.Errorf("%w: chunk 0, at byte %d: it does not begin as one: %w", ErrArchive, len(archiveMark)+4, err)
		}
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read snapshot: %w", err)
	}
	return m, nil
}

// VerifyArchive is Inspect that looks into everything: it decodes every record
// and row, derives the roots again and compares them with the manifest's.
func VerifyArchive(ctx context.Context, r io.Reader, cfg Config) (Manifest, error) {
	leaves := newLeafSet(cfg.Secret)
	m, err := readArchive(r, cfg.SnapshotCodec, archiveVisitor{
		begin: cfg.sameFleet,
		record: func(rec *resource.Record, later bool) error {
			if later {
				return leaves.replace(rec)
			}
			return leaves.add(rec)
		},
		gone: leaves.remove,
		row:  checkListRow,
		done: ctx.Err,
	})
	if err == nil {
		realms, super, records := leaves.roots()
		if bad := sameRealms(realms, m.Realms); bad != nil || super != m.Super || records != m.Records {
			err = fmt.Errorf("%w: what it holds is not what its manifest says: %w", ErrArchive, bad)
		}
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("verify snapshot: %w", err)
	}
	return m, nil
}

// sameFleet refuses a snapshot of another fleet.
func (c *Config) sameFleet(m *Manifest) error {
	if c.Fleet.ID != m.Fleet.ID {
		return fmt.Errorf("%w: the snapshot is of fleet %s, this is fleet %s: check the fleet's name and its secret file", ErrFleet, m.Fleet, c.Fleet)
	}
	return nil
}

func checkListRow(b Bucket, key, payload []byte) (err error) {
	if b == BucketLedger {
		_, err = readLoss(key, seal(b, key, payload))
	} else {
		_, err = readQuarantined(key, seal(b, key, payload))
	}
	return err
}

// archiveVisitor is called for what a file holds, in its order; each may be
// nil, and an error ends the reading.
type archiveVisitor struct {
	begin  func(*Manifest) error
	record func(rec *resource.Record, later bool) error
	gone   func(id resource.ID, realm string) error
	row    func(b Bucket, key, payload []byte) error
	// done is called after each chunk.
	done func() error
}

// readArchive reads a file from end to end. What is wrong with it is named by
// the first chunk that is.
func readArchive(in io.Reader, codec SnapshotCodec, v archiveVisitor) (m Manifest, err error) {
	a, err := newArchiveReader(in, codec)
	if err != nil {
		return Manifest{}, err
	}
	var counted Manifest
	for last := byte(0); last != chunkEnd; {
		at := a.at
		kind, payload, err := a.next()
		if err != nil {
			return Manifest{}, err
		}
		n := a.n - 1
		if kind == chunkBegin != (last == 0) {
			err = fmt.Errorf("type %d is out of place", kind)
		} else if err = readChunk(&m, &counted, kind, payload, &v); errors.Is(err, errVisitor) {
			return Manifest{}, errors.Unwrap(err)
		}
		if kind == chunkEnd && err == nil && (m.Chunks != n || m.Sum != a.before) {
			err = errors.New("the manifest is another file's")
		}
		if err != nil {
			return Manifest{}, fmt.Errorf("%w: chunk %d, at byte %d: %w", ErrArchive, n, at, err)
		}
		if v.done != nil {
			if err := v.done(); err != nil {
				return Manifest{}, err
			}
		}
		last = kind
	}
	if counted.Ledger != m.Ledger || counted.Quarantined != m.Quarantined {
		return Manifest{}, fmt.Errorf("%w: it holds %d rows of the ledger and %d of the quarantine, its manifest says %d and %d",
			ErrArchive, counted.Ledger, counted.Quarantined, m.Ledger, m.Quarantined)
	}
	return m, a.end()
}

// errVisitor marks errors that are not the file's.
var errVisitor = errors.New("not the file's fault")

type visitorError struct{ error }

func (e visitorError) Unwrap() error { return e.error }

func (e visitorError) Is(target error) bool { return target == errVisitor }

func readChunk(m, counted *Manifest, kind byte, payload []byte, v *archiveVisitor) (err error) {
	switch kind {
	case chunkBegin:
		if *m, err = readBegin(payload); err == nil && v.begin != nil {
			if err := v.begin(m); err != nil {
				return visitorError{err}
			}
		}
		return err
	case chunkEnd:
		return m.readEnd(payload)
	case chunkRecords, chunkLater:
		return readRecordsChunk(kind == chunkLater, payload, v)
	case chunkGone:
		return readGoneChunk(payload, v)
	}
	bucket, count := BucketLedger, &counted.Ledger
	if kind == chunkQuarantine {
		bucket, count = BucketQuarantine, &counted.Quarantined
	}
	r := pack.NewReader(payload)
	n := r.Array()
	if n%2 != 0 {
		r.Fail("a key without its row")
	}
	for range n / 2 {
		key, row := r.Bin(), r.Bin()
		if len(key) == 0 || len(key) > maxListKey {
			r.Fail("key of %d bytes", len(key))
		}
		if r.Err() != nil {
			break
		}
		*count++
		if v.row != nil {
			if err := v.row(bucket, key, row); err != nil {
				return err
			}
		}
	}
	return r.Close()
}

// maxListKey bounds a key of ledger and quarantine.
const maxListKey = 1 << 10

func readRecordsChunk(later bool, payload []byte, v *archiveVisitor) error {
	r := pack.NewReader(payload)
	for range r.Array() {
		frame := r.Bin()
		if r.Err() != nil {
			break
		}
		if v.record == nil {
			continue
		}
		rec, err := resource.DecodeRecord(frame)
		if err == nil {
			err = rec.Validate()
		}
		if err == nil {
			err = v.record(&rec, later)
		}
		if err != nil {
			return err
		}
	}
	return r.Close()
}

func readGoneChunk(payload []byte, v *archiveVisitor) error {
	r := pack.NewReader(payload)
	n := r.Array()
	if n%2 != 0 {
		r.Fail("an id without its realm")
	}
	for range n / 2 {
		var id resource.ID
		r.Fixed(id[:])
		realm := r.Text()
		if r.Err() != nil {
			break
		}
		if v.gone != nil {
			if err := v.gone(id, realm); err != nil {
				return err
			}
		}
	}
	return r.Close()
}
