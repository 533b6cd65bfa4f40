package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/mutant"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// load reads what is stored into memory, or mints the identity of a new store.
func (s *Store) load() error {
	if err := s.loadFleet(); err != nil {
		return err
	}
	if err := s.loadIdentity(); err != nil {
		return err
	}
	if err := s.indexTombstones(); err != nil {
		return err
	}
	return s.engine.View(func(tx Tx) error {
		for _, step := range []func(Tx) error{
			s.loadHead, s.loadBase, s.loadMeta, s.loadVector, s.loadFloor, s.loadRejoin, s.loadPast, s.loadIndexes, s.loadTries, s.loadKinds, s.loadSnapshots,
		} {
			if err := step(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) loadIdentity() error {
	var empty bool
	err := s.engine.View(func(tx Tx) (err error) {
		last, _ := tx.Last(BucketLog)
		empty = last == nil && tx.Get(BucketMeta, []byte(metaHead)) == nil
		s.identity, err = readIdentity(tx)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case s.identity.Instance.IsZero() && !empty:
		return fmt.Errorf("%w: meta/%s: the row is missing", ErrDamaged, metaIdentity)
	case s.identity.Instance.IsZero():
		return s.mint()
	case !s.cfg.Instance.IsZero() && s.cfg.Instance != s.identity.Instance:
		return fmt.Errorf("%w: the directory belongs to instance %s, not %s", resource.ErrInvalid, s.identity.Instance, s.cfg.Instance)
	}
	return nil
}

// readIdentity reads who a store is, the zero value of a new one.
func readIdentity(tx Tx) (id Identity, err error) {
	r, err := getMeta(tx, metaIdentity)
	if err != nil || r == nil {
		return Identity{}, err
	}
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 4 || v != 1) {
		r.Fail("store format %d is not known here", v)
	}
	for _, p := range [...]*resource.ID{&id.Instance, &id.Incarnation, &id.LogID} {
		r.Fixed(p[:])
	}
	return id, damagedMeta(metaIdentity, r.Close())
}

// mint gives a new store its identity.
func (s *Store) mint() error {
	id := Identity{Instance: s.cfg.Instance}
	for _, p := range [...]*resource.ID{&id.Instance, &id.Incarnation, &id.LogID} {
		if !p.IsZero() {
			continue
		}
		var err error
		if *p, err = s.newID(hlc.At(s.cfg.Wall().UnixMilli(), 0)); err != nil {
			return err
		}
	}
	b := id.appendTo(nil)
	s.identity = id
	key := []byte(metaIdentity)
	rejoin := []byte(metaRejoin)
	return s.engine.Update(func(tx WriteTx) error {
		if err := tx.Put(BucketMeta, rejoin, seal(BucketMeta, rejoin, pack.AppendBool(nil, true))); err != nil {
			return err
		}
		return tx.Put(BucketMeta, key, seal(BucketMeta, key, b))
	})
}

// newID makes a ULID: the stamp's milliseconds, then 80 random bits.
func (s *Store) newID(at hlc.Timestamp) (id resource.ID, err error) {
	ms := uint64(at.Millis())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	if _, err := io.ReadFull(s.cfg.Random, id[6:]); err != nil {
		return resource.ID{}, fmt.Errorf("make id: %w", err)
	}
	return id, nil
}

// getMeta returns a reader over a row of meta, nil when there is none.
func getMeta(tx Tx, key string) (*pack.Reader, error) {
	value := tx.Get(BucketMeta, []byte(key))
	if value == nil {
		return nil, nil
	}
	payload, err := unseal(BucketMeta, []byte(key), value)
	if err != nil {
		return nil, err
	}
	return pack.NewReader(payload), nil
}

func damagedMeta(key string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: meta/%s: %w", ErrDamaged, key, err)
	}
	return nil
}

// loadHead restores the end of the log and the clock, which starts at the
// higher of the persisted bound and the log's tail: no stamp is issued twice,
// whatever the wall clock says.
func (s *Store) loadHead(tx Tx) (err error) {
	if s.head, err = readHead(tx); err != nil {
		return err
	}
	floor := s.head.HLC
	if key, value := tx.Last(BucketLog); key != nil {
		if len(key) != 8 || binary.BigEndian.Uint64(key) != s.head.Seq {
			return fmt.Errorf("%w: the log ends at %x, its head says %d", ErrDamaged, key, s.head.Seq)
		}
		if e, err := readEntry(key, value); err == nil {
			floor = max(floor, e.Record.Newest().HLC)
		} else {
			s.noteDamage(BucketLog, key, err) // the head has its stamp too
		}
	}
	if mutant.ClockForgotten {
		floor = 0
	}
	s.clock = hlc.NewClock(s.wall, floor)
	return nil
}

// readHead reads the end of the log, the zero value of a new store.
func readHead(tx Tx) (h Head, err error) {
	r, err := getMeta(tx, metaHead)
	if err != nil || r == nil {
		return Head{}, err
	}
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 6 || v != 1) {
		r.Fail("head of version %d", v)
	}
	h.Seq = r.Uint()
	h.HLC = hlc.Timestamp(r.Uint())
	h.Own = readPosition(r)
	return h, damagedMeta(metaHead, r.Close())
}

func (s *Store) wall() time.Time { return s.cfg.Wall() }

// loadMeta holds the store's own rows to their checksums, whatever their keys
// are: one of a flipped key is missing where it should be.
func (s *Store) loadMeta(tx Tx) (err error) {
	tx.Ascend(BucketMeta, nil, func(key, value []byte) bool {
		if _, err = unseal(BucketMeta, key, value); err != nil && strings.HasPrefix(string(key), metaCursor) {
			s.noteDamage(BucketMeta, key, err)
			err = nil
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	tx.Ascend(BucketMeta, []byte(metaPrev), func(key, value []byte) bool {
		realm, ok := strings.CutPrefix(string(key), metaPrev)
		if !ok {
			return false
		}
		var payload []byte
		if payload, err = unseal(BucketMeta, key, value); err != nil {
			return false
		}
		r := pack.NewReader(payload)
		s.prevs[realm] = r.Uint()
		err = damagedMeta(string(key), r.Close())
		return err == nil
	})
	return err
}

func (s *Store) loadVector(tx Tx) (err error) {
	tx.Ascend(BucketVector, nil, func(key, value []byte) bool {
		var payload []byte
		if payload, err = unseal(BucketVector, key, value); err != nil {
			return false
		}
		r := pack.NewReader(payload)
		p := readPosition(r)
		if err = r.Close(); err != nil || len(key) != 16 {
			err = fmt.Errorf("%w: vector/%x: %w", ErrDamaged, key, err)
			return false
		}
		s.vector[resource.ID(key)] = p
		return true
	})
	return err
}

// loadTries rebuilds the tries from the digests beside the records, without
// decoding one.
func (s *Store) loadTries(tx Tx) (err error) {
	tx.Ascend(BucketRecords, nil, func(key, value []byte) bool {
		var st stored
		if st, _, err = readStoredHead(key, value); err != nil {
			s.noteDamage(BucketRecords, key, err)
			err = nil
			return true
		}
		realm, place, _, ok := splitRecordKey(key)
		if !ok {
			s.noteDamage(BucketRecords, key, fmt.Errorf("%w: records/%x: no record's key", ErrDamaged, key))
			return true
		}
		err = s.trie(realm).Replace(place, merkle.Digest{}, merkle.Digest(st.digest[:16]))
		return err == nil
	})
	return err
}

// loadIndexes holds the indexes to their checksums: a row of a flipped key is
// one that a read would miss and call not found.
func (s *Store) loadIndexes(tx Tx) error {
	for _, b := range [...]Bucket{BucketIDs, BucketNames} {
		tx.Ascend(b, nil, func(key, value []byte) bool {
			_, err := unseal(b, key, value)
			s.noteDamage(b, key, err)
			return true
		})
	}
	return nil
}

// loadKinds registers what the live Kind records serve.
func (s *Store) loadKinds(tx Tx) error {
	kinds, err := liveKinds(s, tx)
	if err == nil {
		s.registry.Replace(append(resource.CoreKinds(), kinds...))
	}
	return err
}

// loadSnapshots finds where the last snapshot was begun, so that a restart does
// not take one anew.
func (s *Store) loadSnapshots(tx Tx) error {
	if bases := snapshotBases(tx); len(bases) > 0 {
		s.snapshots.last.Store(bases[len(bases)-1])
	}
	return nil
}
