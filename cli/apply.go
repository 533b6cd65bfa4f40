package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

const applyLong = `Write what manifests say: YAML or JSON documents in files, directories and "-"
for stdin. Each document is one write, whole or not at all; a document that
fails does not keep the others from being written, and the exit code is then 1.
Documents of kind Kind are written first.

Labels, annotations and spec are replaced. Finalizers and ownerReferences that a
document leaves out stay as they are. A namespace becomes the scope's project,
and what a Kubernetes cluster wrote for itself is left out with a warning.

Without --scope a document goes to the scope that it names, else to its kind's
default scope. A document that get printed goes back to where it came from.

A write counts when it is durable on the node. --wait asks that it be further;
when the time is over first, a warning says how far it came and the exit code
is still 0, because the write stands (see also: driftless fleet wait).`

const applyExample = `  driftless apply -f skill.yaml
  driftless apply -f manifests/ -R --scope project=atlas
  driftless get skill summarise -o yaml | sed 's/small/large/' | driftless apply -f -
  driftless apply -f skill.yaml --as human --wait fleet
  driftless apply -f manifests/ --dry-run`

// fileFlags say which manifests are read.
type fileFlags struct {
	files     []string
	recursive bool
}

func (f *fileFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "a file, a directory or - for stdin, as `PATH` (may be repeated)")
	cmd.Flags().BoolVarP(&f.recursive, "recursive", "R", false, "read directories with all that is in them")
}

// filesAreFlags tells who gives a file as an argument how it is given.
func filesAreFlags(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q: a file is given with -f: %s -f %s", args[0], cmd.CommandPath(), args[0])
}

func (a *app) applyCommand() *cobra.Command {
	var files fileFlags
	var scope scopeFlags
	var write writeFlags
	cmd := &cobra.Command{
		Use:     "apply -f FILENAME",
		Short:   "Write what manifests say",
		Long:    applyLong,
		Example: applyExample,
		Args:    filesAreFlags,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			if len(files.files) == 0 {
				return misuse(cmd.CommandPath(), "say what to apply: -f FILE, -f DIR or -f -")
			}
			b, err := a.readBatch(cmd.Context(), files, &scope, &write)
			if err != nil {
				return err
			}
			return b.apply(cmd.Context(), "apply")
		}),
	}
	files.add(cmd)
	scope.add(cmd, false)
	write.add(cmd)
	return cmd
}

// apply writes every document that can be.
func (b *batch) apply(ctx context.Context, verb string) error {
	kinds, others := b.split()
	for _, j := range slices.Concat(kinds, others) {
		word, w, err := b.applyOne(ctx, j)
		if err != nil {
			if stop := b.failed(j, err); stop != nil {
				return stop
			}
			continue
		}
		b.result(b.kinds.label(&w.resource), word, w)
	}
	return b.end(verb)
}

// applyOne writes a document and says what became of it.
func (b *batch) applyOne(ctx context.Context, j *job) (word string, w written, err error) {
	if j.err != nil {
		return "", w, j.err
	}
	if b.write.dryRun && b.awaits(j.want.GroupKind()) {
		if err := b.local.Validate(j.want.APIVersion, j.want.Kind, j.want.Spec); err != nil {
			return "", w, err
		}
		return "created", written{resource: j.want}, nil
	}
	if j.at.name == "" {
		w, err := b.node.Put(ctx, j.at, j.want, b.options)
		return "created", w, err
	}
	before, err := b.stored(ctx, j)
	if err != nil {
		return "", w, err
	}
	if w, err = b.node.Put(ctx, j.at, j.want, b.options); err != nil {
		return "", w, err
	}
	switch {
	case w.created:
		return "created", w, nil
	case w.resource.Digest == before.Digest:
		return "unchanged", w, nil
	}
	return "configured", w, nil
}

// stored reads what the document will meet. A document that came from here and
// lost its name to another record is written to its own record, by id.
func (b *batch) stored(ctx context.Context, j *job) (resource.Resource, error) {
	before, err := b.node.Get(ctx, j.at)
	if err != nil && !errors.Is(err, resource.ErrNotFound) {
		return before, err
	}
	if j.id == "" || j.id == before.ID {
		return before, nil
	}
	own, err := b.node.Get(ctx, address{id: j.id})
	switch {
	case errors.Is(err, resource.ErrNotFound):
		return before, nil // an id of another fleet, or of a record that is gone
	case err != nil:
		return before, err
	case own.GroupKind() != j.want.GroupKind() || own.Name != j.want.Name || own.Scope != j.at.scope:
		return before, fmt.Errorf("%w: metadata.id %s is that of %s in %s: remove the id to write a record of its own", resource.ErrInvalid, j.id, b.kinds.label(&own), own.Scope)
	}
	j.at = address{id: j.id}
	return own, nil
}
