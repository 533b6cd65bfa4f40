package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"driftless.dev/fleet"
	"driftless.dev/manifest"
	"driftless.dev/resource"
)

func (a *app) ledgerDiff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff ENTRY",
		Short: "Compare a version that lost with what is live now",
		Long: `Compare a version that lost with what is live now, as a unified diff: what
restore would take away begins with -, what it would bring back with +.`,
		Example: `  driftless ledger diff 7k3m9q2x`,
		Args:    cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			l, err := lostVersion(cmd.Context(), n, args[0])
			if err != nil {
				return fail("compare entry "+args[0], err)
			}
			return a.printDiff(l)
		}),
	}
}

func (a *app) ledgerRestore() *cobra.Command {
	write := &writeFlags{}
	cmd := &cobra.Command{
		Use:   "restore ENTRY...",
		Short: "Write the content of versions that lost anew",
		Long: `Write the content of versions that lost anew, each after showing what changes.

What is restored is the part that lost: labels, annotations, spec and owner
references; or the status; or the deletion; or the finalizer. It is a write like
any other, judged by the node as the caller's: over what a person wrote last only
a person restores (--as human). A record that has ended is made again under its
name. The entry stays in the ledger: it says what happened.`,
		Example: `  driftless ledger restore 7k3m9q2x
  driftless ledger restore 7k3m --as human --wait fleet
  driftless ledger restore 7k3m --dry-run`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			n, kinds, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			o, bad := write.options(), 0
			for _, entry := range args {
				err := a.restore(cmd.Context(), n, kinds, write, &o, entry)
				if unanswered(err) {
					return err
				}
				if err != nil {
					bad++
					a.failedLine(write.prefix(), "entry "+entry, err, restoreHint(err, o))
				}
			}
			if bad > 0 {
				return fmt.Errorf("restore: %d of %d failed", bad, len(args))
			}
			return nil
		}),
	}
	write.add(cmd)
	return cmd
}

// lost is an entry of the ledger beside what is live now.
type lost struct {
	fleet.Loss
	version resource.Resource
	// live is the record now, nil when it is gone.
	live *resource.Resource
}

func lostVersion(ctx context.Context, n node, entry string) (l lost, err error) {
	if l.Loss, err = n.Loss(ctx, entry); err != nil {
		return l, err
	}
	if err := jsonv2.Unmarshal(l.Resource, &l.version); err != nil {
		return l, fmt.Errorf("read entry: %w", err)
	}
	live, err := n.Get(ctx, address{id: l.ID})
	switch {
	case err == nil:
		l.live = &live
	case !errors.Is(err, resource.ErrNotFound):
		return l, err
	}
	return l, nil
}

// finalizer is the key of a finalizer that lost.
func (l *lost) finalizer() (key string, ok bool) { return strings.CutPrefix(l.Register, "finalizers/") }

// printDiff shows what a restore would change.
func (a *app) printDiff(l lost) error {
	then, err := l.shown(&l.version)
	if err != nil {
		return err
	}
	name, now := "live "+l.ID, []byte(nil)
	if l.live == nil {
		name = "/dev/null"
		a.note("entry %s: %s %s in %s is gone: there is nothing live to compare with", shortEntry(l.Entry), l.Kind, l.Name, l.Scope)
	} else if now, err = l.shown(l.live); err != nil {
		return err
	}
	d := diff.Diff(name, now, "lost "+shortEntry(l.Entry), then)
	if len(d) == 0 {
		a.note("entry %s: no difference: what lost is what is live", shortEntry(l.Entry))
		return nil
	}
	_, d, _ = bytes.Cut(d, []byte("\n")) // "diff OLD NEW", which says nothing more
	_, err = a.cfg.Stdout.Write(d)
	return err
}

// shown is the part of a record that the entry is about, as YAML.
func (l *lost) shown(r *resource.Resource) ([]byte, error) {
	part := struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       jsontext.Value `json:"spec,omitzero"`
		Status     jsontext.Value `json:"status,omitzero"`
	}{r.APIVersion, r.Kind, map[string]any{"name": r.Name}, nil, nil}
	m := part.Metadata
	if !r.Scope.IsGlobal() {
		m["scope"] = r.Scope
	}
	key, isFinalizer := l.finalizer()
	switch {
	case isFinalizer:
		m["finalizers"] = r.Finalizers
		if r == &l.version {
			m["finalizers"] = l.withKey(key)
		}
	case l.Register == "deletion":
		m["deletion"] = none
		if r == &l.version {
			m["deletion"] = l.Strength
		} else if r.DeletionTimestamp != nil {
			m["deletion"] = r.DeletionStrength.String()
		}
	case l.Register == "observed":
		part.Status = jsontext.Value(r.Status)
	default:
		for name, labels := range map[string]map[string]string{"labels": r.Labels, "annotations": r.Annotations} {
			if len(labels) > 0 {
				m[name] = labels
			}
		}
		if len(r.OwnerReferences) > 0 {
			m["ownerReferences"] = r.OwnerReferences
		}
		if r.ValidFrom != nil {
			m["validFrom"] = r.ValidFrom
		}
		if r.ValidTo != nil {
			m["validTo"] = r.ValidTo
		}
		part.Spec = jsontext.Value(r.Spec)
	}
	raw, err := marshal(part)
	if err != nil {
		return nil, err
	}
	return manifest.FromJSON(raw)
}

// withKey are the live record's finalizers and the one that lost.
func (l *lost) withKey(key string) []string {
	keys := []string{key}
	if l.live != nil {
		keys = append(keys, l.live.Finalizers...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// restore writes an entry's content anew.
func (a *app) restore(ctx context.Context, n node, kinds kindSet, f *writeFlags, o *writeOptions, entry string) error {
	l, err := lostVersion(ctx, n, entry)
	if err != nil {
		return err
	}
	if err := a.printDiff(l); err != nil {
		return err
	}
	w, err := l.write(ctx, n, *o)
	if err != nil {
		return err
	}
	word := "restored"
	if l.live != nil && l.live.Digest == w.resource.Digest {
		word = "unchanged"
	}
	a.printResult(f, kinds.label(&w.resource), word, w, o)
	return nil
}

// write makes the write, against the live record that was compared with.
func (l *lost) write(ctx context.Context, n node, o writeOptions) (written, error) {
	if l.live == nil {
		return l.recreate(ctx, n, o)
	}
	at := address{id: l.ID, scope: l.live.Scope}
	o.ifMatch = l.live.Digest
	key, isFinalizer := l.finalizer()
	switch {
	case isFinalizer:
		want := *l.live
		want.Finalizers = l.withKey(key)
		return n.Put(ctx, at, want, o)
	case l.Register == "deletion" && l.Strength == resource.Teardown.String():
		return n.Teardown(ctx, at, o)
	case l.Register == "deletion":
		return n.Delete(ctx, at, o)
	case l.Register == "observed":
		return n.PutStatus(ctx, l.ID, l.version.Status, o)
	}
	return n.Put(ctx, at, l.wanted(), o)
}

// wanted is what the version asked for; an owner is who wrote a record first,
// and stays.
func (l *lost) wanted() resource.Resource {
	v := &l.version
	want := resource.Resource{
		APIVersion: v.APIVersion, Kind: v.Kind, Name: v.Name, Scope: v.Scope,
		Labels: v.Labels, Annotations: v.Annotations, Spec: v.Spec,
	}
	want.ValidFrom, want.ValidTo = v.ValidFrom, v.ValidTo
	want.OwnerReferences = append([]resource.OwnerReference{}, v.OwnerReferences...)
	return want
}

// recreate makes the record again under its name. It never takes the place of
// another that has the name now.
func (l *lost) recreate(ctx context.Context, n node, o writeOptions) (written, error) {
	if l.Register == "deletion" {
		return written{}, fmt.Errorf("%w: the record is gone, which is what the deletion asked for: there is nothing to restore", resource.ErrNotFound)
	}
	want := l.wanted()
	if o.owner == "" {
		want.Owner = l.version.Owner
	}
	if key, ok := l.finalizer(); ok {
		want.Finalizers = l.withKey(key)
	}
	w, err := n.Put(ctx, address{scope: want.Scope}, want, o)
	if err != nil || l.Register != "observed" || o.dryRun {
		return w, err
	}
	again, err := n.PutStatus(ctx, w.resource.ID, l.version.Status, o)
	if err != nil {
		return written{}, fmt.Errorf("the record is made again as %s, without its status: %w", w.resource.ID, err)
	}
	return again, nil
}

// restoreHint is the next step after a refusal.
func restoreHint(err error, o writeOptions) string {
	switch {
	case errors.Is(err, resource.ErrOutranked) && o.actor != resource.Human && strings.Contains(err.Error(), "person"):
		return " (restore it as a person: --as human)"
	case errors.Is(err, resource.ErrExists):
		return " (another record has the name now: delete that one first, or apply what lost under another name)"
	case errors.Is(err, resource.ErrConflict):
		return " (the record changed meanwhile: run restore again to see how)"
	}
	return ""
}
