package loopback

import (
	"errors"

	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// disk is a node's storage: what it acknowledged as committed survives a
// crash, nothing else does.
type disk struct {
	*memory.Engine
	next verdict // of the next commit
	full bool
	// died is told when a commit took the node with it.
	died func()
}

// verdict is what becomes of a commit.
type verdict uint8

const (
	sound     verdict = iota
	fails             // an error of the disk's: nothing is durable, the node must stop
	lost              // the node dies in the commit, before it is durable
	unheardOf         // the node dies in the commit, after it is durable
)

var (
	errDisk = errors.New("disk: input/output error")
	errDied = errors.New("disk: the node died in the commit")
)

func newDisk() *disk { return &disk{Engine: memory.NewEngine()} }

// copy is what a backup of the directory, or a restart, finds.
func (d *disk) copy() *disk { return &disk{Engine: d.Engine.Reopen(), full: d.full} }

// Update commits, unless the disk is in a mood.
func (d *disk) Update(fn func(store.WriteTx) error) error {
	if d.full {
		return d.refuse(fn, store.ErrNoSpace)
	}
	v := d.next
	if v == sound {
		return d.Engine.Update(fn)
	}
	var err error
	switch v {
	case fails:
		err = d.refuse(fn, errDisk)
	case lost:
		err = d.refuse(fn, errDied)
	case unheardOf:
		if err = d.Engine.Update(fn); err == nil {
			err = errDied
		}
	}
	if errors.Is(err, errDisk) || errors.Is(err, errDied) {
		d.next = sound
		d.died()
	}
	return err
}

// refuse lets the transaction run and commits nothing. A transaction that has
// nothing to commit does not meet the disk.
func (d *disk) refuse(fn func(store.WriteTx) error, verdict error) error {
	return d.Engine.Update(func(tx store.WriteTx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return verdict
	})
}
