package fleet

import "time"

// Snapshot is what a snapshot file says of itself.
type Snapshot struct {
	Format int `json:"format"`
	// Fleet and FleetID name the fleet; the id stands for its secret too.
	Fleet       string    `json:"fleet"`
	FleetID     string    `json:"fleetId"`
	Instance    string    `json:"instance"`
	Incarnation string    `json:"incarnation"`
	LogID       string    `json:"logId"`
	CreatedAt   time.Time `json:"createdAt"`
	// Seq is the end of the log that the records are of.
	Seq         uint64     `json:"seq"`
	HLC         string     `json:"hlc"`
	SuperRoot   string     `json:"superRoot"`
	Records     uint64     `json:"records"`
	Ledger      uint64     `json:"ledger"`
	Quarantined uint64     `json:"quarantined"`
	Realms      []Realm    `json:"realms"`
	Vector      []Position `json:"vector"`
	// Floor is below what collected tombstones are gone.
	Floor  []FloorEntry `json:"floor"`
	Chunks uint64       `json:"chunks"`
}

// FloorEntry is one incarnation's part of a collection floor.
type FloorEntry struct {
	Incarnation string `json:"incarnation"`
	HLC         string `json:"hlc"`
}

// Fsck is what a check of a store came to: clean, repaired (all of it), or
// damaged (some of it is left).
type Fsck struct {
	Verdict string  `json:"verdict"`
	Rows    uint64  `json:"rows"`
	Faults  []Fault `json:"faults"`
}

// The verdicts of Fsck.
const (
	FsckClean    = "clean"
	FsckRepaired = "repaired"
	FsckDamaged  = "damaged"
)

// RemedySalvage copies the rows of a damaged file to a new one.
const RemedySalvage = "salvage"

// Fault is one thing that a check found.
type Fault struct {
	// Bucket and Key name the row, the key in hex; Record is the record that it
	// is about, when that is known.
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Record string `json:"record,omitempty"`
	// Problem is what is wrong, Meaning what follows from it, Remedy what gives
	// it back: log, record, index, memory, drop, trim, salvage, peer or restore.
	Problem  string `json:"problem"`
	Meaning  string `json:"meaning"`
	Remedy   string `json:"remedy"`
	Repaired bool   `json:"repaired"`
}

// Repair is what a repair from a peer came to.
type Repair struct {
	// From is the member that was asked, PutBack how many records it gave.
	From    string `json:"from"`
	PutBack int    `json:"putBack"`
	// Fsck is the check after it.
	Fsck Fsck `json:"fsck"`
}

// Damage is a stored row that is damaged and not repaired yet.
type Damage struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Record string `json:"record,omitempty"`
	Reason string `json:"reason"`
}

// Scrub is what the background scrub did since the start.
type Scrub struct {
	Rows   uint64 `json:"rows"`
	Passes uint64 `json:"passes"`
	Found  uint64 `json:"found"`
	// Differences counts passes whose sums did not come to the root in memory.
	Differences uint64     `json:"differences"`
	At          *time.Time `json:"at,omitempty"`
}

// Dropped counts what trimming took since the start.
type Dropped struct {
	LogEntries  uint64 `json:"logEntries"`
	Ledger      uint64 `json:"ledger"`
	Quarantined uint64 `json:"quarantined"`
}
