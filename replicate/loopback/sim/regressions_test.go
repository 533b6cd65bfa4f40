package sim_test

import "driftless.dev/replicate/loopback/sim"

// ciSeeds is what a plain test run does; the race detector makes each of them
// some fifteen times as slow.
func ciSeeds() uint64 {
	if raceEnabled {
		return 25
	}
	return 500
}

// regressions are the runs that once showed a fault; they come first.
func regressions() []sim.Options {
	return []sim.Options{
		// Vectors at different events of one dot, after a fork, never agreed.
		sim.Draw(205).Without(sim.Clone, sim.Away),
		// A session adopted its vector in a process that was restored meanwhile.
		sim.Draw(1245).Without(sim.Clone, sim.Away),
		// A new life met the tombstone of the old on a member that still had it.
		sim.DrawAll(22),
		// After a repair of a clock everybody was older than everybody's floor.
		sim.DrawAll(216).Without(sim.Restore, sim.Clone, sim.Away),
		sim.DrawAll(20312).Without(sim.Restore, sim.Clone, sim.Away),
		// A floor rose over a member whose vector was behind by its time alone.
		sim.DrawAll(20286).Without(sim.Restore, sim.Clone, sim.Away),
		// An incarnation none of whose events stands left its author's vector.
		sim.DrawAll(290),
		// Another branch's floor spoke of a record that was issued anew.
		sim.DrawAll(37),
		// A record that was created under two names was refused by each side.
		sim.DrawAll(258),
		// Two sides that each collected without the other waited for a third.
		sim.DrawAll(196),
		// What a rejoin set aside is told, in a ledger.
		sim.DrawAll(728),
	}
}
