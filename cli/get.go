package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

// getFlags are the flags of get.
type getFlags struct {
	scope    scopeFlags
	selector selectorValue
	ids      []string
	out      *output
}

const getLong = `Show the records of a kind, or single ones by name or id.

A kind is said by its name, singular, plural or an alias; where two API groups
have one name, with its group: skill.skill.example.dev. Without a scope the
kind's default scope is meant. By name the holder of the name answers; records
that lost the name to it are reached by --id (see: driftless conflicts).`

const getExample = `  driftless get skills
  driftless get skills -p atlas -l tier=gold -o wide
  driftless get skills -A
  driftless get skill summarise -o yaml
  driftless get skill/summarise -o jsonpath='{.spec.size}'
  driftless get --id 01JDZ5T8Q9W3X7Y2K4M6N8P0RS`

func (a *app) getCommand() *cobra.Command {
	f := &getFlags{out: newOutput(formatTable, formatWide, formatJSON, formatYAML, formatName, formatPath)}
	cmd := &cobra.Command{
		Use:               "get {KIND [NAME...] | KIND/NAME... | --id ID...}",
		Short:             "Show records",
		Long:              getLong,
		Example:           getExample,
		Args:              recordArgs(&f.ids, 0),
		ValidArgsFunction: a.completeRecords,
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			return a.get(cmd, f, args)
		}),
	}
	f.scope.add(cmd, true)
	cmd.Flags().VarP(&f.selector, "selector", "l", "keep records whose labels match")
	cmd.Flags().StringArrayVar(&f.ids, "id", nil, "the record with this `ID` (may be repeated)")
	cmd.Flags().VarP(f.out, "output", "o", f.out.choice())
	return cmd
}

var errNoName = errors.New("say a name, or KIND/NAME")

// recordArgs checks arguments that say which records are meant: ids, or a kind
// and names, at least so many.
func recordArgs(ids *[]string, names int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(*ids) > 0 && len(args) > 0:
			return errors.New("--id says which record: give no kind and name beside it")
		case len(*ids) > 0:
			return nil
		case len(args) == 0:
			return errors.New("say a kind, or --id ID")
		}
		slashes := 0
		for _, arg := range args {
			slashes += strings.Count(arg, "/")
		}
		if slashes > 0 && slashes != len(args) {
			return errors.New("write KIND NAME... or KIND/NAME..., not both")
		}
		if slashes == 0 && len(args) < 1+names {
			return errNoName
		}
		return nil
	}
}

func (a *app) get(cmd *cobra.Command, f *getFlags, args []string) error {
	n, kinds, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	single := len(args) == 2 || len(args) == 1 && strings.Contains(args[0], "/") || len(f.ids) == 1
	p := recordPrinter{a, f.out, kinds, f.scope.all}
	if len(args) == 1 && !single {
		return a.getAll(cmd, f, n, p, args[0])
	}
	if f.selector.set {
		return misuse(cmd.CommandPath(), "a selector chooses among a kind's records: leave out the names")
	}
	records, failed := a.getEach(cmd.Context(), n, kinds, f, args)
	// What was found is shown whatever became of the rest.
	if len(records) > 0 || failed == nil {
		if err := p.print(records, single && !f.scope.all); err != nil {
			return err
		}
	}
	return failed
}

// getAll lists a kind.
func (a *app) getAll(cmd *cobra.Command, f *getFlags, n node, p recordPrinter, word string) error {
	kind, err := p.kinds.resolve(word)
	if err != nil {
		return fail("get "+word, err)
	}
	q := query{kind: pathWord(kind.GroupKind()), selector: f.selector.text}
	where := "any scope"
	if !f.scope.all {
		scope, err := f.scope.pick(kind)
		if err != nil {
			return misuse(cmd.CommandPath(), "%w", err)
		}
		q.scope, where = &scope, "scope "+scope.String()
	}
	records, err := n.List(cmd.Context(), q)
	if err != nil {
		return fail("get "+word, err)
	}
	if err := p.print(records, false); err != nil {
		return err
	}
	a.warnShared(p.kinds, records)
	if len(records) == 0 && !p.out.isData() {
		hint := ""
		if !f.scope.all {
			hint = " (-A looks in every scope)"
		}
		a.note("no %s found in %s%s", p.kinds.word(kind.GroupKind()), where, hint)
	}
	return nil
}

// getEach reads single records. Those that are not there are gathered in the
// error, one line each.
func (a *app) getEach(ctx context.Context, n node, kinds kindSet, f *getFlags, args []string) (out []resource.Resource, failed error) {
	addresses, err := addressesOf(kinds, &f.scope, f.ids, args)
	if err != nil {
		return nil, err
	}
	for _, at := range addresses {
		records, err := a.getOne(ctx, n, at, f.scope.all)
		if unanswered(err) {
			return out, err
		}
		if err != nil {
			failed = errors.Join(failed, fail("get "+kinds.shown(at), err))
		}
		out = append(out, records...)
	}
	return out, failed
}

// getOne reads one record, or with everywhere all of its name.
func (a *app) getOne(ctx context.Context, n node, at address, everywhere bool) ([]resource.Resource, error) {
	if at.id != "" || !everywhere {
		r, err := n.Get(ctx, at)
		if err != nil {
			return nil, elsewhere(ctx, n, at, err)
		}
		return []resource.Resource{r}, nil
	}
	records, err := n.List(ctx, query{kind: at.kind, name: at.name})
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("%w in any scope", resource.ErrNotFound)
	}
	return records, err
}
