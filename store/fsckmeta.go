package store

import (
	"strings"

	"driftless.dev/pack"
	"driftless.dev/resource"
)

// metaDue lists the rows of meta that must be there.
func (s *Store) metaDue() (keys []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys = []string{metaIdentity, metaIndexed}
	for _, p := range s.past {
		keys = append(keys, metaOwn+string(p.Incarnation[:]))
	}
	for _, inc := range s.floor.Incarnations() {
		keys = append(keys, metaFloor+string(inc[:]))
	}
	if s.head != (Head{}) {
		keys = append(keys, metaHead)
	}
	if s.base.Seq > 0 {
		keys = append(keys, metaBase)
	}
	for _, realm := range sortedKeys(s.prevs) {
		keys = append(keys, metaPrev+realm)
	}
	return keys
}

// metaStep returns what puts a row of meta right, from what this process knows.
func (s *Store) metaStep(key string) (fix func(*txn) error, remedy Remedy, meaning string) {
	row := []byte(key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	realm, isPrev := strings.CutPrefix(key, metaPrev)
	_, isKnown := s.prevs[realm]
	name, isFloor := strings.CutPrefix(key, metaFloor)
	var inc resource.ID
	copy(inc[:], name)
	var past *Past
	for i := range s.past {
		if key == metaOwn+string(s.past[i].Incarnation[:]) {
			past = &s.past[i]
		}
	}
	switch {
	case key == metaIdentity:
		return func(t *txn) error { return put(BucketMeta, row, t.identity.appendTo(nil))(t) }, FromMemory, "who this store is"
	case key == metaHead:
		return func(t *txn) error { t.touched = true; return nil }, FromMemory, "the end of the log" // every transaction writes it
	case key == metaBase:
		return func(t *txn) error { return put(BucketMeta, row, t.s.base.appendTo(nil))(t) }, FromMemory, "where the log begins"
	case key == metaFleet:
		return func(t *txn) error { return put(BucketMeta, row, t.s.cfg.Fleet.appendTo(nil))(t) }, FromMemory, "which fleet this store is of"
	case isPrev && isKnown:
		return func(t *txn) error { return put(BucketMeta, row, pack.AppendUint(nil, t.s.prevs[realm]))(t) }, FromMemory, "this node's last event in a realm"
	case strings.HasPrefix(key, metaOwn) && past != nil:
		return put(BucketMeta, row, past.appendTo(nil)), FromMemory, "how far an earlier incarnation's events stand"
	case key == metaRejoin:
		return func(t *txn) error { return put(BucketMeta, row, pack.AppendBool(nil, t.rejoin))(t) }, FromMemory, "whether this store may take its fleet's word for what it has itself"
	case key == metaIndexed:
		return put(BucketMeta, row, pack.AppendUint(nil, 1)), FromMemory, "that the tombstones are indexed"
	case isFloor && s.floor[inc] > 0:
		return put(BucketMeta, row, pack.AppendUint(nil, uint64(s.floor[inc]))), FromMemory, "below what collected tombstones are gone"
	case strings.HasPrefix(key, metaCursor):
		return drop(BucketMeta, row), ByDropping, "how far a reader of the stream or the outbox is: it begins anew, which repeats and loses nothing"
	}
	return drop(BucketMeta, row), ByDropping, meansStray
}

// vectorStep writes an incarnation's position as memory has it, or drops a row
// that is none.
func (s *Store) vectorStep(key []byte) func(*txn) error {
	return func(t *txn) error {
		if len(key) == 16 {
			if p, ok := t.s.vector[resource.ID(key)]; ok { // guarded by there being one committer
				t.put(BucketVector, key, appendPosition(nil, p))
				return t.broken
			}
		}
		t.delete(BucketVector, key)
		return t.broken
	}
}
