package cli

import "github.com/spf13/cobra"

func (a *app) claimCommand() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "claim {KIND NAME... | KIND/NAME... | --id ID...}",
		Short: "Take records for a new holder",
		Long: `Take records for a new holder: the epoch rises, and a write that carries an
older epoch, or another holder's, is refused (fenced) from then on.

The answer is the holder's token, to be passed with --epoch by its writes. It
can be read later too: get -o jsonpath={.metadata.fence}. The fence stays for
good, release does not lift it: once a record was claimed, automation must pass
the token with every write. While a person holds a record automation cannot
claim it.`,
		Example: `  driftless claim lease leader
  token=$(driftless claim lease leader --quiet)
  driftless apply -f lease.yaml --epoch "$token"
  driftless get lease leader -o jsonpath={.metadata.fence}`,
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print the token alone")
	return a.recordCommand(cmd, &writeFlags{}, func(n node) verb {
		v := verb{name: "claim", act: n.Claim, done: func(w written) string { return "claimed with epoch " + w.epoch.String() }}
		if quiet {
			v.print = func(w written) { a.line("%s", w.epoch) }
		}
		return v
	})
}
