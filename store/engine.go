package store

import "errors"

// Sentinels of the moment an engine is opened or commits.
var (
	// ErrLocked is returned at open when another process has the directory.
	ErrLocked = errors.New("another node has this data directory")
	// ErrNoSpace is returned when the disk is full: the write did not happen,
	// reads go on, and writes resume when space returns.
	ErrNoSpace = errors.New("no space left for the write")
	// ErrFailed is returned for every write after a commit failed for any
	// other reason: what is on disk is unknown until the store is reopened.
	ErrFailed = errors.New("store has failed and must be reopened")
	// ErrDamaged is returned when a stored value does not pass its checksum or
	// does not decode: it is named, never served, merged or forwarded.
	ErrDamaged = errors.New("stored value is damaged")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("store is closed")
)

// Bucket is one of the engine's few large ordered maps.
type Bucket uint8

// The buckets; keys.go draws what is in them.
const (
	BucketMeta Bucket = iota
	BucketVector
	BucketLog
	BucketRecords
	BucketIDs
	BucketNames
	BucketLedger
	BucketQuarantine
	BucketSnapshots
	BucketTombstones
	NumBuckets
)

// String returns the bucket's name on disk.
func (b Bucket) String() string {
	return [...]string{"meta", "vector", "log", "records", "ids", "names", "ledger", "quarantine", "snapshots", "tombstones"}[b]
}

// Engine is the port that a storage technology implements: ordered maps of
// bytes with one writer and any number of readers, each seeing one committed
// state. All of the store's logic stands above it, once for every backend.
type Engine interface {
	// View runs fn over the last committed state. fn must be short: a reader
	// pins what it sees.
	View(fn func(Tx) error) error
	// Update runs fn and commits what it wrote, all or nothing and durably, or
	// nothing when fn or the commit returns an error; a panic of fn rolls back
	// and passes through. A commit that failed for want of space wraps
	// ErrNoSpace; one of which it is not known whether it happened is any other
	// error, and wraps ErrFailed when the engine itself cannot go on.
	Update(fn func(WriteTx) error) error
	// Close releases the engine. Views and updates must have ended. It may be
	// called twice; everything after it returns ErrClosed.
	Close() error
}

// Tx reads one committed state. Slices it returns are valid until it ends and
// must not be changed.
type Tx interface {
	// Get returns the value, or nil when the key is absent.
	Get(b Bucket, key []byte) []byte
	// Ascend calls fn for every key at or after from, in order, until fn
	// returns false.
	Ascend(b Bucket, from []byte, fn func(key, value []byte) bool)
	// Last returns the highest key and its value, or nils for an empty bucket.
	Last(b Bucket) (key, value []byte)
}

// WriteTx reads its own writes. A key is 1 to 32768 bytes; a nil value is
// stored as an empty one; a write while Ascend runs is refused.
//
// The engine copies what it is given before the
// call returns or keeps it until the transaction ends, so callers must not
// change key or value before that.
type WriteTx interface {
	Tx
	Put(b Bucket, key, value []byte) error
	Delete(b Bucket, key []byte) error
}
