package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

// kindSet is the kinds that a node knows, resolved by the node's own rules.
type kindSet struct {
	all []resource.Kind
	reg *resource.Registry
}

func newKindSet(kinds []resource.Kind) kindSet {
	s := kindSet{kinds, resource.NewRegistry()}
	for _, k := range kinds {
		k.Schema = nil // nothing is admitted here, and compiling takes time
		// A newer node may have kinds that this program does not take: they are
		// not found, and addressed by id.
		_ = s.reg.Register(k)
	}
	return s
}

// resolve returns the kind that a person's word means.
func (s kindSet) resolve(word string) (resource.Kind, error) { return s.reg.Resolve(word) }

// of returns the kind of a record, the version it was written in if that is
// served.
func (s kindSet) of(r *resource.Resource) (resource.Kind, bool) {
	if k, ok := s.reg.Lookup(r.APIVersion, r.Kind); ok {
		return k, true
	}
	return s.reg.LookupKind(r.GroupKind())
}

// word is the shortest unambiguous word for a kind: "skill", or
// "skill.skill.example.dev" where two groups have one.
func (s kindSet) word(g resource.GroupKind) string {
	word := strings.ToLower(g.Kind)
	if k, ok := s.reg.LookupKind(g); ok && k.Singular != "" {
		word = k.Singular
	}
	k, err := s.reg.Resolve(word)
	if err == nil && k.GroupKind() != g || errors.Is(err, resource.ErrAmbiguous) {
		return word + "." + g.Group
	}
	return word
}

// label names a record for people: "skill/summarise".
func (s kindSet) label(r *resource.Resource) string { return s.word(r.GroupKind()) + "/" + r.Name }

// pathWord is a kind as the API takes it without doubt: the dot stands also
// before an empty group.
func pathWord(g resource.GroupKind) string { return g.Kind + "." + g.Group }

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
