package store

import (
	"encoding/hex"
	"errors"
	"fmt"

	"driftless.dev/pack"
)

// ErrFleet is returned for a store, or a snapshot, that belongs to another
// fleet: another name, or another secret.
var ErrFleet = errors.New("of another fleet")

// Fleet is the fleet that a store belongs to. Its secret decides where records
// lie, so a store that is opened under another one would find nothing.
type Fleet struct {
	ID   [16]byte
	Name string
}

// String names the fleet for people: the name alone does not tell two secrets
// apart.
func (f Fleet) String() string { return fmt.Sprintf("%q (%s)", f.Name, hex.EncodeToString(f.ID[:])) }

// metaFleet names the row that says which fleet the store belongs to.
const metaFleet = "fleet"

// loadFleet holds the store to the fleet that it was first opened for. Without
// one in the configuration nothing is checked.
func (s *Store) loadFleet() error {
	var had Fleet
	err := s.engine.View(func(tx Tx) (err error) {
		had, err = readFleet(tx)
		return err
	})
	switch {
	case err != nil || s.cfg.Fleet == Fleet{} || had == s.cfg.Fleet:
		return err
	case had.ID == [16]byte{}:
		key := []byte(metaFleet)
		return s.engine.Update(func(tx WriteTx) error {
			return tx.Put(BucketMeta, key, seal(BucketMeta, key, s.cfg.Fleet.appendTo(nil)))
		})
	}
	return fmt.Errorf("%w: the store belongs to fleet %s, asked for was %s: check the fleet's name and its secret file", ErrFleet, had, s.cfg.Fleet)
}

// FleetOf reads which fleet the store in an engine belongs to, the zero value
// when it does not say.
func FleetOf(engine Engine) (f Fleet, err error) {
	err = engine.View(func(tx Tx) (err error) {
		f, err = readFleet(tx)
		return err
	})
	return f, err
}

// readFleet reads which fleet a store belongs to, the zero value when nothing
// was said.
func readFleet(tx Tx) (f Fleet, err error) {
	r, err := getMeta(tx, metaFleet)
	if r == nil || err != nil {
		return Fleet{}, err
	}
	if n, v := r.Array(), r.Uint(); r.Err() == nil && (n != 3 || v != 1) {
		r.Fail("fleet of version %d", v)
	}
	r.Fixed(f.ID[:])
	f.Name = r.Text()
	return f, damagedMeta(metaFleet, r.Close())
}

func (f Fleet) appendTo(b []byte) []byte {
	b = pack.AppendUint(pack.AppendArray(b, 3), 1)
	return pack.AppendText(pack.AppendBin(b, f.ID[:]), f.Name)
}
