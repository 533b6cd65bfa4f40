package driftless_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"driftless.dev"
	"driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/wire"
)

// filled makes a data directory with a row in every bucket and returns its
// file.
func filled(t *testing.T) (dir string, file []byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	path := filepath.Join(dir, "driftless.db")
	e, err := bolt.OpenEngine(path, bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := wire.NewFleet(driftless.DefaultFleet, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := store.Config{Wall: time.Now, Secret: f.Key, Fleet: store.Fleet{ID: f.ID, Name: f.Name}}
	s, err := store.Open(e, cfg)
	if err != nil {
		t.Fatal(err)
	}
	other := &bolt.Engine{}
	if other, err = bolt.OpenEngine(filepath.Join(t.TempDir(), "other.db"), bolt.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	peer, err := store.Open(other, cfg)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kind, err := resource.KindResource(resource.Kind{APIVersion: "note.example.dev/v1", Name: "Note"}, resource.Scope{})
	must(err)
	write := func(n *store.Store, r resource.Resource) {
		t.Helper()
		_, err := n.Put(t.Context(), r)
		must(err)
	}
	pull := func(to, from *store.Store) {
		t.Helper()
		events, _, err := from.Outbox(0, 1000)
		must(err)
		var b store.Batch
		for i := range events {
			b.Records = append(b.Records, store.Incoming{Record: events[i].Record, Event: &events[i], From: from.Identity().Instance})
		}
		_, err = to.Apply(t.Context(), b)
		must(err)
	}
	write(s, kind)
	noteOf := func(name, text string) resource.Resource {
		return resource.Resource{APIVersion: "note.example.dev/v1", Kind: "Note", Name: name, Annotations: map[string]string{"text": text}}
	}
	for i := range 60 { // more than a page of each
		write(s, noteOf(fmt.Sprintf("note-%03d", i), fmt.Sprint("text ", i)))
	}
	pull(peer, s)
	write(peer, noteOf("note-001", "by the peer"))
	write(s, noteOf("note-001", "by this one"))
	pull(s, peer)
	must(s.Delete(t.Context(), "Note", resource.Scope{}, "note-002"))
	var rec resource.Record
	_, err = s.Entries(s.Head().Seq-1, 1, func(en store.Entry) error { rec = en.Record; return nil })
	must(err)
	must(s.Quarantine([]store.Incoming{{Record: rec, From: resource.ID{9}}}, "no"))
	must(s.Snapshot(t.Context()))
	must(errors.Join(s.Close(), peer.Close()))
	file, err = os.ReadFile(path)
	must(err)
	return dir, file
}

// rowOf returns a row in the middle of a bucket, as its key and value lie in
// the file.
func rowOf(t *testing.T, dir string, b store.Bucket) (key, value []byte) {
	t.Helper()
	e, err := bolt.OpenEngine(filepath.Join(dir, "driftless.db"), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.View(func(tx store.Tx) error {
		n, at := 0, 0
		tx.Ascend(b, nil, func(_, _ []byte) bool { n++; return true })
		tx.Ascend(b, nil, func(k, v []byte) bool {
			if key, value = bytes.Clone(k), bytes.Clone(v); b == store.BucketMeta && string(key) == "identity" {
				return true // only a backup gives that one back
			}
			at++
			return at <= n/2
		})
		return nil
	}); err != nil || key == nil {
		t.Fatalf("%s is empty, %v", b, err)
	}
	return key, value
}

// D5, P10: a bit that is flipped in the file, in a key or a value of any
// bucket, is named by fsck and repaired; the store comes to the same root.
func TestOffline_FsckRepairsBitsFlippedInTheFile(t *testing.T) {
	dir, sound := filled(t)
	want := rootOf(t, dir)
	remedies := map[string]int{}
	for b := range store.NumBuckets {
		key, value := rowOf(t, dir, b)
		row := append(bytes.Clone(key), value...)
		for what, at := range map[string]int{"key": len(key) / 2, "frame": len(key) + 6, "payload": len(row) - 1} {
			label := fmt.Sprintf("%s/%x %s", b, key, what)
			file, n := bytes.Clone(sound), 0
			for from := 0; ; n++ { // pages that are no longer in use hold it too
				i := bytes.Index(file[from:], row)
				if i < 0 {
					break
				}
				file[from+i+at] ^= 2
				from += i + 1
			}
			if n == 0 {
				t.Errorf("%s: not in the file", label)
				continue
			}
			damaged := filepath.Join(t.TempDir(), "d")
			if err := errors.Join(os.Mkdir(damaged, 0o700), os.WriteFile(filepath.Join(damaged, "driftless.db"), file, 0o600)); err != nil {
				t.Fatal(err)
			}
			repairs(t, label, damaged, want, remedies)
		}
	}
	t.Log(remedies)
}

func repairs(t *testing.T, label, dir, want string, remedies map[string]int) {
	t.Helper()
	local := driftless.Offline{}
	r, err := local.Fsck(t.Context(), dir, false)
	if err != nil || r.Verdict != fleet.FsckDamaged || len(r.Faults) == 0 {
		t.Errorf("%s: fsck says %+v, %v", label, r, err)
		return
	}
	r, err = local.Fsck(t.Context(), dir, true)
	if err != nil || r.Verdict != fleet.FsckRepaired {
		t.Errorf("%s: repair: %+v, %v", label, r, err)
		return
	}
	for _, f := range r.Faults {
		remedies[f.Remedy]++
	}
	if r, err := local.Fsck(t.Context(), dir, false); err != nil || r.Verdict != fleet.FsckClean {
		t.Errorf("%s: after the repair: %+v, %v", label, r, err)
	}
	if got := rootOf(t, dir); got != want {
		t.Errorf("%s: another root after the repair", label)
	}
}

func rootOf(t *testing.T, dir string) string {
	t.Helper()
	s, err := driftless.Offline{}.Save(t.Context(), dir, io.Discard)
	if err != nil {
		t.Error(err)
	}
	return s.SuperRoot
}

// D3: a file that lost pages is salvaged as far as its rows can be walked to,
// and kept.
func TestOffline_FsckSalvagesADamagedPage(t *testing.T) {
	dir, file := filled(t)
	key, value := rowOf(t, dir, store.BucketRecords)
	row := append(bytes.Clone(key), value...)
	page := os.Getpagesize()
	for from := 0; ; {
		i := bytes.Index(file[from:], row)
		if i < 0 {
			break
		}
		at := (from + i) / page * page
		copy(file[at:at+16], bytes.Repeat([]byte{0xff}, 16)) // its header
		from = at + page
	}
	damaged := filepath.Join(t.TempDir(), "d")
	if err := errors.Join(os.Mkdir(damaged, 0o700), os.WriteFile(filepath.Join(damaged, "driftless.db"), file, 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := driftless.Offline{}.Fsck(t.Context(), damaged, false)
	if err != nil || r.Verdict != fleet.FsckDamaged || r.Faults[0].Remedy != fleet.RemedySalvage {
		t.Fatalf("fsck: %+v, %v", r, err)
	}
	repairs(t, "page", damaged, rootOf(t, dir), map[string]int{})
	if kept, _ := filepath.Glob(filepath.Join(damaged, "driftless.db.damaged-*")); len(kept) != 1 {
		t.Errorf("kept are %v", kept)
	}
}

// A directory that a node has open is neither checked, saved nor replaced.
func TestOffline_RefusesADirectoryInUse(t *testing.T) {
	dir, _ := filled(t)
	var snap bytes.Buffer
	if _, err := (driftless.Offline{}).Save(t.Context(), dir, &snap); err != nil {
		t.Fatal(err)
	}
	e, err := bolt.OpenEngine(filepath.Join(dir, "driftless.db"), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	local := driftless.Offline{}
	_, save := local.Save(t.Context(), dir, io.Discard)
	_, check := local.Fsck(t.Context(), dir, true)
	_, _, restore := local.Restore(t.Context(), bytes.NewReader(snap.Bytes()), dir, driftless.RestoreOptions{Force: true})
	for name, err := range map[string]error{"save": save, "fsck": check, "restore": restore} {
		if !errors.Is(err, store.ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
