package wire

import (
	"encoding/binary"
	"fmt"

	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

func appendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

func readUint64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// RecordsRequest pulls the records at placement keys of a realm. Offset, with
// a single key, goes on with a record that does not fit one message.
type RecordsRequest struct {
	Realm  string
	Places []merkle.Key
	Offset uint64
}

// AppendRecordsRequest encodes a request.
func (f *Fleet) AppendRecordsRequest(b []byte, m *RecordsRequest) []byte {
	b = f.begin(b, 3)
	b = pack.AppendText(b, m.Realm)
	packed := make([]byte, 0, 8*len(m.Places))
	for _, p := range m.Places {
		packed = appendUint64(packed, uint64(p))
	}
	b = pack.AppendBin(b, packed)
	return pack.AppendUint(b, m.Offset)
}

// ReadRecordsRequest decodes a request.
func (f *Fleet) ReadRecordsRequest(data []byte) (m RecordsRequest, err error) {
	r, err := f.open(data, 3)
	if err != nil {
		return RecordsRequest{}, fmt.Errorf("decode records request: %w", err)
	}
	m.Realm = shortText(r.Reader)
	packed := r.Bin()
	if len(packed)%8 != 0 || len(packed) > 8*MaxPlaces {
		r.Fail("places of %d bytes", len(packed))
	}
	m.Offset = r.Uint()
	if err := closed("records request", r); err != nil {
		return RecordsRequest{}, err
	}
	m.Places = make([]merkle.Key, len(packed)/8)
	for i := range m.Places {
		m.Places[i] = merkle.Key(readUint64(packed[8*i:]))
	}
	return m, nil
}

// Records answers a RecordsRequest. Done is how many of the places were
// answered: ask again for the rest. When Size is set, Frames holds one piece,
// from the request's offset, of a single frame of that size.
type Records struct {
	Done   uint64
	Size   uint64
	Frames [][]byte
}

// AppendRecords encodes records.
func (f *Fleet) AppendRecords(b []byte, m *Records) []byte {
	b = f.begin(b, 3)
	b = pack.AppendUint(b, m.Done)
	b = pack.AppendUint(b, m.Size)
	return appendFrames(b, m.Frames)
}

// ReadRecords decodes records; the frames are not decoded yet.
func (f *Fleet) ReadRecords(data []byte) (m Records, err error) {
	r, err := f.open(data, 3)
	if err != nil {
		return Records{}, fmt.Errorf("decode records: %w", err)
	}
	m.Done = r.Uint()
	m.Size = r.Uint()
	if m.Size > resource.MaxFrameSize {
		r.Fail("record of %d bytes", m.Size)
	}
	m.Frames = readFrames(r.Reader)
	return m, closed("records", r)
}

func appendFrames(b []byte, frames [][]byte) []byte {
	b = pack.AppendArray(b, len(frames))
	for _, fr := range frames {
		b = pack.AppendBin(b, fr)
	}
	return b
}

func readFrames(r *pack.Reader) [][]byte {
	n := r.Array()
	if n > 4*MaxPlaces {
		r.Fail("%d frames", n)
	}
	var frames [][]byte
	for range n {
		fr := r.Bin()
		if r.Err() != nil {
			return nil
		}
		frames = append(frames, fr)
	}
	return frames
}

// Push hands records to a member. Adopt, on the last push of a session that
// left nothing out, is the sender's vector: the receiver's state includes all
// that it covers then. FloorDigest is of the sender's floor: a receiver with
// another one takes no records, since what it has collected might be among
// them. Floor, when set, is one for the receiver to join.
type Push struct {
	From        resource.ID
	Frames      [][]byte
	Adopt       []Position
	FloorDigest [32]byte
	Floor       []Mark
	// Boot is of the process that the session began with: what Adopt covers was
	// told to it, and a later one may stand on an older copy.
	Boot uint64
}

// AppendPush encodes a push.
func (f *Fleet) AppendPush(b []byte, m *Push) []byte {
	b = f.begin(b, 6)
	b = pack.AppendBin(b, m.From[:])
	b = appendFrames(b, m.Frames)
	b = appendPositions(b, m.Adopt)
	b = pack.AppendBin(b, m.FloorDigest[:])
	b = appendMarks(b, m.Floor)
	return pack.AppendUint(b, m.Boot)
}

// ReadPush decodes a push; the frames are not decoded yet.
func (f *Fleet) ReadPush(data []byte) (m Push, err error) {
	r, err := f.open(data, 6)
	if err != nil {
		return Push{}, fmt.Errorf("decode push: %w", err)
	}
	r.Fixed(m.From[:])
	m.Frames = readFrames(r.Reader)
	m.Adopt = readPositions(r.Reader, MaxPositions)
	r.Fixed(m.FloorDigest[:])
	m.Floor = readMarks(r.Reader)
	m.Boot = r.Uint()
	return m, closed("push", r)
}

// Pushed answers a push: how many records were taken, and how many refused.
type Pushed struct{ Taken, Refused uint64 }

// AppendPushed encodes an answer.
func (f *Fleet) AppendPushed(b []byte, m *Pushed) []byte {
	b = f.begin(b, 2)
	return pack.AppendUint(pack.AppendUint(b, m.Taken), m.Refused)
}

// ReadPushed decodes an answer.
func (f *Fleet) ReadPushed(data []byte) (m Pushed, err error) {
	r, err := f.open(data, 2)
	if err != nil {
		return Pushed{}, fmt.Errorf("decode pushed: %w", err)
	}
	m.Taken, m.Refused = r.Uint(), r.Uint()
	return m, closed("pushed", r)
}

// Ack tells an origin how far its events are in the sender's state.
type Ack struct {
	From     resource.ID
	Position Position
}

// AppendAck encodes an ack.
func (f *Fleet) AppendAck(b []byte, m *Ack) []byte {
	b = f.begin(b, 5)
	b = pack.AppendBin(b, m.From[:])
	return appendPosition(b, &m.Position)
}

// ReadAck decodes an ack.
func (f *Fleet) ReadAck(data []byte) (m Ack, err error) {
	r, err := f.open(data, 5)
	if err != nil {
		return Ack{}, fmt.Errorf("decode ack: %w", err)
	}
	r.Fixed(m.From[:])
	readPosition(r.Reader, &m.Position)
	return m, closed("ack", r)
}
