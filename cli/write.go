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
	// quiet prints something else than the result line.
	print func(w written)
	// gone: a record that is not there is as good as done.
	gone bool
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
			a.line("%s%s failed: %s", write.prefix(), kinds.shown(at), describe(err))
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

func (a *app) releaseCommand() *cobra.Command {
	var ids []string
	var scope scopeFlags
	write := writeFlags{as: actorValue{resource.Human}}
	cmd := &cobra.Command{
		Use:   "release {KIND NAME... | KIND/NAME... | --id ID...}",
		Short: "As a person, give records back to automation",
		Long: `Give records back to automation.

What a person writes outranks every automated write, whatever the clocks, until
a person releases the record: from then on the newest write wins again. A record
that is deleted can be released too. It is a person's to do, so --as is human
unless something else is said.`,
		Example: `  driftless release skill summarise
  driftless release skill/summarise -p atlas --wait fleet
  driftless release --id 01JDZ5T8Q9W3X7Y2K4M6N8P0RS`,
		Args:              recordArgs(&ids, 1),
		ValidArgsFunction: a.completeRecords,
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			n, kinds, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			at, err := addressesOf(kinds, &scope, ids, args)
			if err != nil {
				return fail("release", err)
			}
			return a.each(cmd.Context(), kinds, &write, at, verb{name: "release", act: n.Release, done: always("released")})
		}),
	}
	scope.add(cmd, false)
	write.add(cmd)
	cmd.Flags().StringArrayVar(&ids, "id", nil, "the record with this id (may be repeated)")
	return cmd
}

func (a *app) claimCommand() *cobra.Command {
	var ids []string
	var scope scopeFlags
	var write writeFlags
	var quiet bool
	cmd := &cobra.Command{
		Use:   "claim {KIND NAME... | KIND/NAME... | --id ID...}",
		Short: "Take records for a new holder",
		Long: `Take records for a new holder: the epoch rises, and a write that carries an
older epoch, or another holder's, is refused (fenced) from then on.

The answer is the holder's token, to be passed with --epoch by its writes. While
a person holds a record automation cannot claim it.`,
		Example: `  driftless claim lease leader
  token=$(driftless claim lease leader --quiet)
  driftless apply -f lease.yaml --epoch "$token"`,
		Args:              recordArgs(&ids, 1),
		ValidArgsFunction: a.completeRecords,
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			n, kinds, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			at, err := addressesOf(kinds, &scope, ids, args)
			if err != nil {
				return fail("claim", err)
			}
			v := verb{name: "claim", act: n.Claim, done: func(w written) string { return "claimed with epoch " + w.epoch.String() }}
			if quiet {
				v.print = func(w written) { a.line("%s", w.epoch) }
			}
			return a.each(cmd.Context(), kinds, &write, at, v)
		}),
	}
	scope.add(cmd, false)
	write.add(cmd)
	cmd.Flags().StringArrayVar(&ids, "id", nil, "the record with this id (may be repeated)")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the token alone")
	return cmd
}

func always(word string) func(written) string { return func(written) string { return word } }
