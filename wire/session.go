package wire

import (
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Limits of the messages of a reconciliation.
const (
	MaxPositions = 1 << 16
	MaxRealms    = 1 << 14
	MaxPrefixes  = 64
	MaxPlaces    = 1024
)

// Hello asks a member where it stands. From is who asks; Held is how far the
// member's own events are in the asker's state, under the incarnation that the
// asker knows: a member that was rolled back, or forked, learns it from that
// before any record flows.
type Hello struct {
	From resource.ID
	Name string
	Held Position
}

// AppendHello encodes a hello.
func (f *Fleet) AppendHello(b []byte, m *Hello) []byte {
	b = f.begin(b, 6)
	b = pack.AppendBin(b, m.From[:])
	b = pack.AppendText(b, m.Name)
	return appendPosition(b, &m.Held)
}

// ReadHello decodes a hello.
func (f *Fleet) ReadHello(data []byte) (m Hello, err error) {
	r, err := f.open(data, 6)
	if err != nil {
		return Hello{}, fmt.Errorf("decode hello: %w", err)
	}
	r.Fixed(m.From[:])
	m.Name = shortText(r.Reader)
	readPosition(r.Reader, &m.Held)
	return m, closed("hello", r)
}

// Realm is one realm's root.
type Realm struct {
	Name    string
	Root    merkle.Root
	Records uint64
}

// Standing answers a hello: one state of the member, whole.
type Standing struct {
	Heartbeat Heartbeat // as of now; its Changed is empty
	Seq       uint64    // of the member's log
	Vector    []Position
	Realms    []Realm
	Floor     []Mark
}

// Mark is an entry of a floor.
type Mark struct {
	Incarnation resource.ID
	HLC         hlc.Timestamp
}

// AppendStanding encodes a standing.
func (f *Fleet) AppendStanding(b []byte, m *Standing) []byte {
	b = f.begin(b, 5)
	b = pack.AppendBin(b, f.AppendHeartbeat(nil, &m.Heartbeat))
	b = pack.AppendUint(b, m.Seq)
	b = appendPositions(b, m.Vector)
	b = pack.AppendArray(b, len(m.Realms))
	for _, r := range m.Realms {
		b = pack.AppendArray(b, 3)
		b = pack.AppendText(b, r.Name)
		b = pack.AppendBin(b, r.Root[:])
		b = pack.AppendUint(b, r.Records)
	}
	return appendMarks(b, m.Floor)
}

// ReadStanding decodes a standing.
func (f *Fleet) ReadStanding(data []byte) (m Standing, err error) {
	r, err := f.open(data, 5)
	if err != nil {
		return Standing{}, fmt.Errorf("decode standing: %w", err)
	}
	hb := r.Bin()
	m.Seq = r.Uint()
	m.Vector = readPositions(r.Reader, MaxPositions)
	n := r.Array()
	if n > MaxRealms {
		r.Fail("%d realms", n)
	}
	for range n {
		if got := r.Array(); r.Err() == nil && got != 3 {
			r.Fail("realm of %d fields", got)
		}
		realm := Realm{Name: shortText(r.Reader)}
		r.Fixed(realm.Root[:])
		realm.Records = r.Uint()
		if r.Err() != nil {
			break
		}
		m.Realms = append(m.Realms, realm)
	}
	m.Floor = readMarks(r.Reader)
	if err := closed("standing", r); err != nil {
		return Standing{}, err
	}
	m.Heartbeat, err = f.ReadHeartbeat(hb)
	return m, err
}

func appendMarks(b []byte, marks []Mark) []byte {
	b = pack.AppendArray(b, 2*len(marks))
	for i := range marks {
		b = pack.AppendBin(b, marks[i].Incarnation[:])
		b = pack.AppendUint(b, uint64(marks[i].HLC))
	}
	return b
}

func readMarks(r *pack.Reader) (marks []Mark) {
	n := r.Array()
	if n%2 != 0 || n > 2*MaxPositions {
		r.Fail("floor of %d values", n)
	}
	for range n / 2 {
		var m Mark
		r.Fixed(m.Incarnation[:])
		m.HLC = hlc.Timestamp(r.Uint())
		if r.Err() != nil {
			return nil
		}
		marks = append(marks, m)
	}
	return marks
}

// NodesRequest asks for Merkle nodes of a pinned root.
type NodesRequest struct {
	Realm    string
	Root     merkle.Root
	Prefixes []merkle.Prefix
}

// AppendNodesRequest encodes a request.
func (f *Fleet) AppendNodesRequest(b []byte, m *NodesRequest) []byte {
	b = f.begin(b, 3)
	b = pack.AppendText(b, m.Realm)
	b = pack.AppendBin(b, m.Root[:])
	b = pack.AppendArray(b, 2*len(m.Prefixes))
	for _, p := range m.Prefixes {
		b = pack.AppendUint(b, p.Bits)
		b = pack.AppendUint(b, uint64(p.Depth))
	}
	return b
}

// ReadNodesRequest decodes a request; its prefixes are valid.
func (f *Fleet) ReadNodesRequest(data []byte) (m NodesRequest, err error) {
	r, err := f.open(data, 3)
	if err != nil {
		return NodesRequest{}, fmt.Errorf("decode nodes request: %w", err)
	}
	m.Realm = shortText(r.Reader)
	r.Fixed(m.Root[:])
	n := r.Array()
	if n%2 != 0 || n > 2*MaxPrefixes {
		r.Fail("%d prefix values", n)
	}
	for range n / 2 {
		p := merkle.Prefix{Bits: r.Uint()}
		depth := r.Uint()
		if p.Depth = uint8(min(depth, 255)); r.Err() != nil || !p.Valid() {
			r.Fail("prefix is not valid")
			break
		}
		m.Prefixes = append(m.Prefixes, p)
	}
	return m, closed("nodes request", r)
}

// Nodes answers a NodesRequest, one node per prefix; Moved tells that the root
// is not known any more, and no node is sent.
type Nodes struct {
	Moved bool
	Nodes []merkle.Node
}

// AppendNodes encodes nodes: a leaf as its rows, an inner node as its count
// and its children's digests. A node's own digest follows from the rest.
func (f *Fleet) AppendNodes(b []byte, m *Nodes) []byte {
	b = f.begin(b, 2)
	b = pack.AppendBool(b, m.Moved)
	b = pack.AppendArray(b, len(m.Nodes))
	for i := range m.Nodes {
		n := &m.Nodes[i]
		b = pack.AppendArray(b, 3)
		b = pack.AppendBool(b, n.Leaf)
		b = pack.AppendUint(b, uint64(n.Count))
		var packed []byte
		if n.Leaf {
			packed = make([]byte, 0, 24*len(n.Rows))
			for _, row := range n.Rows {
				packed = appendUint64(packed, uint64(row.Key))
				packed = append(packed, row.Value[:]...)
			}
		} else {
			packed = make([]byte, 0, 16*16)
			for _, c := range n.Children {
				packed = append(packed, c[:]...)
			}
		}
		if packed == nil {
			packed = []byte{}
		}
		b = pack.AppendBin(b, packed)
	}
	return b
}

// ReadNodes decodes nodes; the descent verifies them.
func (f *Fleet) ReadNodes(data []byte) (m Nodes, err error) {
	r, err := f.open(data, 2)
	if err != nil {
		return Nodes{}, fmt.Errorf("decode nodes: %w", err)
	}
	m.Moved = r.Bool()
	n := r.Array()
	if n > MaxPrefixes {
		r.Fail("%d nodes", n)
	}
	for range n {
		node := readNode(r.Reader)
		if r.Err() != nil {
			break
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m, closed("nodes", r)
}

func readNode(r *pack.Reader) (n merkle.Node) {
	if got := r.Array(); r.Err() == nil && got != 3 {
		r.Fail("node of %d fields", got)
	}
	n.Leaf = r.Bool()
	count := r.Uint()
	if count > 1<<40 {
		r.Fail("node of %d rows", count)
	}
	n.Count = int(count)
	packed := r.Bin()
	switch {
	case r.Err() != nil:
	case n.Leaf && len(packed)%24 == 0:
		n.Rows = make([]merkle.Row, len(packed)/24)
		for i := range n.Rows {
			row := packed[24*i:]
			n.Rows[i] = merkle.Row{Key: merkle.Key(readUint64(row)), Value: merkle.Digest(row[8:24])}
		}
	case !n.Leaf && len(packed) == 16*16:
		for i := range n.Children {
			n.Children[i] = merkle.Digest(packed[16*i : 16*i+16])
		}
	default:
		r.Fail("node body of %d bytes", len(packed))
	}
	return n
}
