package merkle_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"driftless.dev/merkle"
)

var update = flag.Bool("update", false, "rewrite testdata/roots.json")

// goldenFile fixes the roots for ever: rows are key ‖ value in hex, so that
// another implementation can be held against it.
type goldenFile struct {
	Secret string      `json:"secret"`
	Place  []golden    `json:"place"`
	Realms []goldenSet `json:"realms"`
	Super  []golden    `json:"super"`
}

type golden struct {
	Of  []string `json:"of"`
	Hex string   `json:"hex"`
}

type goldenSet struct {
	Name  string   `json:"name"`
	Realm string   `json:"realm"`
	Root  string   `json:"root"`
	Rows  []string `json:"rows"`
}

func TestGolden_RootsNeverChange(t *testing.T) {
	const path = "testdata/roots.json"
	got, err := json.MarshalIndent(makeGolden(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s no longer holds: this breaks every fleet (go test -update to mean it)", path)
	}
}

func makeGolden(t *testing.T) goldenFile {
	secret := [32]byte([]byte("driftless golden vector secret 1"))
	file := goldenFile{Secret: hex.EncodeToString(secret[:])}
	for i := range 3 {
		id := [16]byte{15: byte(i)}
		file.Place = append(file.Place, golden{[]string{hex.EncodeToString(id[:])}, hex64(merkle.Place(&secret, id))})
	}
	var realms []merkle.RealmRoot
	for _, c := range []struct {
		name, realm string
		rows        int
		shift       int
	}{
		{"empty", "atlas", 0, 0},
		{"one row", "atlas", 1, 0},
		{"full leaf", "atlas", 32, 0},
		{"split leaf", "atlas", 33, 0},
		{"split leaf, another realm", "borealis", 33, 0},
		{"three levels", "_", 300, 0},
		{"15 shared nibbles", "atlas", 40, 60},
		{"one key", "atlas", 40, 64},
	} {
		set, trie := goldenSet{Name: c.name, Realm: c.realm, Rows: []string{}}, merkle.New(secret, c.realm)
		for i := range c.rows {
			id := [16]byte{1, 15: byte(i), 14: byte(i >> 8)}
			row := merkle.Row{Key: merkle.Place(&secret, id) >> c.shift, Value: merkle.Digest{byte(i), byte(i >> 8), 2: 1}}
			replace(t, trie, row.Key, merkle.Digest{}, row.Value)
			set.Rows = append(set.Rows, hex.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(row.Key)), row.Value[:]...)))
		}
		set.Root = trie.Root().String()
		file.Realms = append(file.Realms, set)
		realms = append(realms, merkle.RealmRoot{Realm: c.realm, Root: trie.Root(), Count: trie.Len()})
	}
	for _, of := range [][]merkle.RealmRoot{nil, realms[:1], realms[3:4], {realms[4], realms[3]}, realms[3:6]} {
		names := []string{}
		for _, r := range of {
			names = append(names, r.Realm+" "+r.Root.String())
		}
		file.Super = append(file.Super, golden{names, merkle.SuperRoot(&secret, of).String()})
	}
	return file
}
