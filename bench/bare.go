package main

import (
	"context"
	"time"

	"go.etcd.io/bbolt"

	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// row is one key and value that the store wrote.
type row struct {
	bucket     store.Bucket
	key, value []byte
}

// writeRows are the rows of one write: its own, and those that a transaction
// writes once however many writes it holds.
type writeRows struct {
	own, shared []row
}

// recordings holds what a store wrote: the load, and then one entry a write.
type recordings struct {
	load   []row
	writes []writeRows
}

// record runs the same writes through a store whose engine remembers the rows.
func record(o options) (*recordings, error) {
	e := &recorder{Engine: memory.NewEngine()}
	w, err := loaded(e, o)
	if err != nil {
		return nil, err
	}
	rec := &recordings{load: e.rows}
	for n := range o.records {
		e.rows = nil
		if err := w.write(context.Background(), n+o.records); err != nil {
			return nil, err
		}
		var wr writeRows
		for _, r := range e.rows {
			if r.bucket == store.BucketMeta {
				wr.shared = append(wr.shared, r)
			} else {
				wr.own = append(wr.own, r)
			}
		}
		rec.writes = append(rec.writes, wr)
	}
	return rec, w.close()
}

// recorder is an engine that remembers what is put.
type recorder struct {
	store.Engine
	rows []row
}

func (e *recorder) Update(fn func(store.WriteTx) error) error {
	return e.Engine.Update(func(tx store.WriteTx) error { return fn(&recordingTx{WriteTx: tx, e: e}) })
}

type recordingTx struct {
	store.WriteTx
	e *recorder
}

func (t *recordingTx) Put(b store.Bucket, key, value []byte) error {
	t.e.rows = append(t.e.rows, row{bucket: b, key: append([]byte(nil), key...), value: append([]byte(nil), value...)})
	return t.WriteTx.Put(b, key, value)
}

// bare is bbolt with a group committer and nothing else: one goroutine drains
// a channel and commits at once. Log keys go on rising, as the store's do.
type bare struct {
	db   *bbolt.DB
	rec  *recordings
	ops  chan bareOp
	done chan struct{}
	seq  uint64
}

type bareOp struct {
	rows *writeRows
	done chan error
}

func newBare(path string, rec *recordings) (*bare, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, InitialMmapSize: 1 << 30, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	b := &bare{db: db, rec: rec, ops: make(chan bareOp, 1024), done: make(chan struct{})}
	err = db.Update(func(tx *bbolt.Tx) error {
		for n := range store.NumBuckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(n.String())); err != nil {
				return err
			}
		}
		return b.put(tx, rec.load)
	})
	if err != nil {
		return nil, err
	}
	go b.commitLoop()
	return b, nil
}

func (b *bare) put(tx *bbolt.Tx, rows []row) error {
	for _, r := range rows {
		bucket := tx.Bucket([]byte(r.bucket.String()))
		key := r.key
		if r.bucket == store.BucketLog {
			bucket.FillPercent = 0.95
			b.seq++
			key = seqKey(b.seq)
		}
		if err := bucket.Put(key, r.value); err != nil {
			return err
		}
	}
	return nil
}

func seqKey(n uint64) []byte {
	k := make([]byte, 8)
	for i := range k {
		k[i] = byte(n >> (56 - 8*i))
	}
	return k
}

func (b *bare) commitLoop() {
	defer close(b.done)
	for op := range b.ops {
		batch := []bareOp{op}
		for more := true; more && len(batch) < 512; {
			select {
			case next, ok := <-b.ops:
				if more = ok; ok {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		err := b.db.Update(func(tx *bbolt.Tx) error {
			for _, op := range batch {
				if err := b.put(tx, op.rows.own); err != nil {
					return err
				}
			}
			return b.put(tx, batch[len(batch)-1].rows.shared)
		})
		for _, op := range batch {
			op.done <- err
		}
	}
}

func (b *bare) write(_ context.Context, n int) error {
	op := bareOp{rows: &b.rec.writes[n%len(b.rec.writes)], done: make(chan error, 1)}
	b.ops <- op
	return <-op.done
}

func (b *bare) close() error {
	close(b.ops)
	<-b.done
	return b.db.Close()
}
