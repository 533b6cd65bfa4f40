package cli

import (
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
	"driftless.dev/hlc"
)

func (a *app) clockCommand() *cobra.Command {
	repair := a.nodeChange(&cobra.Command{
		Use:   "repair",
		Short: "As a person, give writes of a clock that ran ahead new times",
		Long: `Give writes that the node made while its clock ran ahead new times.

Set the machine's clock right first. What the node wrote with a stamp after the
present is then written anew, in its order, under a new incarnation; the old
stamps are void. With three or more clocks in the fleet a node does so by itself
once its clock is right; with fewer nobody can tell who is wrong, and this
command takes the node's own clock at its word.`,
		Example: `  driftless clock repair`,
	}, node.RepairClock, "its writes are stamped up to the present")
	p := parent("clock", "Compare the members' clocks, or repair what a wrong one wrote", `Compare the members' clocks.

The reference is the median of the live members' clocks; it takes three to tell
who is wrong. A node refuses its own writes when their stamp would lie further
ahead of it than max-clock-offset, and quarantines others' that do.`, "  driftless clock\n  driftless clock repair", repair)
	p.Args = cobra.NoArgs
	p.RunE = a.run(a.showClock)
	return p
}

func (a *app) showClock(cmd *cobra.Command, _ []string) error {
	n, err := a.connect()
	if err != nil {
		return err
	}
	i, err := n.Info(cmd.Context())
	if err != nil {
		return fail("show clock", err)
	}
	f, err := n.Fleet(cmd.Context())
	if err != nil {
		return fail("read fleet", err)
	}
	a.line("%-12s %s", "Clock:", clock(i.Clock))
	a.line("%-12s %s", "Last stamp:", lastStamp(i, a.cfg.Now()))
	t := &table{}
	t.row("NAME", "STATE", "CLOCK OFFSET")
	for _, m := range f.Members {
		off := "?"
		if m.State == "self" || m.State == "alive" {
			off = offset(m.ClockOffsetSeconds)
		}
		t.row(m.Name, m.State, off)
	}
	return t.write(a.cfg.Stdout)
}

// lastStamp says where the node's stamps are: one that lies ahead holds its
// writes up.
func lastStamp(n fleet.Node, now time.Time) string {
	at, err := hlc.Parse(n.HLC)
	if err != nil {
		return n.HLC
	}
	when := at.Time()
	text := timeOf(&when)
	if ahead := when.Sub(now); ahead > time.Second {
		text += ", " + ahead.Round(time.Second).String() + " ahead of this machine's clock"
	}
	return text
}
