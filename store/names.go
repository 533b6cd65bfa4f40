package store

import (
	"bytes"
	"cmp"
	"fmt"

	"driftless.dev/hlc"
	"driftless.dev/pack"
	"driftless.dev/resource"
)

// nameRow is what the names index knows of a record: enough to tell which of
// several records of one address is its holder without reading any.
type nameRow struct {
	id       resource.ID
	live     bool
	human    bool
	creation resource.Point
}

func rowOf(r *resource.Record) nameRow {
	return nameRow{id: r.ID, live: !r.Deleted(), human: r.Creation.Actor == resource.Human, creation: r.Creation.Point()}
}

func (n nameRow) appendTo(b []byte) []byte {
	b = pack.AppendArray(b, 5)
	b = pack.AppendUint(b, 1)
	b = pack.AppendBool(b, n.live)
	b = pack.AppendBool(b, n.human)
	b = pack.AppendUint(b, uint64(n.creation.HLC))
	return pack.AppendBin(b, n.creation.Writer[:])
}

// readNameRow reads a row; one that does not read hides a record, so it is
// damage to whoever meets it.
func readNameRow(key, value []byte) (n nameRow, err error) {
	payload, err := unseal(BucketNames, key, value)
	if err != nil {
		return nameRow{}, err
	}
	r := pack.NewReader(payload)
	if f, v := r.Array(), r.Uint(); r.Err() == nil && (f != 5 || v != 1) {
		r.Fail("names row of %d fields, version %d", f, v)
	}
	n.live, n.human = r.Bool(), r.Bool()
	n.creation.HLC = hlc.Timestamp(r.Uint())
	r.Fixed(n.creation.Writer[:])
	_, _, _, id, ok := splitNameKey(key)
	if !ok {
		r.Fail("no name's key")
	}
	n.id = id
	if err := r.Close(); err != nil {
		return nameRow{}, fmt.Errorf("%w: %s/%x: %w", ErrDamaged, BucketNames, key, err)
	}
	return n, nil
}

// before is the order in which records of one address hold its name, the same
// on every node: live before dead, created by a person first, then the
// earliest creation, then the lowest id.
func (n nameRow) before(o nameRow) int {
	return cmp.Or(
		compareBool(o.live, n.live),
		compareBool(o.human, n.human),
		n.creation.Compare(o.creation),
		bytes.Compare(n.id[:], o.id[:]),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// index keeps the names row in step with a post-image.
func (t *txn) index(prev *stored, rec *resource.Record) {
	row := rowOf(rec)
	if prev == nil || rowOf(&prev.rec) != row {
		t.put(BucketNames, nameKey(rec), row.appendTo(nil))
	}
}

// holder returns the row of the record that an address means: the live holder
// of the name, else the tombstone that a put would bring back.
func holder(tx Tx, kind resource.GroupKind, scope resource.Scope, name string) (best nameRow, ok bool, err error) {
	rows, err := rowsOf(tx, namePrefix(kind, scope, name))
	for _, n := range rows {
		if !ok || n.before(best) < 0 {
			best, ok = n, true
		}
	}
	return best, ok, err
}

func rowsOf(tx Tx, prefix []byte) (rows []nameRow, err error) {
	tx.Ascend(BucketNames, prefix, func(key, value []byte) bool {
		if !bytes.HasPrefix(key, prefix) {
			return false
		}
		var n nameRow
		if n, err = readNameRow(key, value); err != nil {
			return false
		}
		rows = append(rows, n)
		return true
	})
	return rows, err
}

// anyLive reports whether a live record lies under a prefix.
func anyLive(tx Tx, prefix []byte) (found bool, err error) {
	tx.Ascend(BucketNames, prefix, func(key, value []byte) bool {
		if !bytes.HasPrefix(key, prefix) {
			return false
		}
		var n nameRow
		n, err = readNameRow(key, value)
		found = err == nil && n.live
		return err == nil && !found
	})
	return found, err
}

// NameConflict is an address that several live records claim.
type NameConflict struct {
	Kind   string
	Scope  resource.Scope
	Name   string
	Holder resource.Resource
	Others []resource.Resource
}

// Conflicts lists the addresses with several live records, in key order: both
// versions are kept, the holder is the same on every node, and the others are
// reached by id.
func (s *Store) Conflicts() (out []NameConflict, err error) {
	err = s.engine.View(func(tx Tx) error {
		groups, err := contested(tx)
		if err != nil {
			return err
		}
		for _, rows := range groups {
			c := NameConflict{}
			for i, n := range rows {
				st, err := lookup(s, tx, n.id)
				if err != nil {
					return err
				}
				if st == nil {
					continue
				}
				r := st.rec.Resource()
				if i == 0 {
					c.Kind, c.Scope, c.Name, c.Holder = r.GroupKind().String(), r.Scope, r.Name, r
				} else {
					c.Others = append(c.Others, r)
				}
			}
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// contested groups the live rows of addresses that have several, holders
// first.
func contested(tx Tx) (groups [][]nameRow, err error) {
	var prefix []byte
	var group []nameRow
	flush := func() {
		if len(group) > 1 {
			best := 0
			for i := range group {
				if group[i].before(group[best]) < 0 {
					best = i
				}
			}
			group[0], group[best] = group[best], group[0]
			groups = append(groups, group)
		}
		group = nil
	}
	tx.Ascend(BucketNames, nil, func(key, value []byte) bool {
		var n nameRow
		if n, err = readNameRow(key, value); err != nil || !n.live {
			return err == nil
		}
		if p := key[:len(key)-16]; !bytes.Equal(p, prefix) {
			flush()
			prefix = bytes.Clone(p)
		}
		group = append(group, n)
		return true
	})
	flush()
	return groups, err
}
