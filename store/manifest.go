package store

import (
	"driftless.dev/hlc"
	"driftless.dev/merkle"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// Manifest says what a snapshot file holds.
type Manifest struct {
	// Format is the file format's version.
	Format   uint64
	Fleet    Fleet
	Identity Identity // of the store that was saved
	// Created is that store's clock when the save began.
	Created hlc.Timestamp
	// Head is the end of the log that the records are of, Vector what they
	// cover, the own position included, and Floor below what collected
	// tombstones are gone.
	Head   Head
	Vector Vector
	Floor  Floor
	// Realms and Super are what the records hash to.
	Realms []ManifestRealm
	Super  merkle.Root
	// Records counts tombstones too.
	Records, Ledger, Quarantined uint64
	// Chunks is how many chunks the file has before the manifest.
	Chunks uint64
	// Sum is the SHA-256 of all before the manifest.
	Sum [32]byte
}

// ManifestRealm is one realm of a snapshot.
type ManifestRealm struct {
	Realm   string
	Root    merkle.Root
	Records uint64
}

// appendBegin is the payload of the chunk that begins a file.
func (m *Manifest) appendBegin(b []byte) []byte {
	b = pack.AppendUint(pack.AppendArray(b, 7), archiveVersion)
	b = pack.AppendBin(b, m.Fleet.ID[:])
	b = pack.AppendText(b, m.Fleet.Name)
	for _, id := range [...]resource.ID{m.Identity.Instance, m.Identity.Incarnation, m.Identity.LogID} {
		b = pack.AppendBin(b, id[:])
	}
	return pack.AppendUint(b, uint64(m.Created))
}

func readBegin(payload []byte) (m Manifest, err error) {
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 7 || v != archiveVersion) {
		r.Fail("beginning of %d fields, version %d", n, v)
	}
	m.Format = archiveVersion
	r.Fixed(m.Fleet.ID[:])
	m.Fleet.Name = r.Text()
	for _, id := range [...]*resource.ID{&m.Identity.Instance, &m.Identity.Incarnation, &m.Identity.LogID} {
		r.Fixed(id[:])
	}
	m.Created = hlc.Timestamp(r.Uint())
	return m, r.Close()
}

// appendEnd is the payload of the chunk that ends a file.
func (m *Manifest) appendEnd(b []byte) []byte {
	b = pack.AppendUint(pack.AppendArray(b, 14), archiveVersion)
	b = pack.AppendUint(b, m.Head.Seq)
	b = pack.AppendUint(b, uint64(m.Head.HLC))
	b = appendPosition(b, m.Head.Own)
	b = m.Vector.AppendTo(b)
	b = pack.AppendArray(b, 2*len(m.Floor))
	for _, inc := range m.Floor.Incarnations() {
		b = pack.AppendUint(pack.AppendBin(b, inc[:]), uint64(m.Floor[inc]))
	}
	b = pack.AppendArray(b, 3*len(m.Realms))
	for _, r := range m.Realms {
		b = pack.AppendUint(pack.AppendBin(pack.AppendText(b, r.Realm), r.Root[:]), r.Records)
	}
	b = pack.AppendBin(b, m.Super[:])
	for _, n := range [...]uint64{m.Records, m.Ledger, m.Quarantined, m.Chunks} {
		b = pack.AppendUint(b, n)
	}
	return pack.AppendBin(b, m.Sum[:])
}

func (m *Manifest) readEnd(payload []byte) error {
	r := pack.NewReader(payload)
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 14 || v != archiveVersion) {
		r.Fail("manifest of %d fields, version %d", n, v)
	}
	m.Head.Seq = r.Uint()
	m.Head.HLC = hlc.Timestamp(r.Uint())
	m.Head.Own = readPosition(r)
	if m.Head.HLC > resource.MaxHLC {
		r.Fail("stamp %s is beyond all clocks", m.Head.HLC)
	}
	m.Vector = readVector(r)
	m.Floor = readFloor(r)
	n := r.Array()
	if n%3 != 0 || n/3 > maxRealms {
		r.Fail("realms of %d fields", n)
		n = 0
	}
	for range n / 3 {
		realm := ManifestRealm{Realm: r.Text()}
		r.Fixed(realm.Root[:])
		realm.Records = r.Uint()
		m.Realms = append(m.Realms, realm)
	}
	r.Fixed(m.Super[:])
	for _, n := range [...]*uint64{&m.Records, &m.Ledger, &m.Quarantined, &m.Chunks} {
		*n = r.Uint()
	}
	r.Fixed(m.Sum[:])
	return r.Close()
}

// readFloor reads pairs of an incarnation and a stamp.
func readFloor(r *pack.Reader) Floor {
	n := r.Array()
	if n%2 != 0 || n > 4*maxIncarnations {
		r.Fail("floor of %d fields", n)
		return nil
	}
	f := make(Floor, n/2)
	for range n / 2 {
		var inc resource.ID
		r.Fixed(inc[:])
		f[inc] = hlc.Timestamp(r.Uint())
	}
	return f
}

// readVector reads what Vector.AppendTo wrote.
func readVector(r *pack.Reader) Vector {
	n := r.Array()
	if n > 2*maxIncarnations {
		r.Fail("vector of %d entries", n)
		return nil
	}
	v := make(Vector, n)
	for range n {
		if fields := r.Array(); r.Err() == nil && fields != 4 {
			r.Fail("position of %d fields", fields)
		}
		var inc resource.ID
		r.Fixed(inc[:])
		p := readPosition(r)
		if r.Err() != nil {
			return nil
		}
		v[inc] = p
	}
	return v
}
