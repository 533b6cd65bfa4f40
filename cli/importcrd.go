package cli

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"driftless.dev/manifest"
	"driftless.dev/resource"
)

const importLong = `Turn CustomResourceDefinitions into kinds and write them: one kind for each
served version, with the schema of its spec, its short names as aliases and its
printer columns. Warnings name what the kind does not check or keep.

With identity "name" a manifest that two nodes apply apart is one record, as in
Kubernetes; with "unique" it is two records that dispute the name. The identity
of a kind never changes. Documents that are no definitions are passed over.`

const importExample = `  driftless import crd -f gateway-crds.yaml
  driftless import crd -f crds/ -R --dry-run
  curl -sL https://example.dev/crds.yaml | driftless import crd -f -
  driftless import crd -f crds/ -o yaml > kinds.yaml`

// importFlags are the flags of import crd.
type importFlags struct {
	files    fileFlags
	write    writeFlags
	identity string
	out      *output
}

func (a *app) importCommand() *cobra.Command {
	f := &importFlags{out: newOutput("", formatYAML, formatJSON)}
	crd := &cobra.Command{
		Use:     "crd -f FILENAME",
		Short:   "Make the kinds of CustomResourceDefinitions known",
		Long:    importLong,
		Example: importExample,
		Args:    filesAreFlags,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			if len(f.files.files) == 0 {
				return misuse(cmd.CommandPath(), "say what to import: -f FILE, -f DIR or -f -")
			}
			if f.identity != string(resource.IdentityName) && f.identity != string(resource.IdentityUnique) {
				return misuse(cmd.CommandPath(), "--identity %q is neither name nor unique", f.identity)
			}
			return a.importCRDs(cmd.Context(), f)
		}),
	}
	f.files.add(crd)
	f.write.add(crd)
	crd.Flags().StringVar(&f.identity, "identity", string(resource.IdentityName), "`identity` of the kinds' records: name or unique")
	crd.Flags().VarP(f.out, "output", "o", "yaml|json: print the kinds instead of writing them")
	return parent("import", "Make kinds known that are described elsewhere", "", "  driftless import crd -f crds/", crd)
}

func (a *app) importCRDs(ctx context.Context, f *importFlags) error {
	docs, err := manifest.Read(f.files.files, a.cfg.Stdin, f.files.recursive)
	if err != nil {
		return err
	}
	b := &batch{app: a, scope: &scopeFlags{}, write: &f.write, options: f.write.options(), local: resource.NewRegistry()}
	b.kinds = newKindSet(resource.CoreKinds())
	b.known = b.kinds
	if skipped := b.convert(docs, f.identity); skipped > 0 {
		a.warn("passed over what is no CustomResourceDefinition (%d): driftless apply writes records", skipped)
	}
	if len(b.jobs) == 0 {
		return errors.New("import crd: no CustomResourceDefinition found")
	}
	if f.out.isData() {
		return b.printWanted(f.out)
	}
	if b.node, err = a.connect(); err != nil {
		return err
	}
	for _, j := range b.jobs {
		if j.err == nil {
			j.at, j.err = b.place(j)
		}
	}
	return b.apply(ctx, "import crd")
}

// convert makes a job of each kind, and of each definition that is none.
func (b *batch) convert(docs []manifest.Document, identity string) (skipped int) {
	notes := &warnings{}
	for _, d := range docs {
		if d.Err != nil {
			j := &job{doc: d}
			_, j.err = j.read()
			b.jobs = append(b.jobs, j)
			continue
		}
		kinds, found, err := manifest.ImportCRD(d.JSON, identity)
		notes.add(d, found)
		switch {
		case errors.Is(err, manifest.ErrNotCRD):
			skipped++
		case err != nil:
			b.jobs = append(b.jobs, &job{doc: d, err: err})
		}
		for _, form := range kinds {
			j := &job{doc: d}
			j.want, j.err = parse(form)
			b.jobs = append(b.jobs, j)
		}
	}
	notes.print(b.app)
	return skipped
}

// printWanted prints the kinds that would be written.
func (b *batch) printWanted(out *output) error {
	var items []jsontext.Value
	for _, j := range b.jobs {
		if j.err == nil {
			item, err := marshal(&j.want)
			if err != nil {
				return err
			}
			items = append(items, item)
			continue
		}
		b.bad++
		b.failedLine("", j.doc.String(), j.err, "")
	}
	if len(items) > 0 {
		if err := out.writeRecords(b.cfg.Stdout, items); err != nil {
			return err
		}
	}
	return b.end("import crd")
}
