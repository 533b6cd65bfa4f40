package wire

import (
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// MaxChanged bounds the vector entries in a heartbeat, so that its size does
// not grow with the fleet.
const MaxChanged = 64

// Heartbeat says where a member stands.
type Heartbeat struct {
	Instance, Incarnation resource.ID
	Name                  string
	Software              string
	// Boot is drawn at every start, and Started is the clock then: they tell a
	// restart, and a clone.
	Boot    uint64
	Started hlc.Timestamp
	// WallMillis is the member's wall clock, in Unix milliseconds.
	WallMillis uint64
	HLC        hlc.Timestamp
	Ready      bool
	// Own is the position of the member's own events.
	Own Position
	// Super is the root over all its realms, VectorDigest the hash of its whole
	// vector.
	Super        [32]byte
	VectorDigest [32]byte
	// FloorDigest is the hash of the member's floor: peers join floors before
	// they compare roots.
	FloorDigest [32]byte
	// Changed are vector entries that moved since the last heartbeat.
	Changed []Position
}

// AppendHeartbeat encodes a heartbeat.
func (f *Fleet) AppendHeartbeat(b []byte, m *Heartbeat) []byte {
	b = f.begin(b, 17)
	b = pack.AppendBin(b, m.Instance[:])
	b = pack.AppendBin(b, m.Incarnation[:])
	b = pack.AppendText(b, m.Name)
	b = pack.AppendText(b, m.Software)
	b = pack.AppendUint(b, m.Boot)
	b = pack.AppendUint(b, m.WallMillis)
	b = pack.AppendUint(b, uint64(m.HLC))
	b = pack.AppendBool(b, m.Ready)
	b = appendPosition(b, &m.Own)
	b = pack.AppendBin(b, m.Super[:])
	b = pack.AppendBin(b, m.VectorDigest[:])
	b = appendPositions(b, m.Changed)
	b = pack.AppendUint(b, uint64(m.Started))
	return pack.AppendBin(b, m.FloorDigest[:])
}

// ReadHeartbeat decodes a heartbeat.
func (f *Fleet) ReadHeartbeat(data []byte) (m Heartbeat, err error) {
	r, err := f.open(data, 17)
	if err != nil {
		return Heartbeat{}, fmt.Errorf("decode heartbeat: %w", err)
	}
	r.Fixed(m.Instance[:])
	r.Fixed(m.Incarnation[:])
	m.Name = shortText(r.Reader)
	m.Software = shortText(r.Reader)
	m.Boot = r.Uint()
	m.WallMillis = r.Uint()
	m.HLC = hlc.Timestamp(r.Uint())
	m.Ready = r.Bool()
	readPosition(r.Reader, &m.Own)
	r.Fixed(m.Super[:])
	r.Fixed(m.VectorDigest[:])
	m.Changed = readPositions(r.Reader, MaxChanged)
	m.Started = hlc.Timestamp(r.Uint())
	r.Fixed(m.FloorDigest[:])
	return m, closed("heartbeat", r)
}

// shortText reads a text that people see, bounded as names are.
func shortText(r *pack.Reader) string {
	s := r.Text()
	if len(s) > 253 {
		r.Fail("text of %d bytes", len(s))
	}
	return s
}
