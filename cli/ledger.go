package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

func (a *app) ledgerCommand() *cobra.Command {
	cmd := a.ledgerList("ledger")
	cmd.Args = noSuch
	cmd.Short = "List, show, compare and restore versions that lost a conflict"
	cmd.Long = `List, show, compare and restore versions that lost a conflict: parts of records
that were written apart from what replaced them. Nothing that lost is gone
silently; the node that saw it lose keeps it, within bounds of size and age.

An entry is named by letters and digits, the same on every node; the first few
will do. Alone, the command lists.`
	cmd.Example = `  driftless ledger
  driftless ledger show 7k3m9q2x
  driftless ledger diff 7k3m
  driftless ledger restore 7k3m --as human`
	list := a.ledgerList("list")
	list.Short = "List versions that lost a conflict"
	list.Example = `  driftless ledger list --reason outranked
  driftless ledger list --kind skill -p atlas --name summarise
  driftless ledger list -o yaml     # with the versions that lost`
	cmd.AddCommand(list, a.ledgerShow(), a.ledgerDiff(), a.ledgerRestore())
	return cmd
}

// ledgerList is the listing, under one of its names.
func (a *app) ledgerList(use string) *cobra.Command {
	var q lossQuery
	var scope scopeFlags
	cmd := listing(a, &cobra.Command{Use: use}, func(ctx context.Context, n node, data bool) (fleet.List[fleet.Loss], error) {
		var err error
		if q.scope, err = scope.only(); err != nil {
			return fleet.List[fleet.Loss]{}, err
		}
		q.full = data
		return n.Ledger(ctx, q)
	}, func(t *table, l fleet.Loss) {
		t.row(shortEntry(l.Entry), ageOf(l.FoundAt, a.cfg.Now()), l.Kind, l.Scope, l.Name, l.Register, l.Reason, l.Actor, stampTime(l.HLC), stampTime(l.Winner), l.ID)
	}, "nothing was lost", "ENTRY", "FOUND", "KIND", "SCOPE", "NAME", "PART", "REASON", "ACTOR", "WRITTEN", "WINNER", "ID")
	fs := cmd.Flags()
	fs.StringVar(&q.id, "id", "", "what the record with this `ID` lost")
	fs.StringVar(&q.kind, "kind", "", "what records of this `kind` lost")
	fs.Var(&scope.scope, "scope", "what records in this scope lost: global, or project=P,workspace=W")
	fs.StringVarP(&scope.project, "project", "p", "", "short for --scope project=`P`")
	fs.StringVar(&q.name, "name", "", "what records of this `name` lost")
	fs.StringVar(&q.reason, "reason", "", "what lost for this `reason`: released, outranked, fenced, later, cloned, collected or overfull")
	fs.IntVar(&q.limit, "limit", 0, "at most so many entries; 0 is all")
	cmd.MarkFlagsMutuallyExclusive("scope", "project")
	return cmd
}

// shortEntry is the beginning of an entry's name: enough, most of the time.
func shortEntry(entry string) string { return entry[:min(len(entry), 8)] }

func (a *app) ledgerShow() *cobra.Command {
	out := newOutput("text", formatJSON, formatYAML, formatPath)
	cmd := &cobra.Command{
		Use:   "show ENTRY",
		Short: "Show a version that lost: what it says, who wrote it, and why it lost",
		Example: `  driftless ledger show 7k3m9q2x
  driftless ledger show 7k3m -o jsonpath={.resource}`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			l, err := n.Loss(cmd.Context(), args[0])
			switch {
			case err != nil:
				return fail("show entry "+args[0], err)
			case out.isData():
				return out.writeOne(a.cfg.Stdout, l)
			}
			return a.printLoss(l)
		}),
	}
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}

func (a *app) printLoss(l fleet.Loss) error {
	actor, winner, from := l.Actor, "nothing: the record is gone", none
	if actor == "" {
		actor = "somebody"
	}
	if l.Winner != "" {
		winner = stampTime(l.Winner) + called(l.WinnerName)
	}
	if l.From != "" {
		from = l.From + called(l.FromName)
	}
	for _, p := range [][2]string{
		{"Entry", l.Entry},
		{"Record", fmt.Sprintf("%s %s in %s (%s)", l.Kind, l.Name, l.Scope, l.ID)},
		{"Part", l.Register},
		{"Written", fmt.Sprintf("%s by %s, as %s", stampTime(l.HLC), l.Writer+called(l.WriterName), actor)},
		{"Lost", l.Reason + ": " + reasonInWords(l.Reason)},
		{"Winner", winner},
		{"Found", timeOf(&l.FoundAt) + ", " + ageOf(l.FoundAt, a.cfg.Now()) + " ago"},
		{"From", from},
	} {
		a.line("%-9s %s", p[0]+":", p[1])
	}
	a.line("")
	return (&output{format: formatYAML}).writeOne(a.cfg.Stdout, l.Resource)
}

func called(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// reasonInWords is why a version lost, for people.
func reasonInWords(reason string) string {
	switch reason {
	case "released":
		return "a person gave the record back to automation meanwhile"
	case "outranked":
		return "a person's write stands against automation's"
	case "fenced":
		return "a newer holder's write stands"
	case "later":
		return "the later of two writes that did not know of each other stands"
	case "cloned":
		return "two writes carried one stamp: an instance was cloned"
	case "collected":
		return "its record had ended meanwhile, and the fleet has forgotten it"
	case "overfull":
		return "the record has as many finalizers as it may, and higher ones fill it"
	}
	return "this program does not know the reason"
}
