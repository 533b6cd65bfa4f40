package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// ErrMoved is returned by Export when what it read, in its short transactions,
// does not hash to one state of the store: try again.
var ErrMoved = errors.New("the store changed on the way")

// Export writes a snapshot file: all records, ledger, quarantine, vector and
// floor. It scans in short transactions from one sequence to a later one, adds
// what was written between, and ends with a manifest only if what it wrote
// hashes to the later one's roots; without that the file is no snapshot.
func (s *Store) Export(ctx context.Context, w io.Writer) (Manifest, error) {
	m, err := s.export(ctx, w)
	if err != nil {
		return Manifest{}, fmt.Errorf("save snapshot: %w", err)
	}
	return m, nil
}

func (s *Store) export(ctx context.Context, w io.Writer) (Manifest, error) {
	out, err := newArchiveWriter(w, s.cfg.SnapshotCodec)
	if err != nil {
		return Manifest{}, err
	}
	x := &exporter{s: s, out: out, leaves: newLeafSet(s.cfg.Secret)}
	x.m = Manifest{Format: archiveVersion, Fleet: s.cfg.Fleet, Identity: s.Identity(), Created: s.clock.Peek()}
	from := s.Head().Seq
	if err := out.chunk(chunkBegin, x.m.appendBegin(nil)); err != nil {
		return Manifest{}, err
	}
	if err := x.records(ctx); err != nil {
		return Manifest{}, err
	}
	if err := x.lists(ctx); err != nil {
		return Manifest{}, err
	}
	st := s.State()
	if err := x.since(ctx, from, st.Head.Seq); err != nil {
		return Manifest{}, err
	}
	return x.finish(st)
}

type exporter struct {
	s      *Store
	out    *archiveWriter
	leaves *leafSet
	m      Manifest
}

// records writes the bulk.
func (x *exporter) records(ctx context.Context) error {
	var from []byte
	for more := true; more; more = from != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		frames, next, err := x.s.scanFramesTo(from, archiveChunk)
		if err != nil {
			return err
		}
		if err := x.frames(chunkRecords, frames, x.leaves.add); err != nil {
			return err
		}
		from = next
	}
	return nil
}

// frames writes frames as chunks and takes their leaves.
func (x *exporter) frames(kind byte, frames [][]byte, take func(*resource.Record) error) error {
	for len(frames) > 0 {
		n, size := 0, 0
		for n < len(frames) && (n == 0 || size+len(frames[n]) <= archiveChunk) {
			size += len(frames[n])
			n++
		}
		b := pack.AppendArray(make([]byte, 0, size+16*n), n)
		for _, f := range frames[:n] {
			rec, err := resource.DecodeRecord(f)
			if err != nil {
				return err
			}
			if err := take(&rec); err != nil {
				return fmt.Errorf("%w: %w", ErrMoved, err)
			}
			b = pack.AppendBin(b, f)
		}
		if err := x.out.chunk(kind, b); err != nil {
			return err
		}
		frames = frames[n:]
	}
	return nil
}

// since writes what the log holds after one sequence, up to another.
func (x *exporter) since(ctx context.Context, from, to uint64) error {
	for from < to {
		var frames [][]byte
		var gone []resource.Record
		size := 0
		last, err := x.s.Entries(from, int(min(chunk, to-from)), func(e Entry) error {
			if size > archiveChunk || len(gone) > 0 && !e.Collected() {
				return errEnough
			}
			if e.Collected() {
				gone = append(gone, e.Record)
				return nil
			}
			f := e.Record.AppendTo(nil)
			size += len(f)
			frames = append(frames, f)
			return ctx.Err()
		})
		switch {
		case errors.Is(err, ErrCompacted):
			return fmt.Errorf("%w: %w", ErrMoved, err)
		case err != nil && !errors.Is(err, errEnough):
			return err
		}
		if err := x.frames(chunkLater, frames, x.leaves.replace); err != nil {
			return err
		}
		if err := x.gone(gone); err != nil {
			return err
		}
		from = last
	}
	return nil
}

// gone writes which records were collected.
func (x *exporter) gone(records []resource.Record) error {
	if len(records) == 0 {
		return nil
	}
	b := pack.AppendArray(nil, 2*len(records))
	for i := range records {
		rec := &records[i]
		if err := x.leaves.remove(rec.ID, rec.Realm()); err != nil {
			return fmt.Errorf("%w: %w", ErrMoved, err)
		}
		b = pack.AppendText(pack.AppendBin(b, rec.ID[:]), rec.Realm())
	}
	return x.out.chunk(chunkGone, b)
}

// errEnough ends a walk that has what it wants.
var errEnough = errors.New("enough")

// lists writes the rows of ledger and quarantine, key by key with payload.
func (x *exporter) lists(ctx context.Context) error {
	for _, l := range [...]struct {
		bucket Bucket
		kind   byte
		count  *uint64
	}{{BucketLedger, chunkLedger, &x.m.Ledger}, {BucketQuarantine, chunkQuarantine, &x.m.Quarantined}} {
		var rows [][]byte
		size := 0
		flush := func() error {
			if len(rows) == 0 {
				return nil
			}
			b := pack.AppendArray(make([]byte, 0, size+16*len(rows)), len(rows))
			for _, r := range rows {
				b = pack.AppendBin(b, r)
			}
			rows, size = nil, 0
			return x.out.chunk(l.kind, b)
		}
		var bad error
		err := x.s.eachRow(ctx, l.bucket, func(key, value []byte) {
			payload, err := unseal(l.bucket, key, value)
			if err != nil || bad != nil {
				return // what is damaged is not forwarded
			}
			rows = append(rows, bytes.Clone(key), bytes.Clone(payload))
			*l.count++
			if size += len(key) + len(payload); size >= archiveChunk {
				bad = flush()
			}
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// finish compares what was written with the state and writes the manifest.
func (x *exporter) finish(st State) (Manifest, error) {
	m := &x.m
	m.Head, m.Vector, m.Floor, m.Super, m.Chunks = st.Head, st.Vector, st.Floor, st.Super, x.out.n
	for _, r := range st.Realms {
		m.Realms = append(m.Realms, ManifestRealm{Realm: r.Realm, Root: r.Root, Records: uint64(r.Records)})
	}
	var got []ManifestRealm
	var super merkle.Root
	if got, super, m.Records = x.leaves.roots(); super != st.Super {
		return Manifest{}, fmt.Errorf("%w: %w", ErrMoved, sameRealms(got, m.Realms))
	}
	copy(m.Sum[:], x.out.sum.Sum(nil))
	if err := x.out.chunk(chunkEnd, m.appendEnd(nil)); err != nil {
		return Manifest{}, err
	}
	return *m, x.out.end()
}

// scanFramesTo copies a part of the projection of about so many bytes and
// returns the key to go on from, nil at the end.
func (s *Store) scanFramesTo(from []byte, bytesWanted int) (frames [][]byte, next []byte, err error) {
	err = s.engine.View(func(tx Tx) (err error) {
		size := 0
		tx.Ascend(BucketRecords, from, func(key, value []byte) bool {
			if len(frames) == chunk || size >= bytesWanted {
				next = bytes.Clone(key)
				return false
			}
			var frame []byte
			if _, frame, err = readStoredHead(key, value); err != nil {
				return false
			}
			size += len(frame)
			frames = append(frames, bytes.Clone(frame))
			return true
		})
		return err
	})
	return frames, next, err
}
