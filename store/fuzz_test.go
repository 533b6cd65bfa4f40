package store

import (
	"bytes"
	"errors"
	"testing"

	"driftless.dev/fuzztest"
	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// oneRow is a transaction that finds one row whatever is asked for.
type oneRow struct{ key, value []byte }

func (t oneRow) Get(Bucket, []byte) []byte { return t.value }
func (t oneRow) Ascend(_ Bucket, _ []byte, fn func(key, value []byte) bool) {
	fn(t.key, t.value)
}
func (t oneRow) Last(Bucket) (key, value []byte) { return t.key, t.value }

// rowReaders read each a row of one bucket.
func rowReaders() []struct {
	bucket Bucket
	read   func(key, value []byte) error
} {
	bare := func() *Store {
		return &Store{floor: Floor{}, vector: Vector{}, prevs: map[string]uint64{}}
	}
	return []struct {
		bucket Bucket
		read   func(key, value []byte) error
	}{
		{BucketLog, func(key, value []byte) error { _, err := readEntry(key, value); return err }},
		{BucketRecords, func(key, value []byte) error {
			_, _, _, _ = splitRecordKey(key)
			_, err := readStored(key, value)
			return err
		}},
		{BucketLedger, func(key, value []byte) error {
			l, err := readLoss(key, value)
			if err == nil {
				_, _ = l.Entry(), l.Actor()
			}
			return err
		}},
		{BucketNames, func(key, value []byte) error {
			_, _, _, _, _ = splitNameKey(key)
			_, err := readNameRow(key, value)
			return err
		}},
		{BucketSnapshots, func(key, value []byte) error { return bare().readSnapshotChunk(oneRow{key, value}, fold{}, key) }},
		{BucketMeta, func(key, value []byte) error {
			return bare().loadFloor(oneRow{append([]byte(metaFloor), key...), value})
		}},
		{BucketMeta, func(key, value []byte) error { return bare().loadPast(oneRow{append([]byte(metaOwn), key...), value}) }},
		{BucketMeta, func(key, value []byte) error { return bare().loadRejoin(oneRow{[]byte(metaRejoin), value}) }},
	}
}

// FuzzRows reads what lies in each bucket, bare and behind a sound checksum: a
// row, or an error that says it is damaged.
func FuzzRows(f *testing.F) {
	all := rowReaders()
	rec := resource.Record{
		ID: resource.ID{9: 1}, Kind: resource.GroupKind{Group: "g.example.dev", Kind: "Note"}, Name: "n",
		Creation:    resource.Creation{HLC: hlc.At(5, 0), Writer: resource.ID{1}, Origin: resource.ID{3: 7}},
		Desired:     resource.NewRegister(resource.Stamp{HLC: hlc.At(5, 0), Writer: resource.ID{1}}, nil, resource.Desired{APIVersion: "g.example.dev/v1", Spec: []byte(`{"n":1}`)}),
		SyncVersion: 1, Version: 1,
	}
	frame := rec.AppendTo(nil)
	entry := Entry{Seq: 1, kind: merged, OldLabels: map[string]string{"a": "b"}}
	f.Add(byte(0), true, seqKey(1), append(entry.appendHead(nil), frame...))
	f.Add(byte(1), true, recordKey("_", 1, rec.ID), appendStored(nil, 1, rec.Digest(), frame))
	loss := pack.AppendText(pack.AppendUint(pack.AppendArray(nil, 8), 1), "later")
	loss = pack.AppendBin(pack.AppendUint(loss, 7), make([]byte, 16))
	loss = pack.AppendText(pack.AppendUint(pack.AppendBin(loss, make([]byte, 16)), 7), "desired")
	f.Add(byte(2), true, ledgerKey(rec.ID, "desired", resource.Point{}), append(loss, frame...))
	f.Add(byte(4), true, snapshotKey(1, 0), pack.AppendBin(pack.AppendArray(nil, 1), frame))
	for i := range all {
		for _, b := range fuzztest.Bombs() {
			f.Add(byte(i), true, seqKey(1), b)
			f.Add(byte(i), false, seqKey(1), b)
		}
		f.Add(byte(i), true, []byte("x"), []byte{0x98, 1})
	}
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, which byte, sealed bool, key, value []byte) {
		r := all[int(which)%len(all)]
		full := key
		switch which := int(which) % len(all); which {
		case 5:
			full = append([]byte(metaFloor), key...)
		case 6:
			full = append([]byte(metaOwn), key...)
		case 7:
			full = []byte(metaRejoin)
		}
		if sealed {
			value = seal(r.bucket, full, value)
		}
		var err error
		cost.Run(t, append(bytes.Clone(key), value...), func() { err = r.read(key, value) })
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s row %x: %v", r.bucket, key, err)
		}
	})
}
