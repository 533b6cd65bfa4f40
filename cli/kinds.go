package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

func (a *app) kindsCommand() *cobra.Command {
	out := newOutput(formatTable, formatWide, formatJSON, formatYAML, formatName)
	cmd := &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds that the node knows",
		Long: `List the kinds that the node knows, by API version, then name.

A kind is data: applying a record of kind Kind makes it known on every node.`,
		Example: `  driftless kinds
  driftless kinds -o wide
  driftless get kind skills.v1.skill.example.dev -o yaml`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			kinds, err := n.Kinds(cmd.Context())
			if err != nil {
				return fail("list kinds", err)
			}
			return a.printKinds(out, newKindSet(kinds))
		}),
	}
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}

func (a *app) printKinds(out *output, s kindSet) error {
	if out.isData() {
		items, err := marshalAll(s.all)
		if err != nil {
			return err
		}
		return out.writeList(a.cfg.Stdout, items)
	}
	t := &table{}
	wide := out.format == formatWide
	header := []string{"NAME", "ALIASES", "API VERSION", "KIND", "LEVEL", "IDENTITY"}
	if wide {
		header = append(header, "DEFAULT SCOPE", "SCHEMA", "COLUMNS")
	}
	if out.format != formatName {
		t.row(header...)
	}
	for _, k := range s.all {
		if out.format == formatName {
			t.row("kind/" + k.RecordName())
			continue
		}
		t.row(kindRow(k, wide)...)
	}
	return t.write(a.cfg.Stdout)
}

func kindRow(k resource.Kind, wide bool) []string {
	level, identity, plural := resource.LevelScoped, resource.IdentityUnique, k.Plural
	if k.FleetLevel() {
		level = resource.LevelFleet
	}
	if k.NamedByAddress() {
		identity = resource.IdentityName
	}
	if plural == "" {
		plural = strings.ToLower(k.Name)
	}
	row := []string{plural, strings.Join(k.Aliases, ","), k.APIVersion, k.Name, string(level), string(identity)}
	if !wide {
		return row
	}
	schema := "no"
	if len(k.Schema) > 0 {
		schema = "yes"
	}
	var columns []string
	for _, c := range k.PrintColumns {
		columns = append(columns, c.Name)
	}
	return append(row, k.DefaultScope.String(), schema, strings.Join(columns, ","))
}
