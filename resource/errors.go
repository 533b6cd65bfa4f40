package resource

import "errors"

// Sentinels of the moment a write is judged (admission and stamping) and of
// the moment a record is looked up. Everything else wraps one of these.
var (
	// ErrNotFound is returned when no live resource has the address or id.
	ErrNotFound = errors.New("resource not found")
	// ErrInvalid is returned when a resource fails admission; the text names
	// the field or JSON pointer.
	ErrInvalid = errors.New("resource invalid")
	// ErrConflict is returned when optimistic concurrency fails: re-read and
	// retry.
	ErrConflict = errors.New("version conflict")
	// ErrExists is returned by a create-only write when the name is taken.
	ErrExists = errors.New("resource already exists")
	// ErrOutranked is returned when a write could not win against what it
	// would replace: a person holds the record, or a later release does.
	ErrOutranked = errors.New("outranked")
	// ErrFenced is returned when a write carries an epoch other than the
	// record's fence.
	ErrFenced = errors.New("fenced by another epoch")
	// ErrOwnerConflict is returned when automation writes a record that
	// another owner controls.
	ErrOwnerConflict = errors.New("owned by another controller")
	// ErrInUse is returned when a kind that still has records is deleted.
	ErrInUse = errors.New("in use")
	// ErrParked is returned when a write addresses a record whose kind is not
	// known here yet.
	ErrParked = errors.New("record is parked")
	// ErrTooLarge is returned when a record is over MaxRecordSize.
	ErrTooLarge = errors.New("record too large")
	// ErrAmbiguous is returned when a short kind name is claimed by several
	// kinds.
	ErrAmbiguous = errors.New("kind name is ambiguous")
	// ErrSkipUpdate is returned by an Update's mutate function to end without
	// a write.
	ErrSkipUpdate = errors.New("skip update")
)
