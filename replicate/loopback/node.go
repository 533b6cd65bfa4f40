package loopback

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"driftless.dev/hlc"
	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

// Node is one member.
type Node struct {
	fleet *Fleet
	index int
	disk  *disk
	// Store is the open store; after a crash it still tells what was durable.
	Store *store.Store
	core  *replicate.Core
	resp  *replicate.Responder
	up    bool
	// life tells this start from earlier ones: what an earlier one had under
	// way is gone with it.
	life uint64
	// frozen nodes do nothing; held is what waits for them.
	frozen bool
	held   []func()
	backup *disk

	// The wall clock is off by offset, and by drift for every second since.
	offset     time.Duration
	drift      float64
	driftSince time.Duration

	// slow bounds what a transaction takes, busy is until when one does.
	slow, busy time.Duration
	wake       time.Duration
	reader     reader
	rosterAt   uint64 // the log's end when the roster was last looked at
	// past sums the counters of earlier lives.
	past replicate.Counters
}

// diskDelay is what a transaction of a sound disk takes at most.
const diskDelay = 5 * time.Millisecond

// Start opens the node's store and begins its life. It does nothing to a node
// that is up.
func (n *Node) Start() (err error) {
	if n.up {
		return nil
	}
	f := n.fleet
	n.life++
	n.disk = n.disk.copy()
	n.disk.died = n.crash
	life := int(n.life)
	cfg := store.Config{
		Wall: n.wall, Secret: f.wire.Key, Random: source{f.source("ids", n.index, life)},
		Guard: func(ts hlc.Timestamp) error { return n.core.Guard(n.now(), ts) },
	}
	if f.opts.Schemas != nil {
		cfg.Registry = resource.NewRegistry(resource.WithSchemaCompiler(f.opts.Schemas))
	}
	if n.Store, err = store.Open(n.disk, cfg); err != nil {
		return fmt.Errorf("start node %d: %w", n.index, err)
	}
	members, err := n.Roster()
	if err != nil {
		return fmt.Errorf("start node %d: %w", n.index, err)
	}
	boot := f.source("boot", n.index, life)
	n.core, err = replicate.LoadCore(n.Store, replicate.Config{
		Fleet: f.wire, Name: fmt.Sprint("n", n.index), Boot: boot.Uint64(), Seed: boot.Uint64(),
		SyncInterval: f.opts.SyncInterval, MaxClockOffset: f.opts.MaxClockOffset,
		CollectAge: f.opts.CollectAge, CollectEvery: f.opts.CollectEvery, Rejoin: f.opts.Rejoin, Members: len(members.Names) - 1,
	})
	if err != nil {
		return fmt.Errorf("start node %d: %w", n.index, err)
	}
	n.resp = replicate.NewResponder(f.wire, n.Store, func(fn func(*replicate.Core)) { fn(n.core) }, n.now, n.step)
	n.up, n.wake, n.busy, n.reader = true, 0, 0, reader{}
	if _, err := n.place(); err != nil {
		return err
	}
	n.core.SetRoster(members)
	n.connect(true)
	n.grown()
	n.rosterAt = math.MaxUint64 // never looked
	n.keepMember()
	return nil
}

// Crash ends the node at once: what was not committed is gone.
func (n *Node) Crash() { n.crash() }

func (n *Node) crash() {
	if !n.up {
		return
	}
	n.past = sum(n.past, n.core.Status(n.now()).Counters)
	n.up, n.frozen, n.held = false, false, nil
}

// CrashInCommit makes the node die in its next commit, after or before that
// became durable; FailCommit makes the disk fail it, which must stop the node.
func (n *Node) CrashInCommit(durable bool) {
	n.disk.next = lost
	if durable {
		n.disk.next = unheardOf
	}
}

// FailCommit makes the next commit fail for another reason than want of space.
func (n *Node) FailCommit() { n.disk.next = fails }

// FillDisk lets every commit of the node fail for want of space, or ends that.
func (n *Node) FillDisk(full bool) { n.disk.full = full }

// SlowDisk bounds what a transaction takes; 0 is a sound disk's.
func (n *Node) SlowDisk(bound time.Duration) { n.slow = max(bound, diskDelay) }

// Freeze stops the node without ending it, as SIGSTOP does; Thaw lets it go
// on: what reached it meanwhile is delivered at once.
func (n *Node) Freeze() { n.frozen = n.up }

// Thaw ends Freeze.
func (n *Node) Thaw() {
	n.frozen = false
	held := n.held
	n.held = nil
	for _, fn := range held {
		n.later(0, fn)
	}
}

// StepClock moves the wall clock; Drift makes it gain rate seconds per second.
func (n *Node) StepClock(by time.Duration) { n.offset += by }

// Drift sets how fast the wall clock goes wrong.
func (n *Node) Drift(rate float64) {
	n.offset, n.driftSince, n.drift = n.off(), n.fleet.clock, rate
}

// SetClock makes the wall clock right, and keeps it so.
func (n *Node) SetClock() { n.offset, n.drift = 0, 0 }

func (n *Node) off() time.Duration {
	return n.offset + time.Duration(n.drift*float64(n.fleet.clock-n.driftSince))
}

// Backup copies the node's directory as it is; Restore puts the copy in its
// place, which ends the node. Restore without a backup does nothing and says
// so.
func (n *Node) Backup() { n.backup = n.disk.copy() }

// HasBackup reports whether there is one.
func (n *Node) HasBackup() bool { return n.backup != nil }

// Restore ends the node and rolls its directory back.
func (n *Node) Restore() bool {
	if n.backup == nil {
		return false
	}
	n.crash()
	n.disk = n.backup.copy()
	return true
}

// Clone starts another node from a copy of n's directory.
func (n *Node) Clone() (*Node, error) {
	c := n.fleet.newNode(n.disk.copy())
	return c, c.Start()
}

// Status is what the node's core knows.
func (n *Node) Status() replicate.Status { return n.core.Status(n.now()) }

// Counters sums what the core counted in all the node's lives.
func (n *Node) Counters() replicate.Counters {
	if !n.up {
		return n.past
	}
	return sum(n.past, n.core.Status(n.now()).Counters)
}

// Up reports whether the node runs; a frozen one does.
func (n *Node) Up() bool { return n.up }

// Answers reports whether the node runs and is not frozen.
func (n *Node) Answers() bool { return n.up && !n.frozen }

// Index is the node's place in the fleet.
func (n *Node) Index() int { return n.index }

// Wall is the node's wall clock.
func (n *Node) Wall() time.Time { return n.wall() }

func (n *Node) wall() time.Time { return epoch().Add(n.fleet.clock + n.off()) }

func (n *Node) now() replicate.Now {
	return replicate.Now{Wall: n.wall(), Mono: n.fleet.clock, State: n.Store.State, Summary: n.Store.Summary}
}

func sum(a, b replicate.Counters) replicate.Counters {
	sessions := map[string]uint64{}
	maps.Copy(sessions, a.Sessions)
	for k, v := range b.Sessions {
		sessions[k] += v
	}
	return replicate.Counters{
		Published: a.Published + b.Published, PublishFailures: a.PublishFailures + b.PublishFailures,
		Received: a.Received + b.Received, Rejected: a.Rejected + b.Rejected, Quarantined: a.Quarantined + b.Quarantined,
		Batches: a.Batches + b.Batches, Applied: a.Applied + b.Applied, Ignored: a.Ignored + b.Ignored,
		Unchanged: a.Unchanged + b.Unchanged, Conflicts: a.Conflicts + b.Conflicts, Clones: a.Clones + b.Clones,
		OwnClones: a.OwnClones + b.OwnClones, Heartbeats: a.Heartbeats + b.Heartbeats,
		ForeignHeartbeats: a.ForeignHeartbeats + b.ForeignHeartbeats, Sessions: sessions,
		Pulled: a.Pulled + b.Pulled, Pushed: a.Pushed + b.Pushed,
		Gone: a.Gone + b.Gone, Held: a.Held + b.Held, Forks: a.Forks + b.Forks, Rollbacks: a.Rollbacks + b.Rollbacks,
		ClockRepairs: a.ClockRepairs + b.ClockRepairs, FloorRaises: a.FloorRaises + b.FloorRaises, Bootstraps: a.Bootstraps + b.Bootstraps,
	}
}

// source makes random bytes from the fleet's seed.
type source struct{ rng interface{ Uint64() uint64 } }

func (s source) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.rng.Uint64())
	}
	return len(b), nil
}

// SoundDisk takes back what was in store for the next commit.
func (n *Node) SoundDisk() { n.disk.next = sound }

// Snapshot writes the node's projection beside its log, and Rebuild makes a
// new store of the newest one and the log behind it, and returns its root.
func (n *Node) Snapshot() error { return n.Store.Snapshot(context.Background()) }

// Rebuild is what a node does whose projection was lost.
func (n *Node) Rebuild() (root [32]byte, err error) {
	cfg := store.Config{Wall: n.wall, Secret: n.fleet.wire.Key, Random: source{n.fleet.source("rebuild", n.index)}}
	s, err := store.Replay(context.Background(), n.Store, memory.NewEngine(), cfg)
	if err != nil {
		return root, err
	}
	return s.State().Super, s.Close()
}
