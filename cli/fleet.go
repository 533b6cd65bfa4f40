package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

// errNotConverged is the verdict of check and wait; the reason was printed.
var errNotConverged = errors.New("the fleet is not converged")

func (a *app) fleetCommand() *cobra.Command {
	return parent("fleet", "Ask whether the members agree", `Ask whether the members of the fleet agree.

Converged means that every member of the roster answered and that all have the
same root: the same records, byte for byte. A member that is silent is never
read as one that agrees.`, `  driftless fleet status
  driftless fleet check && echo all equal
  driftless fleet wait --until converged --timeout 30s`, a.statusCommand(), a.checkCommand(), a.waitCommand(), a.removeMemberCommand())
}

func (a *app) statusCommand() *cobra.Command {
	out := newOutput(formatTable, formatWide, formatJSON, formatYAML, formatPath)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the members and whether they agree",
		Long: `Show the members and whether they agree, as the node knows it from heartbeats.
The exit code is 0 whatever the verdict is; fleet check asks every member now
and has an exit code for it.`,
		Example: `  driftless fleet status
  driftless fleet status -o wide
  driftless fleet status -o jsonpath='{.converged}'`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			f, err := n.Fleet(cmd.Context())
			if err != nil {
				return fail("show fleet", err)
			}
			if err := a.printFleet(out, f); err != nil || out.isData() {
				return err
			}
			a.line("as of the last heartbeats; driftless fleet check asks every member now")
			return nil
		}),
	}
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}

func (a *app) checkCommand() *cobra.Command {
	out := newOutput(formatTable, formatWide, formatJSON, formatYAML, formatPath)
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask every member now, and succeed only when all agree",
		Long: `Ask every member of the roster now.

Exit codes: 0 converged; 1 not converged, with the reason; 2 used wrongly, or
the node cannot be reached: nothing was found out.`,
		Example: `  driftless fleet check
  driftless fleet check -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			f, err := n.Check(cmd.Context())
			if err != nil {
				return undecidedError{fail("check fleet", err)}
			}
			if err := a.printFleet(out, f); err != nil {
				return err
			}
			return verdict(f)
		}),
	}
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}

// verdict is an error when the fleet is not converged.
func verdict(f fleet.Fleet) error {
	if f.Converged {
		return nil
	}
	if f.Reason == "" {
		return errNotConverged
	}
	return fmt.Errorf("%w: %s", errNotConverged, f.Reason)
}

// printFleet prints the verdict first.
func (a *app) printFleet(out *output, f fleet.Fleet) error {
	if out.isData() {
		return out.writeOne(a.cfg.Stdout, f)
	}
	a.line("%s", headline(f))
	wide := out.format == formatWide
	t := a.members(f, wide, true)
	if !wide && a.cfg.Width > 0 && t.width() > a.cfg.Width {
		t = a.members(f, wide, false)
	}
	return t.write(a.cfg.Stdout)
}

// members is the table of the members.
func (a *app) members(f fleet.Fleet, wide, version bool) *table {
	t := &table{}
	header := []string{"NAME", "STATE", "READY", "ROOT", "BEHIND", "LAST MATCH", "CLOCK OFFSET"}
	if version {
		header = append(header, "VERSION")
	}
	if wide {
		header = append(header, "INSTANCE", "INCARNATION", "LAST HEARD", "ERROR")
	}
	t.row(header...)
	for i := range f.Members {
		m := &f.Members[i]
		ready, clock := yesNo(m.Ready), offset(m.ClockOffsetSeconds)
		if m.State != "self" && m.State != "alive" {
			ready, clock = "?", "?" // what it last said is no longer known
		}
		row := []string{m.Name, m.State, ready, short(m.SuperRoot), behind(m), a.agoOf(m, m.LastRootMatch), clock}
		if version {
			row = append(row, m.Version)
		}
		if wide {
			row = append(row, m.Instance, m.Incarnation, a.agoOf(m, m.LastHeard), m.Error)
		}
		t.row(row...)
	}
	return t
}

func headline(f fleet.Fleet) string {
	text := "CONVERGED"
	if !f.Converged {
		text = "NOT CONVERGED"
		if f.Reason != "" {
			text += ": " + f.Reason
		}
	}
	if f.ConvergedUpTo != nil {
		text += "; converged up to " + timeOf(f.ConvergedUpTo)
	}
	return text
}

// behind is how far a member is behind, which nobody knows of a silent one.
func behind(m *fleet.Member) string {
	if m.Error != "" {
		return "?"
	}
	return strconv.FormatUint(m.BehindEvents, 10)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// agoOf is how long ago something was between the node that was asked and a
// member; there is nothing between a node and itself.
func (a *app) agoOf(m *fleet.Member, t *time.Time) string {
	switch {
	case m.State == "self":
		return "-"
	case t == nil:
		return none
	}
	return ageOf(*t, a.cfg.Now()) + " ago"
}

// offset is a clock's distance from the fleet's, with its sign.
func offset(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}
