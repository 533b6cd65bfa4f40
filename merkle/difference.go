package merkle

import (
	"bytes"
	"cmp"
	"slices"
)

// MaxDifferences bounds what one descent collects from answers, about 40 MiB.
const MaxDifferences = 1 << 20

// Difference is a row that the two sides do not share. Zero means absent on
// that side; with both set, the record differs.
type Difference struct {
	Key           Key
	Local, Remote Digest
}

// Differences returns what was found so far, sorted by key, in a slice that is
// the caller's. A key that has one row here and one there is one Difference
// with both set; with more than that the rows cannot be told apart by record,
// and each is a Difference of its own.
func (d *Descent) Differences() []Difference {
	found := slices.Clone(d.found)
	slices.SortFunc(found, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), bytes.Compare(a.Local[:], b.Local[:]), bytes.Compare(a.Remote[:], b.Remote[:]))
	})
	paired := found[:0]
	for len(found) > 0 {
		end := 1
		for end < len(found) && found[end].Key == found[0].Key {
			end++
		}
		// Remote rows sort first: their Local is zero.
		if end == 2 && found[0].Local.IsZero() && !found[1].Local.IsZero() {
			found[1].Remote = found[0].Remote
			paired = append(paired, found[1])
		} else {
			paired = append(paired, found[:end]...)
		}
		found = found[end:]
	}
	return paired
}

// compareRows records what local has under p and remote has not, and the reverse.
func (d *Descent) compareRows(p Prefix, remote []Row) {
	for row := range d.local.Rows(p) {
		for len(remote) > 0 && remote[0].Compare(row) < 0 {
			d.found = append(d.found, Difference{Key: remote[0].Key, Remote: remote[0].Value})
			remote = remote[1:]
		}
		if len(remote) > 0 && remote[0] == row {
			remote = remote[1:]
			continue
		}
		d.found = append(d.found, Difference{Key: row.Key, Local: row.Value})
	}
	for _, row := range remote {
		d.found = append(d.found, Difference{Key: row.Key, Remote: row.Value})
	}
}
