package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"driftless.dev/manifest"
	"driftless.dev/resource"
)

// job is a document on its way to the node.
type job struct {
	doc  manifest.Document
	want resource.Resource // what is sent
	id   string            // metadata.id: the document was printed by get
	at   address
	err  error // why it will not be sent
}

// batch is the documents of one command.
type batch struct {
	*app
	node    node
	kinds   kindSet            // the node's, and those among the documents
	known   kindSet            // the node's
	local   *resource.Registry // those among the documents
	scope   *scopeFlags
	write   *writeFlags
	options writeOptions
	jobs    []*job
	bad     int
}

// readBatch reads manifests and finds out, before anything is written, where
// each document goes.
func (a *app) readBatch(ctx context.Context, files fileFlags, scope *scopeFlags, write *writeFlags) (*batch, error) {
	docs, err := manifest.Read(files.files, a.cfg.Stdin, files.recursive)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("read manifests: no document in %s", strings.Join(files.files, ", "))
	}
	b := &batch{app: a, scope: scope, write: write, options: write.options(), local: resource.NewRegistry()}
	warnings := &warnings{}
	for _, d := range docs {
		j := &job{doc: d}
		var notes []string
		notes, j.err = j.read()
		warnings.add(d, notes)
		b.jobs = append(b.jobs, j)
	}
	warnings.print(a)
	if b.node, b.known, err = a.open(ctx); err != nil {
		return nil, err
	}
	b.learn()
	for _, j := range b.jobs {
		if j.err == nil {
			j.at, j.err = b.place(j)
		}
	}
	return b, nil
}

// read turns a document into what is sent.
func (j *job) read() (notes []string, err error) {
	if j.doc.Err != nil {
		return nil, errors.New(strings.TrimPrefix(j.doc.Err.Error(), j.doc.String()+": "))
	}
	form, notes, err := manifest.Normalize(j.doc.JSON)
	if err != nil {
		return nil, err
	}
	var system struct {
		Metadata struct {
			ID string `json:"id"`
		} `json:"metadata"`
	}
	if err := jsonv2.Unmarshal(form, &system); err != nil {
		return nil, err
	}
	j.id = system.Metadata.ID
	if j.want, err = parse(form); err != nil {
		return nil, err
	}
	if isCRD(&j.want) {
		return nil, fmt.Errorf("a CustomResourceDefinition is no record: driftless import crd -f %s makes its kinds known", j.doc.Source)
	}
	return notes, nil
}

// parse reads a form. A list that it names is not nil, also when it is empty:
// it shall clear what is stored.
func parse(form []byte) (resource.Resource, error) {
	r, given, err := resource.ParseForm(form)
	if given.Finalizers && r.Finalizers == nil {
		r.Finalizers = []string{}
	}
	if given.OwnerReferences && r.OwnerReferences == nil {
		r.OwnerReferences = []resource.OwnerReference{}
	}
	return r, err
}

func isCRD(r *resource.Resource) bool {
	return r.Kind == "CustomResourceDefinition" && strings.HasPrefix(r.APIVersion, "apiextensions.k8s.io/")
}

func isKind(r *resource.Resource) bool {
	return r.APIVersion == resource.CoreGroupVersion && r.Kind == resource.KindKind
}

// learn adds the kinds among the documents to those that the node knows. What
// is wrong with one is the node's to say.
func (b *batch) learn() {
	all := slices.Clone(b.known.all)
	for _, j := range b.jobs {
		if j.err != nil || !isKind(&j.want) {
			continue
		}
		if k, err := resource.KindFromResource(j.want); err == nil && b.local.Register(k) == nil {
			all = append(all, k)
		}
	}
	b.kinds = newKindSet(all)
}

// awaits reports whether a kind will be known only when the documents are
// applied.
func (b *batch) awaits(g resource.GroupKind) bool {
	_, known := b.known.reg.LookupKind(g)
	_, here := b.local.LookupKind(g)
	return here && !known
}

// place says where a document goes. One that get printed names its scope, and
// no scope is the global one; any other without a scope goes where the command
// says, else to its kind's default.
func (b *batch) place(j *job) (address, error) {
	kind, _ := b.kinds.of(&j.want)
	at := address{kind: pathWord(j.want.GroupKind()), scope: j.want.Scope, name: j.want.Name}
	if kind.FleetLevel() {
		return at, nil // only the global scope: the node refuses another
	}
	scope, err := b.scope.pick(kind)
	switch {
	case err != nil:
		return at, err
	case at.scope.IsGlobal() && j.id == "":
		at.scope, j.want.Scope = scope, scope
	case b.scope.named() && at.scope != scope:
		return at, fmt.Errorf("%w: metadata.scope: the document says %s, the command %s", resource.ErrInvalid, at.scope, scope)
	}
	return at, nil
}

// split parts the documents of kind Kind from the others, in order: a kind must
// be there before its records, and go after them.
func (b *batch) split() (kinds, others []*job) {
	for _, j := range b.jobs {
		if isKind(&j.want) {
			kinds = append(kinds, j)
		} else {
			others = append(others, j)
		}
	}
	return kinds, others
}

// result prints what became of a record.
func (b *batch) result(label, word string, w written) {
	b.printResult(b.write, label, word, w, &b.options)
}

// failed prints why a document was not written. Without a node there is no use
// in going on: that error is returned.
func (b *batch) failed(j *job, err error) error {
	if unanswered(err) {
		return err
	}
	b.bad++
	if j.want.Kind == "" {
		b.failedLine(b.write.prefix(), j.doc.String(), err, "")
		return nil
	}
	name := j.want
	if name.Name == "" {
		name.Name = name.GenerateName + "*"
	}
	b.failedLine(b.write.prefix(), b.kinds.label(&name), err, " ("+j.doc.String()+")")
	return nil
}

// end is the batch's error, if any document failed.
func (b *batch) end(verb string) error {
	if b.bad == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d documents failed", verb, b.bad, len(b.jobs))
}
