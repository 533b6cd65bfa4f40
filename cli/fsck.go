package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

// Verdicts of fsck that are no success; what was found was printed.
var (
	errRepaired = errors.New("damage was found and repaired")
	errDamaged  = errors.New("damage is left")
)

const fsckLong = `Read the whole store, derive everything that is derived again, and name every
damaged row: what is wrong, what it means, and what gives it back.

Without --data the node that answers checks itself while it goes on. With --data
a directory is checked that no node has open, also one that does not open any
more. With --repair everything is put right that needs no other member; what is
left then, driftless node repair --from MEMBER takes from a member.

Exit codes: 0 clean, 3 damaged and all of it repaired, 1 damage is left.`

func (a *app) fsckCommand() *cobra.Command {
	f, out := &fleetFlags{}, newOutput("text", formatJSON, formatYAML, formatPath)
	var data string
	var repair bool
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Check a store for damage, and repair it",
		Long:  fsckLong,
		Example: `  driftless fsck
  driftless fsck --repair
  driftless fsck --data /var/lib/driftless --repair`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			var report fleet.Fsck
			local, err := a.offline(f)
			if err != nil {
				return err
			}
			if data != "" {
				report, err = local.Fsck(cmd.Context(), data, repair)
			} else if n, lost := a.connect(); lost != nil {
				return lost
			} else {
				report, err = n.Fsck(cmd.Context(), repair)
			}
			if err != nil {
				return fail("check store", err)
			}
			if out.isData() {
				err = out.writeOne(a.cfg.Stdout, report)
			} else {
				a.printFsck(report)
			}
			return errors.Join(err, verdictOf(report))
		}),
	}
	cmd.Flags().StringVar(&data, "data", "", "check the store in this `directory`, which no node may have open")
	cmd.Flags().BoolVar(&repair, "repair", false, "put right what needs no other member")
	cmd.Flags().VarP(out, "output", "o", out.choice())
	f.add(cmd)
	return cmd
}

func verdictOf(r fleet.Fsck) error {
	switch r.Verdict {
	case fleet.FsckClean:
		return nil
	case fleet.FsckRepaired:
		return errRepaired
	}
	return errDamaged
}

// printFsck prints each fault in three lines, then the verdict.
func (a *app) printFsck(r fleet.Fsck) {
	left := 0
	for _, f := range r.Faults {
		row := f.Bucket
		if f.Key != "" {
			row += "/" + f.Key
		}
		if f.Record != "" {
			row += " (record " + f.Record + ")"
		}
		a.line("%s: %s", row, f.Problem)
		a.line("  means: %s", f.Meaning)
		if f.Repaired {
			a.line("  repaired: %s", remedyOf(f.Remedy))
		} else {
			left++
			a.line("  to do: %s", toDo(f.Remedy))
		}
	}
	switch r.Verdict {
	case fleet.FsckClean:
		a.line("clean: %d rows", r.Rows)
	case fleet.FsckRepaired:
		a.line("repaired: %d of %d rows were damaged", len(r.Faults), r.Rows)
	default:
		a.line("damaged: %d faults are left, of %d rows", left, r.Rows)
	}
}

// remedyOf says what gave something back.
func remedyOf(remedy string) string {
	text := map[string]string{
		"log": "made again from the log", "record": "made again from the record that it wrote", "index": "made again from the records",
		"memory": "written again as the process had it", "drop": "dropped: nothing needs it, or it is made anew",
		"salvage": "its rows are copied to a new file",
		"trim":    "the log begins behind it, at a fresh snapshot",
	}[remedy]
	if text == "" {
		return remedy
	}
	return text
}

// toDo says what would give something back.
func toDo(remedy string) string {
	switch remedy {
	case "peer":
		return "driftless node repair --from MEMBER: only another member can give it back"
	case "restore":
		return "driftless snapshot restore, or move the directory away and start empty: the members fill it"
	}
	return fmt.Sprintf("driftless fsck --repair (%s)", remedyOf(remedy))
}

func (a *app) repairCommand() *cobra.Command {
	out := newOutput("text", formatJSON, formatYAML, formatPath)
	var from string
	cmd := &cobra.Command{
		Use:   "repair --from MEMBER",
		Short: "Take damaged or missing records from another member",
		Long: `Have the node put right what it can by itself, take the records that are damaged
or missing there from another member, and check itself again. Until then such
records are neither served, merged nor forwarded.

Exit codes: 0 clean or all repaired, 1 damage is left.`,
		Example: `  driftless node repair --from b
  driftless node repair --from 01JDZ5T8Q9W3X7Y2K4M6N8P0RS -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return misuse(cmd.CommandPath(), "--from MEMBER is needed: a name or an instance id (driftless fleet status lists them)")
			}
			n, err := a.connect()
			if err != nil {
				return err
			}
			r, err := n.Repair(cmd.Context(), from)
			if err != nil {
				return fail("repair node", err)
			}
			if out.isData() {
				err = out.writeOne(a.cfg.Stdout, r)
			} else {
				a.line("%d records taken from %s", r.PutBack, r.From)
				a.printFsck(r.Fsck)
			}
			if verdict := verdictOf(r.Fsck); errors.Is(verdict, errDamaged) {
				err = errors.Join(err, verdict)
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&from, "from", "", "the member to take from, by `name` or instance id (required)")
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}
