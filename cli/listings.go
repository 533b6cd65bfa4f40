package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
	"driftless.dev/hlc"
	"driftless.dev/resource"
)

func (a *app) conflictsCommand() *cobra.Command {
	return listing(a, &cobra.Command{
		Use:   "conflicts",
		Short: "List names that several records claim",
		Long: `List names that several records claim. A name created apart on two nodes is two
records: both are kept, the holder is the same on every node and answers by
name, the others are reached by id. Deleting one of them ends the conflict.`,
		Example: `  driftless conflicts
  driftless get --id 01JDZ5T8Q9W3X7Y2K4M6N8P0RS -o yaml
  driftless delete --id 01JDZ5T8Q9W3X7Y2K4M6N8P0RS --as human`,
	}, func(ctx context.Context, n node, _ bool) (fleet.List[fleet.NameConflict], error) {
		return n.Conflicts(ctx)
	}, func(t *table, c fleet.NameConflict) {
		claims := append([]fleet.Claim{c.Holder}, c.Others...)
		for i, claim := range claims {
			role := "other"
			if i == 0 {
				role = "holder"
			}
			t.row(c.Kind, c.Scope, c.Name, role, claim.ID, claim.Origin, ageOf(claim.CreatedAt, a.cfg.Now()), short(claim.Digest))
		}
	}, "no name is claimed twice", "KIND", "SCOPE", "NAME", "ROLE", "ID", "ORIGIN", "AGE", "DIGEST")
}

func (a *app) parkedCommand() *cobra.Command {
	return listing(a, &cobra.Command{
		Use:   "parked",
		Short: "List records whose kind is not known",
		Long: `List records whose kind is not known to the node yet. They are replicated like
all others, and shown by get once their kind arrives.`,
		Example: `  driftless parked
  driftless parked -o yaml`,
	}, func(ctx context.Context, n node, _ bool) (fleet.List[resource.Resource], error) {
		return n.Parked(ctx)
	}, func(t *table, r resource.Resource) {
		t.row(r.GroupKind().String(), r.Scope.String(), r.Name, r.ID, strconv.FormatInt(r.Version, 10), ageOf(r.CreatedAt, a.cfg.Now()))
	}, "nothing is parked", "KIND", "SCOPE", "NAME", "ID", "VERSION", "AGE")
}

// listing completes a command that shows one of a node's lists. read is told
// whether whole values will be shown.
func listing[T any](a *app, cmd *cobra.Command, read func(ctx context.Context, n node, data bool) (fleet.List[T], error), row func(*table, T), empty string, header ...string) *cobra.Command {
	out := newOutput(formatTable, formatJSON, formatYAML, formatPath)
	cmd.Flags().VarP(out, "output", "o", out.choice())
	cmd.Args = cobra.NoArgs
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		n, err := a.connect()
		if err != nil {
			return err
		}
		list, err := read(cmd.Context(), n, out.isData())
		if err != nil {
			what := cmd
			if what.Name() == "list" {
				what = cmd.Parent()
			}
			return fail("list "+what.Name(), err)
		}
		if list.Truncated {
			a.warn("the list is cut after %d items", len(list.Items))
		}
		if out.isData() {
			items, err := marshalAll(list.Items)
			if err != nil {
				return err
			}
			return out.writeList(a.cfg.Stdout, items)
		}
		if len(list.Items) == 0 {
			a.note("%s", empty)
			return nil
		}
		t := &table{}
		t.row(header...)
		for _, item := range list.Items {
			row(t, item)
		}
		return t.write(a.cfg.Stdout)
	})
	return cmd
}

// stampTime shows "HLC@INCARNATION" or an HLC alone for people: when, and the
// end of who. What is no stamp is shown as it is.
func stampTime(stamp string) string {
	at, by, written := strings.Cut(stamp, "@")
	ts, err := hlc.Parse(at)
	if err != nil {
		return stamp
	}
	when := ts.Time()
	if !written {
		return timeOf(&when)
	}
	return timeOf(&when) + "@…" + by[max(0, len(by)-6):]
}

// timeOf shows an optional time.
func timeOf(t *time.Time) string {
	if t == nil {
		return none
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
