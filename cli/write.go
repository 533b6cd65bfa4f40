package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

// waited is how far a write had come when the wait for it ended. The zero
// waited was not asked for.
type waited struct {
	reached, wanted int
	missing         []string
	superseded      bool
}

func (w waited) short() bool { return w.reached < w.wanted }

// line prints a line of a command's result.
func (a *app) line(format string, args ...any) {
	fmt.Fprintln(a.cfg.Stdout, clean(fmt.Sprintf(format, args...)))
}

// printResult prints what became of a record, and warns of a wait that ended
// early. After one, the writes that follow in the same command wait no more:
// the member that is missing would cost each of them the whole time.
func (a *app) printResult(f *writeFlags, label, word string, w written, o *writeOptions) {
	text := f.prefix() + label + " " + word
	if !w.resource.Scope.IsGlobal() {
		text += " (" + w.resource.Scope.String() + ")"
	}
	if w.waited.wanted > 0 && !w.waited.short() {
		text += fmt.Sprintf(" (reached %d/%d)", w.waited.reached, w.waited.wanted)
	}
	a.line("%s", text)
	if w.waited.superseded {
		a.warn("%s: another write won meanwhile: driftless ledger lists what lost", label)
	}
	if !w.waited.short() {
		return
	}
	missing := ""
	if len(w.waited.missing) > 0 {
		missing = ", missing " + strings.Join(w.waited.missing, ", ")
	}
	a.warn("%s: reached %d of %d after %s%s: the write stands and goes on spreading; later ones of this command are not waited for",
		label, w.waited.reached, w.waited.wanted, o.waitTimeout, missing)
	o.wait = ""
}

// verb is a write of a record by its address.
type verb struct {
	name string // of the command, for errors
	act  func(ctx context.Context, at address, o writeOptions) (written, error)
	// done is what became of the record.
	done func(w written) string
	// print, when set, replaces the result line.
	print func(w written)
	// gone: a record that is not there is as good as done.
	gone bool
}

// recordCommand completes a command that performs a verb, made when it runs, on
// records that are named one by one.
func (a *app) recordCommand(cmd *cobra.Command, write *writeFlags, verbOf func(node) verb) *cobra.Command {
	var ids []string
	var scope scopeFlags
	cmd.Args, cmd.ValidArgsFunction = recordArgs(&ids, 1), a.completeRecords
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		n, kinds, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		at, err := addressesOf(kinds, &scope, ids, args)
		if err != nil {
			return fail(cmd.Name(), err)
		}
		return a.each(cmd.Context(), kinds, write, at, verbOf(n))
	})
	scope.add(cmd, false)
	write.add(cmd)
	cmd.Flags().StringArrayVar(&ids, "id", nil, "the record with this `ID` (may be repeated)")
	return cmd
}

// each performs a verb on records and prints a line for each.
func (a *app) each(ctx context.Context, kinds kindSet, write *writeFlags, at []address, v verb) error {
	o, bad := write.options(), 0
	for _, at := range at {
		w, err := v.act(ctx, at, o)
		if unanswered(err) {
			return err
		}
		switch {
		case err != nil && v.gone && errors.Is(err, resource.ErrNotFound):
			continue
		case err != nil:
			bad++
			a.failedLine(write.prefix(), kinds.shown(at), err, "")
		case v.print != nil:
			v.print(w)
		default:
			a.printResult(write, kinds.label(&w.resource), v.done(w), w, &o)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%s: %d of %d failed", v.name, bad, len(at))
	}
	return nil
}

// shown is an address as result lines name it.
func (s kindSet) shown(at address) string {
	if at.id != "" {
		return "id " + at.id
	}
	g := resource.ParseGroupKind(at.kind)
	return s.word(g) + "/" + at.name
}

func always(word string) func(written) string { return func(written) string { return word } }
