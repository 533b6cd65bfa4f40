package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"driftless.dev/resource"
)

// ErrNotEmpty is returned by Import for an engine that holds something.
var ErrNotEmpty = errors.New("store is not empty")

// Import makes a store over an empty engine out of a snapshot file: the same
// records, ledger, quarantine and floor, and the vector with the saver's own
// position in it. It may rejoin its fleet by itself (RejoinAllowed). The instance is the saver's unless cfg names one or fresh
// asks for a new one; incarnation and log id are new, since what the saver
// wrote after the snapshot bears its own. The engine must be thrown away when
// an error is returned.
func Import(ctx context.Context, r io.Reader, engine Engine, cfg Config, fresh bool) (*Store, Manifest, error) {
	im := &importer{engine: engine, cfg: cfg, fresh: fresh}
	m, err := readArchive(r, cfg.SnapshotCodec, archiveVisitor{
		begin: im.begin, record: im.record, gone: im.gone, row: im.row,
		done: func() error { return errors.Join(ctx.Err(), im.flush()) },
	})
	if err == nil {
		err = im.finish(&m)
	}
	if err != nil {
		if im.s != nil {
			err = errors.Join(err, im.s.Close())
		}
		return nil, Manifest{}, fmt.Errorf("restore snapshot: %w", err)
	}
	return im.s, m, nil
}

type importer struct {
	engine Engine
	cfg    Config
	fresh  bool
	s      *Store
	// leaves judges the order of what comes, and pending is the chunk's, to be
	// written in one transaction.
	leaves  *leafSet
	pending []func(*txn) error
}

func (im *importer) begin(m *Manifest) error {
	if err := im.cfg.sameFleet(m); err != nil {
		return err
	}
	empty := true
	err := im.engine.View(func(tx Tx) error {
		for b := range NumBuckets {
			tx.Ascend(b, nil, func(_, _ []byte) bool { empty = false; return false })
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !empty {
		return ErrNotEmpty
	}
	if im.cfg.Instance.IsZero() && !im.fresh {
		im.cfg.Instance = m.Identity.Instance
	}
	im.leaves = newLeafSet(im.cfg.Secret)
	im.s, err = Open(im.engine, im.cfg)
	return err
}

// record takes a record, whose bytes end with the chunk: it is written by then.
func (im *importer) record(rec *resource.Record, later bool) error {
	take := im.leaves.add
	if later {
		take = im.leaves.replace
	}
	if err := take(rec); err != nil {
		return err
	}
	im.pending = append(im.pending, func(t *txn) error {
		prev, err := lookup(t.s, t.tx, rec.ID)
		if err != nil {
			return err
		}
		for p := range rec.Points() {
			t.s.clock.Observe(p.HLC)
		}
		t.project(prev, imageOf(rec), merged, nil, dot{})
		return t.broken
	})
	return nil
}

func (im *importer) gone(id resource.ID, realm string) error {
	if err := im.leaves.remove(id, realm); err != nil {
		return err
	}
	im.pending = append(im.pending, func(t *txn) error {
		if st, err := lookup(t.s, t.tx, id); err != nil || st == nil {
			return err
		} else {
			t.collect(st)
		}
		return t.broken
	})
	return nil
}

func (im *importer) row(b Bucket, key, payload []byte) error {
	if err := checkListRow(b, key, payload); err != nil {
		return err
	}
	im.pending = append(im.pending, func(t *txn) error {
		t.put(b, key, payload)
		return t.broken
	})
	return nil
}

// flush writes what is pending in one transaction.
func (im *importer) flush() error {
	if len(im.pending) == 0 {
		return nil
	}
	pending := im.pending
	im.pending = nil
	return im.s.commits.do(func(t *txn) error {
		for _, write := range pending {
			if err := write(t); err != nil {
				t.broken = err // the engine is thrown away
				return err
			}
		}
		return nil
	})
}

// finish compares what came of it with the manifest and writes what covers it.
func (im *importer) finish(m *Manifest) error {
	st := im.s.State()
	var got []ManifestRealm
	for _, r := range st.Realms {
		got = append(got, ManifestRealm{Realm: r.Realm, Root: r.Root, Records: uint64(r.Records)})
	}
	if err := sameRealms(got, m.Realms); err != nil || st.Super != m.Super {
		return fmt.Errorf("%w: what it holds is not what its manifest says: %w", ErrArchive, err)
	}
	err := im.s.commits.do(func(t *txn) error {
		t.s.clock.Observe(m.Head.HLC)
		for _, inc := range m.Vector.Incarnations() {
			t.vector[inc] = m.Vector[inc]
		}
		t.allowRejoin(true) // its fleet may have gone on, and collected, since
		t.raiseFloor(m.Floor)
		return t.broken
	})
	for more := true; more && err == nil; {
		more, err = im.s.Sweep(context.Background())
	}
	return err
}
