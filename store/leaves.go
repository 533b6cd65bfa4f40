package store

import (
	"bytes"
	"fmt"

	"driftless.dev/merkle"
	"driftless.dev/resource"
)

// leafSet derives roots from records as they come: first the bulk in the order
// of the trie's leaves, then what was written meanwhile, which replaces. It
// keeps a row for each record, not the record.
type leafSet struct {
	secret [32]byte
	tries  map[string]*merkle.Trie
	last   []byte // key of the bulk's last record
	// bulk is what the bulk came to, once the first later one is there, and
	// later what came after it.
	bulk  map[string]*merkle.View
	later map[resource.ID]merkle.Digest
}

func newLeafSet(secret [32]byte) *leafSet {
	return &leafSet{secret: secret, tries: map[string]*merkle.Trie{}, later: map[resource.ID]merkle.Digest{}}
}

func (l *leafSet) trie(realm string) *merkle.Trie {
	t := l.tries[realm]
	if t == nil {
		t = merkle.New(l.secret, realm)
		l.tries[realm] = t
	}
	return t
}

// add takes a record of the bulk.
func (l *leafSet) add(rec *resource.Record) error {
	place := merkle.Place(&l.secret, rec.ID)
	key := recordKey(rec.Realm(), place, rec.ID)
	if bytes.Compare(l.last, key) >= 0 {
		return fmt.Errorf("record %s is out of order", rec.ID)
	}
	l.last = key
	digest := rec.Digest()
	return l.trie(rec.Realm()).Replace(place, merkle.Digest{}, merkle.Digest(digest[:16]))
}

// replace takes a record that was written after the bulk was begun.
func (l *leafSet) replace(rec *resource.Record) error {
	digest := rec.Digest()
	return l.change(rec.ID, rec.Realm(), merkle.Digest(digest[:16]))
}

// remove takes out a record that was collected after the bulk was begun, if it
// is there: it may have been collected before the bulk came to it.
func (l *leafSet) remove(id resource.ID, realm string) error {
	return l.change(id, realm, merkle.Digest{})
}

func (l *leafSet) change(id resource.ID, realm string, digest merkle.Digest) error {
	if l.bulk == nil {
		l.bulk = map[string]*merkle.View{}
		for realm, t := range l.tries {
			l.bulk[realm] = t.View()
		}
	}
	place := merkle.Place(&l.secret, id)
	old, known := l.later[id]
	if view := l.bulk[realm]; !known && view != nil {
		// Another record at this place, which takes 64 bits to agree, makes the
		// roots differ in the end: then the save is made anew.
		for row := range view.Rows(merkle.Prefix{Bits: uint64(place), Depth: 16}) {
			old = row.Value
		}
	}
	l.later[id] = digest
	return l.trie(realm).Replace(place, old, digest)
}

// roots returns what the records hash to, and how many they are.
func (l *leafSet) roots() (realms []ManifestRealm, super merkle.Root, records uint64) {
	var all []merkle.RealmRoot
	for _, realm := range sortedKeys(l.tries) {
		t := l.tries[realm]
		if t.Len() == 0 {
			continue
		}
		realms = append(realms, ManifestRealm{Realm: realm, Root: t.Root(), Records: uint64(t.Len())})
		all = append(all, merkle.RealmRoot{Realm: realm, Root: t.Root(), Count: t.Len()})
		records += uint64(t.Len())
	}
	return realms, merkle.SuperRoot(&l.secret, all), records
}

// sameRealms compares roots realm by realm and names the first that differs.
func sameRealms(got, want []ManifestRealm) error {
	have := map[string]ManifestRealm{}
	for _, r := range got {
		have[r.Realm] = r
	}
	for _, w := range want {
		if g := have[w.Realm]; g != w {
			return fmt.Errorf("realm %q: %d records hash to %s, %d were to hash to %s", w.Realm, g.Records, g.Root, w.Records, w.Root)
		}
		delete(have, w.Realm)
	}
	for _, realm := range sortedKeys(have) {
		return fmt.Errorf("realm %q is not in the manifest", realm)
	}
	return nil
}
