// Package store keeps a node's complete copy of the fleet's records: an
// ordered log that is the truth, and the projection that is its fold.
//
// All logic stands here, once, above the Engine port: ordered maps of bytes
// with transactions, which the packages memory and bolt provide. One
// transaction covers log, projection, names, digests, vector and cursors. A
// write is acknowledged when that transaction is durable.
package store

import (
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// Config is what a store is opened with. Wall is required.
type Config struct {
	// Wall is the physical clock.
	Wall func() time.Time
	// Instance is the instance id; zero keeps the stored one, minted at the
	// first open.
	Instance resource.ID
	// Secret keys the placement of records in the Merkle trie: one per fleet.
	Secret [32]byte
	// Fleet names the fleet that Secret is of; a store holds on to it. The zero
	// value checks nothing.
	Fleet Fleet
	// Registry holds the kinds; nil makes one with the default compiler.
	Registry *resource.Registry
	// Guard, when set, is asked before a local write is stamped; its error
	// refuses the write. It must be fast and must not call the store.
	Guard func(hlc.Timestamp) error
	// Random is the source of ids; nil means crypto/rand.
	Random io.Reader
	// SnapshotEvery writes a snapshot after so many events; 0 never does.
	SnapshotEvery uint64
	// SnapshotCodec, when set, seals and opens snapshots.
	SnapshotCodec SnapshotCodec
}

// Store is a node's copy of the records. It is safe for concurrent use.
type Store struct {
	cfg      Config
	engine   Engine
	clock    *hlc.Clock
	registry *resource.Registry
	identity Identity // guarded by mu, as stamper: reincarnate changes both
	stamper  Stamper
	commits  committer
	slots    chan struct{} // bounds the writers that prepare at once

	// mu guards what is published after a commit, all of it at once: a reader
	// that holds it sees one state.
	mu     sync.RWMutex
	head   Head
	base   Base
	vector Vector
	tries  map[string]*merkle.Trie
	prevs  map[string]uint64 // realm → own last sequence in it
	ahead  map[resource.ID]map[uint64]early
	// floor is replaced, never changed; sweepFrom, tombstones and collected are
	// collect.go's.
	floor      Floor
	sweepFrom  []byte
	tombstones int
	collected  uint64
	rejoin     bool // bootstrap.go's
	// confirmed is closed when local writes may go on, nil when they may;
	// unsure says that the first of them needs a new incarnation.
	confirmed chan struct{}
	unsure    bool
	past      []Past // own incarnations before this one
	// disputed are incarnations whose events are held (apply.go).
	disputed map[resource.ID]bool
	changed  chan struct{} // closed and replaced by every commit that changed something
	failed   error         // set once, by a commit whose outcome is unknown
	closed   bool

	// staging guards cursors that wait for the next transaction.
	staging sync.Mutex
	staged  map[string][]byte

	snapshots snapshotter
	dropped   droppedCounters
	damage    damageSet
	// kindsHidden: a kind's own record is damaged.
	kindsHidden atomic.Bool
	scrubs      scrubCounters
	fscks       sync.Mutex // held by the one that examines
}

// Identity is who the store is.
type Identity struct {
	// Instance is minted at the first open and kept.
	Instance resource.ID
	// Incarnation is minted at the first open and again at restore or fork: the
	// writer of stamps, the first half of dots.
	Incarnation resource.ID
	// LogID names this log: sequences mean nothing under another.
	LogID resource.ID
}

// Head is the end of the log.
type Head struct {
	// Seq is the last entry's sequence.
	Seq uint64
	// HLC is the highest stamp issued or observed.
	HLC hlc.Timestamp
	// Own is the position of this incarnation's own events.
	Own Position
}

// Open opens a store over an engine, which it owns from then on, and brings
// memory up to what is stored: clock, vector, kinds, tries. Nothing is served
// before all of it has been read and verified. A damaged record does not keep
// the store from opening: it is in Damage, and not held until it is repaired.
func Open(engine Engine, cfg Config) (*Store, error) {
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Registry == nil {
		cfg.Registry = resource.NewRegistry()
	}
	s := &Store{
		cfg: cfg, engine: engine, registry: cfg.Registry,
		vector: Vector{}, tries: map[string]*merkle.Trie{}, prevs: map[string]uint64{},
		ahead: map[resource.ID]map[uint64]early{}, disputed: map[resource.ID]bool{}, changed: make(chan struct{}),
		slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
	if err := resource.RegisterCoreKinds(s.registry); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.stamper = Stamper{Instance: s.identity.Instance, Incarnation: s.identity.Incarnation}
	s.commits.run = s.commit
	return s, nil
}

// Close waits for the commit under way, refuses later ones and closes the
// engine. A second Close does nothing.
func (s *Store) Close() error {
	s.commits.close()
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	return s.engine.Close()
}

// Identity returns who the store is.
func (s *Store) Identity() Identity {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.identity
}

// Registry returns the kinds that are live here.
func (s *Store) Registry() *resource.Registry { return s.registry }

// Clock returns the node's clock: every stamp in the store has been observed
// by it.
func (s *Store) Clock() *hlc.Clock { return s.clock }

// Head returns the end of the log.
func (s *Store) Head() Head {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.head
}

// Changed returns a channel that the next commit closes, and the end of the
// log as of now: read up to it, then wait.
func (s *Store) Changed() (<-chan struct{}, Head) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.changed, s.head
}

// Err returns why the store takes no writes any more, or nil.
func (s *Store) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// State is one committed state, as replication compares it: everything in it
// was true at one transaction.
type State struct {
	Identity Identity
	Head     Head
	Vector   Vector // own position included; empty while the state is damaged
	Floor    Floor
	Realms   []RealmState
	Super    merkle.Root
}

// RealmState is one realm's part of a State.
type RealmState struct {
	Realm   string
	Root    merkle.Root
	Records int
	View    *merkle.View
}

// State pins the current state. The views in it stay valid while the store
// goes on.
func (s *Store) State() State {
	s.mu.Lock() // tries rehash lazily, which writes
	defer s.mu.Unlock()
	st := State{Identity: s.identity, Head: s.head, Vector: s.covers(), Floor: s.floor}
	var roots []merkle.RealmRoot
	for _, realm := range sortedKeys(s.tries) {
		v := s.tries[realm].View()
		if v.Len() == 0 {
			continue
		}
		st.Realms = append(st.Realms, RealmState{Realm: realm, Root: v.Root(), Records: v.Len(), View: v})
		roots = append(roots, merkle.RealmRoot{Realm: realm, Root: v.Root(), Count: v.Len()})
	}
	st.Super = merkle.SuperRoot(&s.cfg.Secret, roots)
	return st
}

// covers is the vector of the state, own position included. While a part of the
// state is damaged it is empty: nobody must take what is covered here for what
// is held, and collect by it what others still have to give back. s.mu is held.
func (s *Store) covers() Vector {
	if s.damage.ofState() {
		return Vector{}
	}
	v := s.vector.Clone()
	if s.head.Own.Seq > 0 {
		v[s.identity.Incarnation] = s.head.Own
	}
	return v
}

// Summary is the part of a State that a heartbeat carries.
type Summary struct {
	Identity     Identity
	Head         Head
	Super        merkle.Root
	Vector       Vector // own position included
	VectorDigest [32]byte
	Floor        Floor
	Garbage      Garbage
	Rejoin       bool // RejoinAllowed
}

// Summary returns the current roots and vector in short. Unlike State it pins
// nothing, so that later writes copy nothing.
func (s *Store) Summary() Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	roots := make([]merkle.RealmRoot, 0, len(s.tries))
	for _, realm := range sortedKeys(s.tries) {
		t := s.tries[realm]
		roots = append(roots, merkle.RealmRoot{Realm: realm, Root: t.Root(), Count: t.Len()})
	}
	v := s.covers()
	return Summary{
		Identity: s.identity, Head: s.head, Super: merkle.SuperRoot(&s.cfg.Secret, roots), Vector: v, VectorDigest: v.Digest(),
		Floor: s.floor, Garbage: s.garbage(), Rejoin: s.rejoin,
	}
}

// Realm returns one realm's part of the state, empty when nothing is in it.
func (st *State) Realm(realm string) (RealmState, bool) {
	for _, r := range st.Realms {
		if r.Realm == realm {
			return r, true
		}
	}
	return RealmState{}, false
}

// Secret is the placement key.
func (s *Store) Secret() [32]byte { return s.cfg.Secret }
