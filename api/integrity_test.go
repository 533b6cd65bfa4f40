package api_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"driftless.dev/api"
	"driftless.dev/fleet"
	"driftless.dev/store"
)

// What is streamed is a snapshot, and one at a time.
func TestSnapshot_Streams(t *testing.T) {
	e := newEnv(t)
	e.ok(201, "PUT", skills+"/a", `{"spec":{}}`)
	a := e.ok(200, "POST", "/v1/snapshot", "")
	if got := a.Header().Get("Content-Type"); got != "application/octet-stream" {
		t.Error(got)
	}
	m, err := store.VerifyArchive(t.Context(), bytes.NewReader(a.Body.Bytes()), store.Config{Secret: [32]byte{1}})
	if err != nil || m.Super != e.node.store.State().Super {
		t.Errorf("verify: %+v, %v", m, err)
	}
	v := api.SnapshotView(&m)
	if v.SuperRoot != m.Super.String() || v.Records != m.Records || len(v.Realms) != 1 {
		t.Errorf("told is %+v", v)
	}
	e.refused(400, "invalid", "takes no body", "POST", "/v1/snapshot", "x")
}

// fsck names damage and repairs it; a damaged store is not saved.
func TestFsck_NamesAndRepairs(t *testing.T) {
	e := newEnv(t)
	e.ok(201, "PUT", skills+"/a", `{"spec":{}}`)
	var r fleet.Fsck
	unmarshal(t, e.ok(200, "POST", "/v1/fsck", "").Body.Bytes(), &r)
	if r.Verdict != fleet.FsckClean || r.Rows == 0 || r.Faults == nil {
		t.Errorf("clean: %+v", r)
	}
	if err := e.node.engine.Update(func(tx store.WriteTx) error {
		key, value := tx.Last(store.BucketRecords)
		value = bytes.Clone(value)
		value[len(value)-1] ^= 1
		return tx.Put(store.BucketRecords, bytes.Clone(key), value)
	}); err != nil {
		t.Fatal(err)
	}
	unmarshal(t, e.ok(200, "POST", "/v1/fsck", "").Body.Bytes(), &r)
	if r.Verdict != fleet.FsckDamaged || len(r.Faults) != 1 || r.Faults[0].Bucket != "records" || r.Faults[0].Record == "" || r.Faults[0].Repaired {
		t.Errorf("damaged: %+v", r)
	}
	e.refused(500, "damaged", "records/", "POST", "/v1/snapshot", "")
	unmarshal(t, e.ok(200, "POST", "/v1/fsck?repair=true", "").Body.Bytes(), &r)
	if r.Verdict != fleet.FsckRepaired || !r.Faults[0].Repaired || r.Faults[0].Remedy != "log" {
		t.Errorf("repaired: %+v", r)
	}
	e.ok(200, "POST", "/v1/snapshot", "")
	e.refused(400, "invalid", "repair is true or false", "POST", "/v1/fsck?repair=yes", "")
}

func TestRepair_FromAMember(t *testing.T) {
	e := newEnv(t)
	e.refused(404, "not_found", "no members", "POST", "/v1/node/repair?from=b", "")
	e = newEnv(t, func(cfg *api.Config) {
		cfg.Repair = func(_ context.Context, member string) (fleet.Repair, error) {
			if member != "b" {
				return fleet.Repair{}, store.ErrCompacted
			}
			return fleet.Repair{From: member, PutBack: 3, Fsck: fleet.Fsck{Verdict: fleet.FsckClean, Faults: []fleet.Fault{}}}, nil
		}
	})
	var r fleet.Repair
	unmarshal(t, e.ok(200, "POST", "/v1/node/repair?from=b", "").Body.Bytes(), &r)
	if r.PutBack != 3 || r.From != "b" {
		t.Errorf("%+v", r)
	}
	e.refused(400, "invalid", "from names the member", "POST", "/v1/node/repair", "")
	// A position that was trimmed is gone, and says so.
	e.refused(410, "expired", "trimmed", "POST", "/v1/node/repair?from=c", "")
}

// A stream that breaks off is no whole answer.
func TestSnapshot_BreaksOff(t *testing.T) {
	e := newEnv(t)
	e.ok(201, "PUT", skills+"/a", `{"spec":{"text":"`+strings.Repeat("x", 300_000)+`"}}`)
	err := e.node.store.Close()
	if err != nil {
		t.Fatal(err)
	}
	a := e.do("POST", "/v1/snapshot", "")
	if a.Code == 200 {
		t.Errorf("a store that is closed was saved: %d bytes", a.Body.Len())
	}
	if _, err := store.Inspect(bytes.NewReader(a.Body.Bytes()), nil); !errors.Is(err, store.ErrArchive) {
		t.Errorf("inspect: %v", err)
	}
}
