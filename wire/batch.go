package wire

import (
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Limits of a batch.
const (
	MaxBatchRecords = 256
	MaxFrame        = 256 << 10
)

// Batch is a stream message: consecutive own events of one incarnation in one
// realm. Missing tells that an event was too large to travel this way: its
// readers reconcile with the origin.
type Batch struct {
	Instance    resource.ID
	Incarnation resource.ID
	Realm       string
	Missing     bool
	Events      []resource.Event
}

// AppendBatch encodes a batch.
func (f *Fleet) AppendBatch(b []byte, m *Batch) []byte {
	b = f.begin(b, 5)
	b = pack.AppendBin(b, m.Instance[:])
	b = pack.AppendBin(b, m.Incarnation[:])
	b = pack.AppendText(b, m.Realm)
	b = pack.AppendBool(b, m.Missing)
	b = pack.AppendArray(b, len(m.Events))
	for i := range m.Events {
		b = m.Events[i].AppendTo(b)
	}
	return b
}

// ReadBatch decodes and validates a batch: every event is well formed, of the
// batch's incarnation and realm, and later than the one before.
func (f *Fleet) ReadBatch(data []byte) (m Batch, err error) {
	r, err := f.open(data, 5)
	if err != nil {
		return Batch{}, fmt.Errorf("decode batch: %w", err)
	}
	r.Fixed(m.Instance[:])
	r.Fixed(m.Incarnation[:])
	m.Realm = r.Text()
	m.Missing = r.Bool()
	n := r.Array()
	if n > MaxBatchRecords {
		r.Fail("%d events", n)
	}
	for range n {
		ev := resource.ReadEvent(r.Reader)
		if r.Err() != nil {
			break
		}
		if err := m.admit(&ev); err != nil {
			return Batch{}, fmt.Errorf("decode batch: %w", err)
		}
		m.Events = append(m.Events, ev)
	}
	return m, closed("batch", r)
}

func (m *Batch) admit(ev *resource.Event) error {
	if ev.Incarnation != m.Incarnation || ev.Record.Realm() != m.Realm {
		return fmt.Errorf("%w: event %s/%d does not belong to its batch", resource.ErrInvalid, ev.Incarnation, ev.Seq)
	}
	if n := len(m.Events); n > 0 && m.Events[n-1].Seq >= ev.Seq {
		return fmt.Errorf("%w: event %s/%d is out of order", resource.ErrInvalid, ev.Incarnation, ev.Seq)
	}
	return ev.Validate()
}

// Position mirrors a vector's entry on the wire.
type Position struct {
	Incarnation resource.ID
	Seq         uint64
	HLC         hlc.Timestamp
	Hash        [32]byte
}

func appendPositions(b []byte, ps []Position) []byte {
	b = pack.AppendArray(b, len(ps))
	for i := range ps {
		b = pack.AppendArray(b, 4)
		b = appendPosition(b, &ps[i])
	}
	return b
}

func appendPosition(b []byte, p *Position) []byte {
	b = pack.AppendBin(b, p.Incarnation[:])
	b = pack.AppendUint(b, p.Seq)
	b = pack.AppendUint(b, uint64(p.HLC))
	return pack.AppendBin(b, p.Hash[:])
}

func readPositions(r *pack.Reader, most int) []Position {
	n := r.Array()
	if n > most {
		r.Fail("%d positions", n)
	}
	if n == 0 || r.Err() != nil {
		return nil
	}
	// A count says how many bytes there are, and a position takes many: what is
	// beyond a heartbeat's is made room for as it comes.
	ps := make([]Position, 0, min(n, MaxChanged))
	for range n {
		if got := r.Array(); r.Err() == nil && got != 4 {
			r.Fail("position of %d fields", got)
		}
		var p Position
		if readPosition(r, &p); r.Err() != nil {
			return nil
		}
		ps = append(ps, p)
	}
	return ps
}

func readPosition(r *pack.Reader, p *Position) {
	r.Fixed(p.Incarnation[:])
	p.Seq = r.Uint()
	p.HLC = hlc.Timestamp(r.Uint())
	r.Fixed(p.Hash[:])
}
