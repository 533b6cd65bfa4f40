package store

import (
	"fmt"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/mutant"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// txn is one transaction in the making: the engine's, and what memory is to
// become when it commits. An operation reads and judges first and writes only
// when nothing can refuse it any more; an engine error after that breaks the
// whole transaction.
type txn struct {
	s  *Store
	tx WriteTx

	identity Identity
	stamper  Stamper
	retired  []Past // by this transaction
	// clockWas is what the clock stood at before it was set back, 0 when it was
	// not: it stands there again if the transaction fails.
	clockWas hlc.Timestamp
	unsure   bool

	head   Head
	vector map[resource.ID]Position // entries that rose
	prevs  map[string]uint64
	leaves []leafChange
	kinds  []resource.Kind // what is live, read at the end when kindsChanged
	ahead  []early
	// disputed are incarnations whose events are held, settled those whose entry
	// moved.
	disputed map[resource.ID]bool
	settled  []resource.ID
	metas    map[string][]byte // rows of meta that are written once, at the end
	// floor is never changed in place; sweepFrom is where collection goes on,
	// nil when it has been through.
	floor      Floor
	sweepFrom  []byte
	tombstones int
	collected  uint64
	rejoin     bool
	// kindsChanged: a Kind record was written.
	kindsChanged bool
	touched      bool  // something durable changed
	base         *Base // where the log begins from now on, nil when that stays
	broken       error
}

type leafChange struct {
	realm    string
	key      merkle.Key
	old, new merkle.Digest
}

func newTxn(s *Store) *txn {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return &txn{
		s: s, identity: s.identity, stamper: s.stamper, unsure: s.unsure, head: s.head, vector: map[resource.ID]Position{}, prevs: map[string]uint64{}, metas: map[string][]byte{},
		floor: s.floor, sweepFrom: s.sweepFrom, tombstones: s.tombstones, collected: s.collected, rejoin: s.rejoin,
	}
}

// put frames and writes a payload; an error breaks the transaction.
func (t *txn) put(b Bucket, key, payload []byte) {
	t.putRow(b, key, append(newRow(len(payload)), payload...))
}

// putRow seals and writes a row that began as newRow.
func (t *txn) putRow(b Bucket, key, row []byte) {
	if t.broken == nil {
		t.broken = t.tx.Put(b, key, sealRow(b, key, row))
		t.touched = true
	}
}

func (t *txn) delete(b Bucket, key []byte) {
	if t.broken == nil {
		t.broken = t.tx.Delete(b, key)
		t.touched = true
	}
}

// stored is a record as it lies in the projection.
type stored struct {
	rec    resource.Record
	seq    uint64 // of the log entry that holds it
	digest [32]byte
}

// appendStored is the payload of a row of records: the digest stands outside
// the record so that a scan builds the trie without decoding.
func appendStored(b []byte, seq uint64, digest [32]byte, record []byte) []byte {
	b = pack.AppendArray(b, 4)
	b = pack.AppendUint(b, 1)
	b = pack.AppendUint(b, seq)
	b = pack.AppendBin(b, digest[:])
	return append(b, record...)
}

// readStoredHead reads a row up to the record's frame, which is returned
// undecoded.
func readStoredHead(key, value []byte) (st stored, frame []byte, err error) {
	payload, err := unseal(BucketRecords, key, value)
	if err != nil {
		return stored{}, nil, err
	}
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 4 || v != 1) {
		r.Fail("row of %d fields, version %d", n, v)
	}
	st.seq = r.Uint()
	r.Fixed(st.digest[:])
	frame = r.Raw()
	if err := r.Close(); err != nil {
		return stored{}, nil, fmt.Errorf("%w: %s/%x: %w", ErrDamaged, BucketRecords, key, err)
	}
	return st, frame, nil
}

// readStored decodes a row; the record aliases value.
func readStored(key, value []byte) (*stored, error) {
	st, frame, err := readStoredHead(key, value)
	if err != nil {
		return nil, err
	}
	if st.rec, err = resource.DecodeRecord(frame); err != nil {
		return nil, fmt.Errorf("%w: %s/%x: %w", ErrDamaged, BucketRecords, key, err)
	}
	return &st, nil
}

// lookup finds a record by id; nil when it is not here.
func lookup(s *Store, tx Tx, id resource.ID) (*stored, error) {
	value := tx.Get(BucketIDs, id[:])
	if value == nil {
		return nil, nil
	}
	realm, err := unseal(BucketIDs, id[:], value)
	if err != nil {
		s.noteDamage(BucketIDs, id[:], err)
		return nil, err
	}
	key := recordKey(string(realm), merkle.Place(&s.cfg.Secret, id), id)
	row := tx.Get(BucketRecords, key)
	var st *stored
	if row == nil {
		err = fmt.Errorf("%w: record %s is indexed and missing", ErrDamaged, id)
	} else {
		st, err = readStored(key, row)
	}
	if err != nil {
		s.noteDamage(BucketRecords, key, err)
	}
	return st, err
}

// eventKind says how a post-image came about.
type eventKind uint8

const (
	ownPut eventKind = iota + 1
	ownDeleted
	merged
	// collected: the record went, under a floor; its last form stands in the
	// entry.
	collected
)

// project writes a post-image: log entry, record, indexes, trie leaf. prev is
// what the projection held, nil for a record that is new here. For an own
// event ev carries its chain and is completed here.
func (t *txn) project(prev *stored, img image, kind eventKind, ev *resource.Event, dot dot) {
	t.head.Seq++
	rec, frame, digest := img.rec, img.frame, img.digest
	entry := Entry{Seq: t.head.Seq, kind: kind, Source: dot.incarnation, SourceSeq: dot.seq}
	if prev != nil {
		entry.PrevSeq, entry.WasLive, entry.OldLabels = prev.seq, !prev.rec.Deleted(), prev.rec.Desired.Value.Labels
	}
	row := entry.appendHead(newRow(len(frame) + 256))
	if ev != nil {
		row = ev.AppendFrame(row, frame)
	} else {
		row = append(row, frame...)
	}
	t.putRow(BucketLog, seqKey(t.head.Seq), row)

	realm := rec.Realm()
	place := t.s.place(rec.ID)
	t.putRow(BucketRecords, recordKey(realm, place, rec.ID), appendStored(newRow(len(frame)+64), t.head.Seq, digest, frame))
	leaf := leafChange{realm: realm, key: place, new: leafDigest(digest)}
	if prev == nil {
		t.put(BucketIDs, rec.ID[:], []byte(realm))
	} else {
		leaf.old = leafDigest(prev.digest)
	}
	t.leaves = append(t.leaves, leaf)
	t.index(prev, rec)
	t.indexTombstone(prev, rec)
	t.noteKind(rec)
}

// image is a post-image, encoded and hashed once.
type image struct {
	rec    *resource.Record
	frame  []byte
	digest [32]byte
}

func imageOf(rec *resource.Record) image {
	return image{rec: rec, frame: rec.AppendTo(make([]byte, 0, rec.SizeHint())), digest: rec.Digest()}
}

// dot names the event that a merged post-image came by, when it is known.
type dot struct {
	incarnation resource.ID
	seq         uint64
}

// appendOwn projects an event of this incarnation's own.
func (t *txn) appendOwn(prev *stored, img image, died bool) {
	realm := img.rec.Realm()
	last, ok := t.prevs[realm]
	if !ok {
		last = t.s.prevs[realm] // guarded by there being one committer
	}
	ev := &resource.Event{
		Deleted: died, Incarnation: t.identity.Incarnation, Seq: t.head.Own.Seq + 1, HLC: t.head.HLC,
		RealmPrev: last, PrevHash: t.head.Own.Hash, Record: *img.rec,
	}
	kind := ownPut
	if died {
		kind = ownDeleted
	}
	t.head.Own = Position{Seq: ev.Seq, HLC: ev.HLC, Hash: ev.HashWith(img.digest)}
	t.prevs[realm] = ev.Seq
	t.project(prev, img, kind, ev, dot{})
}

// changes reports whether there is anything to commit.
func (t *txn) changes() bool {
	return t.broken != nil || t.touched || len(t.metas) > 0 || len(t.vector) > 0
}

// seal writes the rows that every operation of the batch moves, once.
func (t *txn) seal() error {
	t.head.HLC = max(t.head.HLC, t.s.clock.Last())
	if t.kindsChanged && t.broken == nil {
		t.kinds, t.broken = liveKinds(t.s, t.tx)
	}
	t.takeStaged()
	head := t.head
	if mutant.IndexApart {
		head = t.s.head
	}
	t.put(BucketMeta, []byte(metaHead), appendHead(nil, head))
	for _, realm := range sortedKeys(t.prevs) {
		t.put(BucketMeta, []byte(metaPrev+realm), pack.AppendUint(nil, t.prevs[realm]))
	}
	for _, key := range sortedKeys(t.metas) {
		t.put(BucketMeta, []byte(key), t.metas[key])
	}
	for _, id := range Vector(t.vector).Incarnations() {
		t.put(BucketVector, id[:], appendPosition(nil, t.vector[id]))
	}
	return t.broken
}

func appendHead(b []byte, h Head) []byte {
	b = pack.AppendArray(b, 6)
	b = pack.AppendUint(b, 1)
	b = pack.AppendUint(b, h.Seq)
	b = pack.AppendUint(b, uint64(h.HLC))
	return appendPosition(b, h.Own)
}

// publish makes memory what the committed transaction says, all at once.
func (s *Store) publish(t *txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = t.head
	s.rejoin = t.rejoin
	s.identity, s.stamper, s.unsure = t.identity, t.stamper, t.unsure
	s.past = append(s.past, t.retired...)
	s.floor, s.sweepFrom, s.tombstones, s.collected = t.floor, t.sweepFrom, t.tombstones, t.collected
	if t.base != nil {
		s.base = *t.base
	}
	for realm, seq := range t.prevs {
		s.prevs[realm] = seq
	}
	for id, p := range t.vector {
		s.vector[id] = p
	}
	for _, l := range t.leaves {
		if err := s.trie(l.realm).Replace(l.key, l.old, l.new); err != nil {
			// The trie no longer tells what is stored: say nothing rather than
			// something false.
			s.failed = fmt.Errorf("%w: trie of realm %q: %w", ErrFailed, l.realm, err)
		}
	}
	if t.kindsChanged {
		s.registry.Replace(append(resource.CoreKinds(), t.kinds...))
	}
	s.keepAhead(t)
	if t.touched {
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// place is where a record lies in its realm's trie.
func (s *Store) place(id resource.ID) merkle.Key { return merkle.Place(&s.cfg.Secret, id) }

// leafDigest is the part of a record's digest that the trie holds.
func leafDigest(d [32]byte) merkle.Digest { return merkle.Digest(d[:16]) }

func (s *Store) trie(realm string) *merkle.Trie {
	t := s.tries[realm]
	if t == nil {
		t = merkle.New(s.cfg.Secret, realm)
		s.tries[realm] = t
	}
	return t
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
