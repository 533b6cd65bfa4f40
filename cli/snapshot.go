package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

const snapshotLong = `Save a node's store to one file, look at such a file, and make a data directory
out of it.

A snapshot holds all records, the ledger, the quarantine and how far they go. It
has a checksum for each chunk and one for the whole, and is written next to its
name and put in place when it is complete.`

func (a *app) snapshotCommand() *cobra.Command {
	return parent("snapshot", "Back a node up, and restore it", snapshotLong, `  driftless snapshot save backup.snap
  driftless snapshot verify backup.snap
  driftless snapshot restore backup.snap --data /var/lib/driftless`,
		a.saveCommand(), a.inspectCommand(), a.verifyCommand(), a.restoreCommand())
}

func (a *app) saveCommand() *cobra.Command {
	f, data := &fleetFlags{}, ""
	cmd := &cobra.Command{
		Use:   "save FILE",
		Short: "Save a snapshot of a running node, or of a data directory",
		Long: `Save a snapshot of the node that answers, while it goes on; or, with --data, of a
directory that no node has open. FILE is replaced only by a whole snapshot.`,
		Example: `  driftless snapshot save backup.snap
  driftless snapshot save backup.snap --node http://10.0.0.1:7117
  driftless snapshot save backup.snap --data /var/lib/driftless`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			local, err := a.offline(f)
			if err != nil {
				return err
			}
			var s fleet.Snapshot
			err = writeWhole(args[0], func(w *os.File) error {
				if data != "" {
					_, err = local.Save(cmd.Context(), data, w)
				} else if n, err := a.connect(); err != nil {
					return err
				} else if err := n.Snapshot(cmd.Context(), w); err != nil {
					return err
				}
				if err != nil {
					return err
				}
				// What was received is looked at before it takes the name.
				if _, err = w.Seek(0, io.SeekStart); err == nil {
					s, err = local.Inspect(w)
				}
				return err
			})
			if err != nil {
				return fail("save snapshot", err)
			}
			a.line("saved %d records of fleet %s, up to %d, root %s, to %s", s.Records, s.Fleet, s.Seq, short(s.SuperRoot), args[0])
			return nil
		}),
	}
	cmd.Flags().StringVar(&data, "data", "", "save the store in this `directory`, which no node may have open")
	f.add(cmd)
	return cmd
}

func (a *app) inspectCommand() *cobra.Command {
	out := newOutput(formatTable, formatJSON, formatYAML, formatPath)
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Show what a snapshot says of itself",
		Long: `Show what a snapshot says of itself. All its checksums must fit; verify looks into
the records too.`,
		Example: `  driftless snapshot inspect backup.snap
  driftless snapshot inspect backup.snap -o jsonpath='{.superRoot}'`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(_ *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			local, err := a.offline(&fleetFlags{})
			if err != nil {
				return err
			}
			s, err := local.Inspect(file)
			if err != nil {
				return err
			}
			if out.isData() {
				return out.writeOne(a.cfg.Stdout, s)
			}
			return a.printSnapshot(s)
		}),
	}
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}

func (a *app) printSnapshot(s fleet.Snapshot) error {
	for _, p := range [][2]string{
		{"Fleet", s.Fleet + " (" + s.FleetID + ")"}, {"Instance", s.Instance}, {"Incarnation", s.Incarnation}, {"Log", s.LogID},
		{"Created", timeOf(&s.CreatedAt)}, {"Sequence", strconv.FormatUint(s.Seq, 10)}, {"HLC", s.HLC},
		{"Records", strconv.FormatUint(s.Records, 10)}, {"Root", s.SuperRoot},
		{"Ledger", strconv.FormatUint(s.Ledger, 10)}, {"Quarantine", strconv.FormatUint(s.Quarantined, 10)},
		{"Vector", fmt.Sprintf("%d incarnations", len(s.Vector))}, {"Floor", fmt.Sprintf("%d incarnations", len(s.Floor))},
		{"Format", fmt.Sprintf("%d, %d chunks", s.Format, s.Chunks)},
	} {
		a.line("%-12s %s", p[0]+":", p[1])
	}
	a.line("")
	t := &table{}
	t.row("REALM", "RECORDS", "ROOT")
	for _, r := range s.Realms {
		t.row(r.Name, strconv.Itoa(r.Records), short(r.Root))
	}
	return t.write(a.cfg.Stdout)
}

func (a *app) verifyCommand() *cobra.Command {
	f := &fleetFlags{}
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Derive a snapshot's roots from its records again",
		Long: `Read a snapshot whole, derive its roots from its records again, and compare them
with what it says. A damaged one is named by its first bad chunk.`,
		Example: `  driftless snapshot verify backup.snap
  driftless snapshot verify backup.snap --fleet-secret-file /etc/driftless/secret`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			local, err := a.offline(f)
			if err != nil {
				return err
			}
			s, err := local.Verify(cmd.Context(), file)
			if err != nil {
				return err
			}
			a.line("sound: %d records hash to %s", s.Records, short(s.SuperRoot))
			return nil
		}),
	}
	f.add(cmd)
	return cmd
}

func (a *app) restoreCommand() *cobra.Command {
	f := &fleetFlags{}
	var data string
	var force, fresh bool
	cmd := &cobra.Command{
		Use:   "restore FILE --data DIR",
		Short: "Make a data directory out of a snapshot",
		Long: `Make a data directory out of a snapshot: whole, or not at all. The node that is
started in it is the member that was saved, under a new incarnation and with a
new log; it takes in what the fleet has since, and offers what only it has.`,
		Example: `  driftless snapshot restore backup.snap --data /var/lib/driftless
  driftless snapshot restore backup.snap --data /var/lib/driftless --force
  driftless snapshot restore backup.snap --data ./d --as-new-instance`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			if data == "" {
				return misuse(cmd.CommandPath(), "--data DIR is needed: where to restore to")
			}
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			local, err := a.offline(f)
			if err != nil {
				return err
			}
			s, aside, err := local.Restore(cmd.Context(), file, data, force, fresh)
			if err != nil {
				return err
			}
			if aside != "" {
				a.line("moved what was in %s to %s", data, aside)
			}
			a.line("restored %d records, root %s, to %s", s.Records, short(s.SuperRoot), data)
			return nil
		}),
	}
	cmd.Flags().StringVar(&data, "data", "", "the `directory` to make (required)")
	cmd.Flags().BoolVar(&force, "force", false, "move what is in the directory aside")
	cmd.Flags().BoolVar(&fresh, "as-new-instance", false, "be another member than the one that was saved, to seed one")
	f.add(cmd)
	return cmd
}

// writeWhole makes a file next to its name and puts it in place, synced, when
// fill was content with it: whoever looks finds the old one or the new.
func writeWhole(path string, fill func(*os.File) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".saving-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(fill(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil // it is in place; only a power cut now could still take the name
	}
	return errors.Join(d.Sync(), d.Close())
}
