package driftless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/wire"
)

// Offline works on data directories that no node has open, and on snapshot
// files. A program that uses it must begin its main with RunVerifier.
type Offline struct {
	// Fleet names the fleet; without a name it is what the directory or the file
	// says. Secret must be the fleet's.
	Fleet  string
	Secret []byte
	// Codec, when set, seals and opens snapshots.
	Codec store.SnapshotCodec
}

// storeConfig is what stores of a fleet are opened with.
func (o Offline) storeConfig(had store.Fleet) (store.Config, error) {
	name := o.Fleet
	if name == "" {
		name = had.Name
	}
	if name == "" {
		name = DefaultFleet
	}
	f, err := wire.NewFleet(name, o.Secret)
	if err != nil {
		return store.Config{}, err
	}
	return store.Config{
		Wall: SystemClock().Wall, Secret: f.Key, Fleet: store.Fleet{ID: f.ID, Name: f.Name}, SnapshotCodec: o.Codec,
	}, nil
}

// open opens the store's file in a directory, after another process has looked
// at it.
func (o Offline) open(ctx context.Context, data string) (*bolt.Engine, store.Config, error) {
	path := filepath.Join(data, storeFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, store.Config{}, fmt.Errorf("%w: %s holds no store", resource.ErrNotFound, data)
	}
	if err := bolt.Verify(ctx, path); err != nil {
		return nil, store.Config{}, err
	}
	e, err := bolt.OpenEngine(path, bolt.Options{})
	if err != nil {
		return nil, store.Config{}, err
	}
	had, err := store.FleetOf(e)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, store.Config{}, errors.Join(err, e.Close())
	}
	cfg, err := o.storeConfig(had)
	if err != nil {
		return nil, store.Config{}, errors.Join(err, e.Close())
	}
	return e, cfg, nil
}

// Save writes a snapshot file of the store in a directory.
func (o Offline) Save(ctx context.Context, data string, w io.Writer) (out fleet.Snapshot, err error) {
	e, cfg, err := o.open(ctx, data)
	if err != nil {
		return out, err
	}
	s, err := store.Open(e, cfg)
	if err != nil {
		return out, errors.Join(err, e.Close())
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m, err := s.Export(ctx, w)
	return api.SnapshotView(&m), err
}

// Inspect reads what a snapshot file says of itself, to its end.
func (o Offline) Inspect(r io.Reader) (fleet.Snapshot, error) {
	m, err := store.Inspect(r, o.Codec)
	return api.SnapshotView(&m), err
}

// Verify derives a snapshot file's roots again.
func (o Offline) Verify(ctx context.Context, r io.ReadSeeker) (fleet.Snapshot, error) {
	cfg, err := o.configOf(r)
	if err != nil {
		return fleet.Snapshot{}, err
	}
	m, err := store.VerifyArchive(ctx, r, cfg)
	return api.SnapshotView(&m), err
}

// configOf is the configuration of the fleet that a file is of, if it is this
// one's.
func (o Offline) configOf(r io.ReadSeeker) (store.Config, error) {
	m, err := store.PeekArchive(r, o.Codec)
	if err != nil {
		return store.Config{}, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return store.Config{}, err
	}
	return o.storeConfig(m.Fleet)
}

// Fsck checks the store in a directory, and with repair puts right what needs
// nobody else. Of a file whose own pages are damaged the rows that can still be
// walked to are copied to a new one first; the damaged one is kept beside it.
func (o Offline) Fsck(ctx context.Context, data string, repair bool) (out fleet.Fsck, err error) {
	e, cfg, err := o.open(ctx, data)
	switch {
	case errors.Is(err, store.ErrDamaged) && repair:
		return o.salvage(ctx, data, err)
	case errors.Is(err, store.ErrDamaged):
		return fleet.Fsck{Verdict: fleet.FsckDamaged, Faults: []fleet.Fault{fileFault(err, fleet.RemedySalvage)}}, nil
	case err != nil:
		return out, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	r, err := store.FsckEngine(ctx, e, cfg, repair)
	return api.FsckView(&r), err
}

func fileFault(err error, remedy string) fleet.Fault {
	return fleet.Fault{Bucket: "file", Problem: err.Error(), Remedy: remedy, Meaning: "the file's own pages: the store does not open"}
}

// salvage makes a new file of the rows of a damaged one and checks it. It takes
// the other's place only when a store opens in it.
func (o Offline) salvage(ctx context.Context, data string, damage error) (out fleet.Fsck, err error) {
	path := filepath.Join(data, storeFile)
	temp, err := os.MkdirTemp(data, ".salvaging-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	lost := fleet.Fsck{Verdict: fleet.FsckDamaged, Faults: []fleet.Fault{fileFault(damage, string(store.ByRestore))}}
	if err := bolt.Salvage(ctx, path, filepath.Join(temp, storeFile)); err != nil {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		return lost, nil
	}
	out, err = o.Fsck(ctx, temp, true)
	if err != nil {
		return out, err
	}
	for _, f := range out.Faults {
		if f.Remedy == string(store.ByRestore) && !f.Repaired {
			out.Faults = append(lost.Faults, out.Faults...)
			return out, nil
		}
	}
	release, err := bolt.Lock(path) // not before: the child reads the file
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, release()) }()
	aside := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000Z")
	if err := errors.Join(os.Rename(path, aside), os.Rename(filepath.Join(temp, storeFile), path), syncPath(data)); err != nil {
		return out, fmt.Errorf("put the salvaged file in place: %w", err)
	}
	fault := fileFault(damage, fleet.RemedySalvage)
	fault.Repaired, fault.Meaning = true, fault.Meaning+"; the damaged one is kept at "+aside
	out.Faults = append([]fleet.Fault{fault}, out.Faults...)
	if out.Verdict == fleet.FsckClean {
		out.Verdict = fleet.FsckRepaired
	}
	return out, nil
}

// RestoreOptions say how a snapshot is restored.
type RestoreOptions struct {
	// Force moves what is in the directory aside; without it a directory that
	// holds something is refused.
	Force bool
	// NewInstance makes it another member, to seed one, rather than the one that
	// was saved.
	NewInstance bool
}

// Restore makes a data directory out of a snapshot file: whole, or not at all.
// aside is where what was there before is now, "" when nothing was.
func (o Offline) Restore(ctx context.Context, r io.ReadSeeker, data string, opt RestoreOptions) (out fleet.Snapshot, aside string, err error) {
	data = filepath.Clean(data)
	parent := filepath.Dir(data)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return out, "", fmt.Errorf("make data directory: %w", err)
	}
	release, used, err := claim(data)
	if err != nil {
		return out, "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	if used && !opt.Force {
		return out, "", fmt.Errorf("%w: %s is not empty: give another directory, or --force to move it aside", ErrConfig, data)
	}
	cfg, err := o.configOf(r)
	if err != nil {
		return out, "", err
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(data)+".restoring-")
	if err != nil {
		return out, "", fmt.Errorf("make data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	m, err := restoreInto(ctx, r, temp, cfg, opt.NewInstance)
	if err != nil {
		return out, "", err
	}
	if used {
		aside = data + ".before-" + time.Now().UTC().Format("20060102T150405.000Z")
		if err := os.Rename(data, aside); err != nil {
			return out, "", fmt.Errorf("move %s aside: %w", data, err)
		}
	}
	if err := os.Rename(temp, data); err != nil {
		return out, aside, fmt.Errorf("put the restored directory in place: %w", err)
	}
	return api.SnapshotView(&m), aside, syncPath(parent)
}

// restoreInto imports a file into a directory and syncs all of it.
func restoreInto(ctx context.Context, r io.Reader, dir string, cfg store.Config, fresh bool) (store.Manifest, error) {
	path := filepath.Join(dir, storeFile)
	// Synced once, at the end: until then nobody takes it for a store.
	e, err := bolt.OpenEngine(path, bolt.Options{NoSync: true})
	if err != nil {
		return store.Manifest{}, err
	}
	s, m, err := store.Import(ctx, r, e, cfg, fresh)
	if err != nil {
		return store.Manifest{}, errors.Join(err, e.Close())
	}
	if err := s.Close(); err != nil {
		return store.Manifest{}, err
	}
	return m, errors.Join(syncPath(path), syncPath(dir))
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// claim makes sure that no node has a directory open, and keeps one from
// opening it until release. used reports that something is in it.
func claim(data string) (release func() error, used bool, err error) {
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("look into data directory: %w", err)
	}
	path := filepath.Join(data, storeFile)
	if _, err := os.Stat(path); err != nil {
		return func() error { return nil }, len(entries) > 0, nil
	}
	release, err = bolt.Lock(path)
	return release, true, err
}
