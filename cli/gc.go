package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

func (a *app) gcCommand() *cobra.Command {
	out := newOutput("text", formatJSON, formatYAML, formatPath)
	status := &cobra.Command{
		Use:   "status",
		Short: "Show how far the collection of tombstones is, and what it waits for",
		Long: `Show how far the collection of tombstones is.

A deleted record stays as a tombstone until every member has it, and until
nothing older can be on its way any more; then it goes for good. A member that
is silent holds that up. One that is gone for good is taken off the roster by
driftless fleet remove, or by a majority of the others after --horizon.`,
		Example: `  driftless gc status
  driftless gc status -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			c, err := n.Collection(cmd.Context())
			if err != nil {
				return fail("show collection", err)
			}
			if out.isData() {
				return out.writeOne(a.cfg.Stdout, c)
			}
			a.printCollection(c)
			return nil
		}),
	}
	status.Flags().VarP(out, "output", "o", out.choice())
	return parent("gc", "Look at the collection of tombstones", "", "  driftless gc status", status)
}

func (a *app) printCollection(c fleet.Collection) {
	waits := "nothing"
	switch {
	case c.Blocked != "":
		waits = c.Blocked
		if c.BlockedAt != nil {
			waits += ", since " + ageOf(*c.BlockedAt, a.cfg.Now())
		}
	case c.Sweeping:
		waits = "a sweep that is under way"
	}
	last := "never since the start"
	if c.LastRound != nil {
		last = ageOf(*c.LastRound, a.cfg.Now()) + " ago"
	}
	for _, p := range [][2]string{
		{"Tombstones", strconv.Itoa(c.Tombstones)},
		{"Collected", fmt.Sprintf("%d since the start", c.Collected)},
		{"Waits for", waits},
		{"Last round", last},
		{"Minimum age", time.Duration(c.MinAgeSeconds * float64(time.Second)).String()},
		{"Floor", fmt.Sprintf("%d incarnations", len(c.Floor))},
	} {
		a.line("%-12s %s", p[0]+":", p[1])
	}
}
