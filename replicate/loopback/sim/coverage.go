package sim

import (
	"slices"
	"strings"
)

// Required lists what a run over CI's seeds has to come by: every fault that
// there is, every outcome of a merge, of a session and of a write, every reason
// in a ledger, and the rare states. A simulation that never reaches a state
// says nothing about it.
func Required() []string {
	names := []string{
		"fault: restart", "fault: thaw",
		"message dropped", "message duplicated", "message cut", "publish unanswered", "publish failed",
		"stream message lost", "stream message duplicated", "stream read again",
		"merge: applied", "merge: ignored", "merge: unchanged", "conflict", "pulled", "pushed",
		"session: match", "session: repaired", "session: partial", "session: moved", "session: error",
		"ledger: released", "ledger: outranked", "ledger: fenced", "ledger: later", "ledger: overfull",
		"refused: outranked", "refused: fenced", "refused: conflict", "refused: exists", "refused: not found", "refused: invalid",
		"refused: owner", "refused: in use", "refused: no space", "refused: failed", "refused: clock",
		"quarantine entered", "quarantine left", "parked entered", "parked left",
		"floor raised", "collected", "collected: refused as gone", "event held",
		"past confirmed", "past unanswered", "refused: unconfirmed", "clock repaired", "buried", "returned from the dead", "name conflict", "snapshot used",
	}
	for _, v := range []Verb{
		DoCut, DoCutStream, DoIsolate, DoHeal, DoCrash, DoDieLost, DoDieDone, DoFailDisk, DoFill, DoSlow, DoStepClock, DoDrift,
		DoFreeze, DoPurge, DoRecreate, DoRollback, DoTruncate, DoSnapshot,
	} {
		names = append(names, "fault: "+string(v))
	}
	if slices.Contains(faults(), Restore) {
		names = append(names, "fault: restore", "fault: back-up", "sole copy destroyed", "session: forked", "reincarnated", "rollback settled",
			"bootstrapped", "session: stale")
	}
	if slices.Contains(faults(), Clone) {
		names = append(names, "fault: clone", "fork settled", "clone heard", "clone reidentified", "refused: cloned")
	}
	if slices.Contains(faults(), Away) {
		names = append(names, "fault: evicted", "stale until allowed")
	}
	for _, d := range []Deed{
		Put, CAS, Create, Status, Delete, Teardown, Destroy, Release, Claim, Finalize, Unfinal, Child, Large, Crowd, ServeKind, DropKind,
	} {
		names = append(names, "done: "+string(d))
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// Missing lists what is required and was not reached.
func (c *Campaign) Missing() (names []string) {
	for _, name := range Required() {
		if c.Reached[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}
