package store

import (
	"bytes"
	"cmp"

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

func readNameRow(key, value []byte) (n nameRow, ok bool) {
	payload, err := unseal(BucketNames, key, value)
	if err != nil || len(key) < 16 {
		return nameRow{}, false
	}
	copy(n.id[:], key[len(key)-16:])
	r := pack.NewReader(payload)
	if r.Array() != 5 || r.Uint() != 1 {
		return nameRow{}, false
	}
	n.live, n.human = r.Bool(), r.Bool()
	n.creation.HLC = hlc.Timestamp(r.Uint())
	r.Fixed(n.creation.Writer[:])
	return n, r.Close() == nil
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
func holder(tx Tx, kind resource.GroupKind, scope resource.Scope, name string) (best nameRow, ok bool) {
	for _, n := range rowsOf(tx, namePrefix(kind, scope, name)) {
		if !ok || n.before(best) < 0 {
			best, ok = n, true
		}
	}
	return best, ok
}

func rowsOf(tx Tx, prefix []byte) (rows []nameRow) {
	tx.Ascend(BucketNames, prefix, func(key, value []byte) bool {
		if !bytes.HasPrefix(key, prefix) {
			return false
		}
		if n, ok := readNameRow(key, value); ok {
			rows = append(rows, n)
		}
		return true
	})
	return rows
}

// liveNames returns the ids of the live records under a prefix, in key order.
func liveNames(tx Tx, prefix []byte) (ids []resource.ID) {
	for _, n := range rowsOf(tx, prefix) {
		if n.live {
			ids = append(ids, n.id)
		}
	}
	return ids
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
		for _, rows := range contested(tx) {
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
func contested(tx Tx) (groups [][]nameRow) {
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
		n, ok := readNameRow(key, value)
		if !ok || !n.live {
			return true
		}
		if p := key[:len(key)-16]; !bytes.Equal(p, prefix) {
			flush()
			prefix = bytes.Clone(p)
		}
		group = append(group, n)
		return true
	})
	flush()
	return groups
}
