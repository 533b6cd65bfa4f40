package driftless_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/client"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
)

func clientOf(t *testing.T, m *member) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Node: "http://" + m.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// P10: a node whose store is damaged at rest says so, is not ready, neither
// serves nor forwards the record, and has it back from a member on a word.
func TestFleet_RepairFromAMember(t *testing.T) {
	members := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, members, resource.IdentityUnique)
	a, b := members[0], members[1]
	for i := range 20 {
		put(t, a, note(fmt.Sprint("n", i), "text"))
	}
	settle(t, members)
	id := get(t, b, "n7").ID
	b.stop()
	flipInFile(t, b, id)
	b.start()
	if ready, why := b.Ready(); ready || !strings.Contains(why, id) || !strings.Contains(why, "driftless fsck --repair") {
		t.Errorf("ready %v: %s", ready, why)
	}
	if _, err := b.Store().GetByID(t.Context(), id); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("get: %v", err)
	}
	if info := b.Info(); info.DamagedRows == 0 || len(info.Damaged) == 0 || !strings.Contains(strings.Join(info.Conditions, " "), "Damaged: ") {
		t.Errorf("the node says %+v, %v", info.Damaged, info.Conditions)
	}
	c := clientOf(t, b)
	if r, err := c.Fsck(t.Context(), true); err != nil || r.Verdict != fleet.FsckDamaged {
		t.Errorf("fsck: %+v, %v", r, err)
	}
	if _, err := c.Repair(t.Context(), "nobody"); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("repair from nobody: %v", err)
	}
	r, err := repairOnceHeard(t, c, "a")
	if err != nil || r.PutBack != 1 || r.Fsck.Verdict == fleet.FsckDamaged {
		t.Fatalf("repair: %+v, %v", r, err)
	}
	settle(t, members)
	if got, want := get(t, b, "n7"), get(t, a, "n7"); got.Digest != want.Digest {
		t.Error("another record came back")
	}
	if ready, why := b.Ready(); !ready {
		t.Errorf("not ready after the repair: %s", why)
	}
}

// repairOnceHeard repairs once the transport is up after a start.
func repairOnceHeard(t *testing.T, c *client.Client, from string) (r fleet.Repair, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for {
		var e *client.Error
		if r, err = c.Repair(ctx, from); !errors.As(err, &e) || e.Code != fleet.CodeUnavailable {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// flipInFile damages a record of a stopped node, and every entry of its log
// that tells of it.
func flipInFile(t *testing.T, m *member, id string) {
	t.Helper()
	parsed, err := resource.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	e, err := bolt.OpenEngine(filepath.Join(m.cfg.Data, "driftless.db"), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	flipped := 0
	if err := e.Update(func(tx store.WriteTx) error {
		for _, b := range []store.Bucket{store.BucketRecords, store.BucketLog} {
			var rows [][2][]byte
			tx.Ascend(b, nil, func(k, v []byte) bool {
				if bytes.Contains(v, parsed[:]) {
					rows = append(rows, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
				}
				return true
			})
			for _, row := range rows {
				flipped++
				row[1][len(row[1])/2] ^= 1
				if err := tx.Put(b, row[0], row[1]); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil || flipped < 2 {
		t.Fatalf("%d rows flipped, %v", flipped, err)
	}
}

// A log that was trimmed strands nobody: a node that starts empty, a member
// that was away, and the stream after a restart all get what there is.
func TestFleet_TrimmedLogStrandsNobody(t *testing.T) {
	members := newFleet(t, []string{"a", "b", "c"}, nil)
	registerNotes(t, members, resource.IdentityUnique)
	writer, away := members[1], members[2]
	put(t, writer, note("n0", "first"))
	settle(t, members)
	away.link.Cut()
	for round := range 3 {
		for i := range 30 {
			put(t, writer, note(fmt.Sprint("n", i), fmt.Sprint("round ", round)))
		}
		if err := writer.Store().Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return writer.Info().Published == writer.Info().Seq }, "the outbox is empty")
	if err := writer.Store().Trim(t.Context(), store.Keep{Entries: 1, Through: writer.Store().Head().Seq}); err != nil {
		t.Fatal(err)
	}
	first := writer.Info().FirstSeq
	if first < 60 {
		t.Fatalf("the log begins at %d: the case did not arise", first)
	}
	away.link.Heal()
	fresh := newMember(t, "d", nil)
	fresh.joinTo(members[0])
	fresh.start()
	members = append(members, fresh)
	settle(t, members)
	writer.restart() // the window of what is published again begins before the log does now
	if writer.Info().FirstSeq != first {
		t.Errorf("the log begins at %d, was %d", writer.Info().FirstSeq, first)
	}
	put(t, writer, note("after", "the restart"))
	until(t, func() bool { return writer.Info().Published == writer.Info().Seq }, "the outbox is empty after the restart")
	settle(t, members)
	for _, m := range members {
		get(t, m, "after")
	}
}

func until(t *testing.T, holds func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 15 s: %s", what)
		}
	}
}

// S1, P5: a member that is restored from an older backup comes back under a new
// incarnation, takes in what happened since, its own writes too, and the fleet
// agrees.
func TestFleet_RestoredBackupRejoins(t *testing.T) {
	members := newFleet(t, []string{"a", "b"}, nil)
	registerNotes(t, members, resource.IdentityUnique)
	a, b := members[0], members[1]
	put(t, a, note("before", "by a"))
	put(t, b, note("mine", "by b"))
	settle(t, members)
	var file bytes.Buffer
	if err := clientOf(t, b).Snapshot(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	put(t, b, note("since", "by b, after the backup"))
	put(t, a, note("before", "by a, again"))
	settle(t, members)
	was := b.Store().Identity()
	b.stop()
	local := driftless.Offline{Fleet: "test"}
	s, aside, err := local.Restore(t.Context(), bytes.NewReader(file.Bytes()), b.cfg.Data, driftless.RestoreOptions{Force: true})
	if err != nil || aside == "" || s.Fleet != "test" {
		t.Fatalf("restore: %+v, %q, %v", s, aside, err)
	}
	b.start()
	now := b.Store().Identity()
	if now.Instance != was.Instance || now.Incarnation == was.Incarnation || now.LogID == was.LogID {
		t.Errorf("was %+v, is %+v", was, now)
	}
	put(t, b, note("after", "by b, restored"))
	settle(t, members)
	for _, m := range members {
		for name, want := range map[string]string{"before": "by a, again", "mine": "by b", "since": "by b, after the backup", "after": "by b, restored"} {
			if got := string(get(t, m, name).Spec); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %s", m.cfg.Name, name, got)
			}
		}
	}
}
