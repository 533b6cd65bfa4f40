package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

// deleteFlags are the flags of delete.
type deleteFlags struct {
	scope    scopeFlags
	files    fileFlags
	write    writeFlags
	selector selectorValue
	ids      []string
	ignore   bool
}

const deleteLong = `Ask for the deletion of records: by name, by id, by label selector, or those that
manifests name.

A record with finalizers stays, terminating, until the last is removed. A
deletion is a write: it spreads through the fleet, a person's outranks an
automated one, and a record written again later returns.`

const deleteExample = `  driftless delete skill summarise
  driftless delete skill/summarise skill/translate -p atlas
  driftless delete skills -l tier=trial -A
  driftless delete -f manifests/ --ignore-not-found
  driftless delete --id 01JDZ5T8Q9W3X7Y2K4M6N8P0RS --as human`

func (a *app) deleteCommand() *cobra.Command {
	f := &deleteFlags{}
	cmd := &cobra.Command{
		Use:               "delete {KIND NAME... | KIND/NAME... | KIND -l SELECTOR | -f FILENAME | --id ID...}",
		Short:             "Delete records",
		Long:              deleteLong,
		Example:           deleteExample,
		Args:              f.args,
		ValidArgsFunction: a.completeRecords,
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			if len(f.files.files) > 0 {
				return a.deleteFiles(cmd.Context(), f)
			}
			return a.deleteRecords(cmd.Context(), f, args)
		}),
	}
	f.scope.add(cmd, true)
	f.files.add(cmd)
	f.write.add(cmd)
	cmd.Flags().VarP(&f.selector, "selector", "l", "the records of KIND whose labels match")
	cmd.Flags().StringArrayVar(&f.ids, "id", nil, "the record with this `ID` (may be repeated)")
	cmd.Flags().BoolVar(&f.ignore, "ignore-not-found", false, "a record that is not there is as good as deleted")
	return cmd
}

// args holds the command to one way of saying which records are meant.
func (f *deleteFlags) args(cmd *cobra.Command, args []string) error {
	switch {
	case len(f.files.files) > 0 && (len(args) > 0 || f.selector.set || len(f.ids) > 0):
		return fmt.Errorf("-f says which records: give no kind, name, id or selector beside it")
	case len(f.files.files) > 0 && f.scope.all:
		return fmt.Errorf("-f says which records: -A does not go with it")
	case len(f.files.files) > 0:
		return nil
	case f.selector.set && (len(args) != 1 || strings.Contains(args[0], "/") || len(f.ids) > 0):
		return fmt.Errorf("a selector chooses among the records of one kind: KIND -l SELECTOR")
	case f.selector.set && f.selector.text == "":
		return fmt.Errorf("an empty selector would delete every record: name them")
	case f.selector.set:
		return nil
	}
	if err := recordArgs(&f.ids, 1)(cmd, args); errors.Is(err, errNoName) {
		return fmt.Errorf("%w, or choose by label: %s -l SELECTOR", err, args[0])
	} else if err != nil {
		return err
	}
	return nil
}

func (a *app) deleteRecords(ctx context.Context, f *deleteFlags, args []string) error {
	n, kinds, err := a.open(ctx)
	if err != nil {
		return err
	}
	at, err := a.doomed(ctx, n, kinds, f, args)
	if err != nil {
		return fail("delete", err)
	}
	return a.each(ctx, kinds, &f.write, at, verb{name: "delete", act: n.Delete, done: deleted, gone: f.ignore})
}

// doomed are the records to delete. Those that were looked up are addressed by
// id, so that no other is deleted in their place.
func (a *app) doomed(ctx context.Context, n node, kinds kindSet, f *deleteFlags, args []string) ([]address, error) {
	if f.selector.set {
		kind, err := kinds.resolve(args[0])
		if err != nil {
			return nil, err
		}
		q := query{kind: pathWord(kind.GroupKind()), selector: f.selector.text}
		if !f.scope.all {
			scope, err := f.scope.pick(kind)
			if err != nil {
				return nil, err
			}
			q.scope = &scope
		}
		at, err := found(ctx, n, q)
		if err == nil && len(at) == 0 {
			a.note("no %s matches", kinds.word(kind.GroupKind()))
		}
		return at, err
	}
	at, err := addressesOf(kinds, &f.scope, f.ids, args)
	if err != nil || !f.scope.all || len(f.ids) > 0 {
		return at, err
	}
	var out []address
	for _, one := range at {
		ids, err := found(ctx, n, query{kind: one.kind, name: one.name})
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 && !f.ignore {
			return nil, fmt.Errorf("%s: %w in any scope", kinds.shown(one), resource.ErrNotFound)
		}
		out = append(out, ids...)
	}
	return out, nil
}

func found(ctx context.Context, n node, q query) (out []address, err error) {
	records, err := n.List(ctx, q)
	for i := range records {
		out = append(out, address{id: records[i].ID})
	}
	return out, err
}

// deleteFiles deletes what manifests name: kinds last, as one that has records
// cannot go.
func (a *app) deleteFiles(ctx context.Context, f *deleteFlags) error {
	b, err := a.readBatch(ctx, f.files, &f.scope, &f.write)
	if err != nil {
		return err
	}
	kinds, others := b.split()
	for _, j := range slices.Concat(others, kinds) {
		if j.err == nil && j.at.name == "" {
			j.err = fmt.Errorf("%w: metadata.name: a document with generateName names no record", resource.ErrInvalid)
		}
		var w written
		err := j.err
		if err == nil {
			w, err = b.node.Delete(ctx, j.at, b.options)
		}
		switch {
		case err == nil:
			b.result(b.kinds.label(&w.resource), deleted(w), w)
		case f.ignore && isNotFound(err):
		default:
			if stop := b.failed(j, err); stop != nil {
				return stop
			}
		}
	}
	return b.end("delete")
}

// deleted is what became of a record that was to be deleted.
func deleted(w written) string {
	if w.resource.Deleted || len(w.resource.Finalizers) == 0 {
		return "deleted"
	}
	return "terminating, waits for " + strings.Join(w.resource.Finalizers, ", ") + " (apply it with finalizers: [] to remove them)"
}
