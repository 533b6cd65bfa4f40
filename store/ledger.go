package store

import (
	"fmt"
	"strings"

	"driftless.dev/hlc"
	"driftless.dev/mutant"
	"driftless.dev/pack"
	"driftless.dev/resolve"
	"driftless.dev/resource"
)

// Loss is a version of a record that lost a conflict: kept, so that nothing is
// lost silently.
type Loss struct {
	// Register is the part that lost, Stamp its stamp, Winner what stands
	// instead, Reason which part of the order decided.
	Register string
	Stamp    resource.Stamp
	Winner   resource.Point
	Reason   resolve.Reason
	// From is the instance whose version met this node's.
	From resource.ID
	// At is this node's clock when the loss was found.
	At hlc.Timestamp
	// Record is the version that held the register.
	Record resource.Record
}

// Actor names who wrote what lost; empty for a finalizer, whose entry says only
// where and when it was written.
func (l *Loss) Actor() string {
	if strings.HasPrefix(l.Register, resolve.FinalizerRegister("")) {
		return ""
	}
	return l.Stamp.Actor.String()
}

// recordLoss enters a loser in the ledger, once.
func (t *txn) recordLoss(l resolve.Loser, from resource.ID) bool {
	key := ledgerKey(l.Record.ID, l.Register, l.Stamp.Point())
	if t.tx.Get(BucketLedger, key) != nil {
		return false
	}
	b := pack.AppendUint(pack.AppendArray(nil, 8), 1)
	b = pack.AppendText(b, string(l.Reason))
	b = pack.AppendUint(b, uint64(l.Winner.HLC))
	b = pack.AppendBin(b, l.Winner.Writer[:])
	b = pack.AppendBin(b, from[:])
	b = pack.AppendUint(b, uint64(t.s.clock.Last()))
	b = pack.AppendText(b, l.Register)
	t.put(BucketLedger, key, l.Record.AppendTo(b))
	return true
}

// Ledger lists the versions that lost a conflict, by record, register and
// stamp, up to limit.
func (s *Store) Ledger(limit int) (out []Loss, err error) {
	err = s.engine.View(func(tx Tx) (err error) {
		tx.Ascend(BucketLedger, nil, func(key, value []byte) bool {
			var l Loss
			if l, err = readLoss(key, append([]byte(nil), value...)); err != nil {
				return false
			}
			out = append(out, l)
			return len(out) < limit
		})
		return err
	})
	return out, err
}

func readLoss(key, value []byte) (l Loss, err error) {
	payload, err := unseal(BucketLedger, key, value)
	if err != nil {
		return Loss{}, err
	}
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 8 || v != 1) {
		r.Fail("ledger row of %d fields, version %d", n, v)
	}
	l.Reason = resolve.Reason(r.Text())
	l.Winner.HLC = hlc.Timestamp(r.Uint())
	r.Fixed(l.Winner.Writer[:])
	r.Fixed(l.From[:])
	l.At = hlc.Timestamp(r.Uint())
	l.Register = r.Text()
	raw := r.Raw()
	if err := r.Close(); err != nil {
		return Loss{}, fmt.Errorf("%w: ledger/%x: %w", ErrDamaged, key, err)
	}
	if l.Record, err = resource.DecodeRecord(raw); err != nil {
		return Loss{}, fmt.Errorf("%w: ledger/%x: %w", ErrDamaged, key, err)
	}
	l.Stamp = lostStamp(&l)
	return l, nil
}

func lostStamp(l *Loss) resource.Stamp {
	switch {
	case l.Register == "deletion" && l.Record.Deletion != nil:
		return l.Record.Deletion.Stamp
	case l.Register == "observed" && l.Record.Observed != nil:
		return l.Record.Observed.Stamp
	}
	for _, f := range l.Record.Finalizers {
		if l.Register == resolve.FinalizerRegister(f.Key) {
			return resource.Stamp{HLC: f.At.HLC, Writer: f.At.Writer}
		}
	}
	return l.Record.Desired.Stamp
}

// Quarantined is a record that was refused: kept with its source and the
// reason, never served, merged or forwarded.
type Quarantined struct {
	From   resource.ID
	Reason string
	At     hlc.Timestamp
	// Frame is the record's own frame.
	Frame []byte
}

// maxQuarantine bounds the rows of one source.
const maxQuarantine = 1024

// quarantine keeps a record that cannot be merged.
func (t *txn) quarantine(in *Incoming, reason string) {
	if mutant.ClockBeforeCheck {
		t.s.clock.Observe(in.Record.Newest().HLC)
	}
	digest := in.Record.Digest()
	key := append(append([]byte(nil), in.From[:]...), digest[:]...)
	if t.tx.Get(BucketQuarantine, key) != nil {
		return
	}
	held := 0
	t.tx.Ascend(BucketQuarantine, in.From[:], func(k, _ []byte) bool {
		held++
		return held < maxQuarantine && len(k) > 16 && resource.ID(k[:16]) == in.From
	})
	if held >= maxQuarantine {
		return
	}
	b := pack.AppendUint(pack.AppendArray(nil, 5), 1)
	b = pack.AppendBin(b, in.From[:])
	b = pack.AppendText(b, reason)
	b = pack.AppendUint(b, uint64(t.s.clock.Last()))
	t.put(BucketQuarantine, key, pack.AppendBin(b, in.Record.AppendTo(nil)))
}

// Quarantine keeps records that the caller refuses, with the reason.
func (s *Store) Quarantine(records []Incoming, reason string) error {
	return s.commits.do(func(t *txn) error {
		for i := range records {
			t.quarantine(&records[i], reason)
		}
		return t.broken
	})
}

// QuarantineList lists what is in quarantine, up to limit.
func (s *Store) QuarantineList(limit int) (out []Quarantined, err error) {
	err = s.engine.View(func(tx Tx) (err error) {
		tx.Ascend(BucketQuarantine, nil, func(key, value []byte) bool {
			var q Quarantined
			if q, err = readQuarantined(key, value); err != nil {
				return false
			}
			q.Frame = append([]byte(nil), q.Frame...)
			out = append(out, q)
			return len(out) < limit
		})
		return err
	})
	return out, err
}

// readQuarantined decodes a row; the frame aliases value.
func readQuarantined(key, value []byte) (q Quarantined, err error) {
	payload, err := unseal(BucketQuarantine, key, value)
	if err != nil {
		return Quarantined{}, err
	}
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 5 || v != 1) {
		r.Fail("quarantine row of %d fields, version %d", n, v)
	}
	r.Fixed(q.From[:])
	q.Reason = r.Text()
	q.At = hlc.Timestamp(r.Uint())
	q.Frame = r.Bin()
	if err := r.Close(); err != nil {
		return Quarantined{}, fmt.Errorf("%w: quarantine/%x: %w", ErrDamaged, key, err)
	}
	return q, nil
}
