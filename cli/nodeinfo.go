package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

func (a *app) nodeCommand() *cobra.Command {
	out := newOutput("text", formatJSON, formatYAML, formatPath)
	info := &cobra.Command{
		Use:   "info",
		Short: "Show the node's account of itself",
		Long:  `Show what the node says of itself: who it is, what it holds, how it is connected.`,
		Example: `  driftless node info
  driftless node info -o json
  driftless node info -o jsonpath='{.superRoot}'`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			i, err := n.Info(cmd.Context())
			if err != nil {
				return fail("show node", err)
			}
			if out.isData() {
				return out.writeOne(a.cfg.Stdout, i)
			}
			return a.printNode(i)
		}),
	}
	info.Flags().VarP(out, "output", "o", out.choice())
	return parent("node", "Look at the node that answers, repair it, or change what it is", "", "  driftless node info\n  driftless node repair --from b", info, a.repairCommand(), a.rejoinCommand(), a.reidentifyCommand())
}

// printNode prints pairs of a name and a value, then the realms.
func (a *app) printNode(n fleet.Node) error {
	ready := "yes"
	if !n.Ready {
		ready = "no: " + n.Waiting
	}
	pairs := [][2]string{
		{"Name", n.Name}, {"Fleet", n.Fleet}, {"Version", n.Version}, {"Ready", ready},
		{"Instance", n.Instance}, {"Incarnation", n.Incarnation}, {"Log", n.LogID},
		{"Started", timeOf(&n.StartedAt)},
		{"Records", strconv.Itoa(n.Records)}, {"Root", n.SuperRoot},
		{"Sequence", fmt.Sprintf("%d to %d, published up to %d", n.FirstSeq, n.Seq, n.Published)}, {"HLC", n.HLC},
		{"NATS", transport(n.NATS)}, {"Clock", clock(n.Clock)},
		{"Merges", fmt.Sprintf("%d applied, %d ignored, %d conflicts, %d rejected, %d quarantined",
			n.Counts.Applied, n.Counts.Ignored, n.Counts.Conflicts, n.Counts.Rejected, n.Counts.Quarantined)},
	}
	if n.LastError != "" {
		pairs = append(pairs, [2]string{"Last error", n.LastError})
	}
	if n.DamagedRows > 0 {
		pairs = append(pairs, [2]string{"Damaged", fmt.Sprintf("%d rows", n.DamagedRows)})
	}
	for _, d := range n.Damaged {
		pairs = append(pairs, [2]string{"", d.Reason})
	}
	for _, c := range n.Conditions {
		pairs = append(pairs, [2]string{"Condition", c})
	}
	for _, p := range pairs {
		a.line("%-12s %s", p[0]+":", p[1])
	}
	if len(n.Realms) == 0 {
		return nil
	}
	a.line("")
	t := &table{}
	t.row("REALM", "RECORDS", "ROOT")
	for _, r := range n.Realms {
		t.row(r.Name, strconv.Itoa(r.Records), short(r.Root))
	}
	return t.write(a.cfg.Stdout)
}

func transport(t fleet.Transport) string {
	parts := []string{"not connected"}
	if t.Connected {
		parts[0] = "connected"
	}
	if t.URL != "" {
		parts[0] += " to " + t.URL
	}
	if t.Stream {
		parts = append(parts, "stream in use")
	} else {
		parts = append(parts, "no stream")
	}
	if t.Listen != "" {
		parts = append(parts, "listens at "+t.Listen)
	}
	if t.Reason != "" {
		parts = append(parts, t.Reason)
	}
	return strings.Join(parts, ", ")
}

func clock(c fleet.Clock) string {
	if !c.Sure {
		return "too few clocks to compare with"
	}
	return fmt.Sprintf("%s from the members' median, limit %s", offset(c.OffsetSeconds), strings.TrimPrefix(offset(c.MaxOffsetSeconds), "+"))
}
