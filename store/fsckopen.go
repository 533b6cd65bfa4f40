package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"driftless.dev/resource"
)

// FsckEngine is Fsck of an engine that no store is open over, also of one that
// damaged rows keep from opening: with repair it first rebuilds those from the
// log. Without repair nothing is written. It does not close the engine.
func FsckEngine(ctx context.Context, engine Engine, cfg Config, repair bool) (Report, error) {
	var faults []*fault
	var rows uint64
	empty := true
	err := engine.View(func(tx Tx) (err error) {
		if key, _ := tx.Last(BucketMeta); key != nil {
			empty = false
		}
		m := &metaExamination{tx: tx, bad: map[string]error{}, vector: Vector{}}
		faults, err = m.examine()
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("check store: %w", err)
	}
	if empty {
		return Report{}, fmt.Errorf("check store: %w: there is no store in it", resource.ErrNotFound)
	}
	out := Report{}
	for _, f := range faults {
		out.Faults = append(out.Faults, f.Fault)
	}
	if len(faults) > 0 && (!repair || slices.ContainsFunc(faults, func(f *fault) bool { return f.fix == nil })) {
		rows, err = out.readAll(engine)
		out.Rows = rows
		return out, err
	}
	if len(faults) > 0 {
		if err := mendMeta(engine, faults); err != nil {
			return Report{}, fmt.Errorf("repair store: %w", err)
		}
		for i := range out.Faults {
			out.Faults[i].Repaired = true
		}
	}
	if !repair {
		engine = dryEngine{engine}
	}
	s, err := Open(unclosed{engine}, cfg)
	if err != nil {
		return out, err
	}
	r, err := s.Fsck(ctx, repair)
	out.Rows, out.Faults = r.Rows, append(out.Faults, r.Faults...)
	return out, errors.Join(err, s.Close())
}

// readAll names the rows that do not read, of a store that cannot be opened
// before its own rows are repaired.
func (r *Report) readAll(engine Engine) (rows uint64, err error) {
	told := map[string]bool{}
	for _, f := range r.Faults {
		told[string(append([]byte{byte(f.Bucket)}, f.Key...))] = true
	}
	err = engine.View(func(tx Tx) error {
		for b := range NumBuckets {
			tx.Ascend(b, nil, func(key, value []byte) bool {
				rows++
				if err := readRow(b, key, value); err != nil && !told[string(append([]byte{byte(b)}, key...))] {
					r.Faults = append(r.Faults, Fault{Bucket: b, Key: bytes.Clone(key), Record: recordOf(b, key), Problem: err.Error(),
						Meaning: "what it means is found out once the store opens", Remedy: FromLog})
				}
				return true
			})
		}
		return nil
	})
	return rows, err
}

// unclosed keeps an engine open when its store is closed.
type unclosed struct{ Engine }

func (unclosed) Close() error { return nil }

// dryEngine undoes every update, and says that it was made.
type dryEngine struct{ Engine }

func (e dryEngine) Update(fn func(WriteTx) error) error {
	err := e.Engine.Update(func(tx WriteTx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

func mendMeta(engine Engine, faults []*fault) error {
	return engine.Update(func(tx WriteTx) error {
		t := &txn{tx: tx}
		for _, f := range faults {
			if err := f.fix(t); err != nil {
				return err
			}
		}
		return nil
	})
}
