package cli

import (
	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

func (a *app) releaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "release {KIND NAME... | KIND/NAME... | --id ID...}",
		Short: "As a person, give records back to automation",
		Long: `Give records back to automation.

What a person writes outranks every automated write, whatever the clocks, until
a person releases the record: from then on the newest write wins again. A record
that is deleted can be released too. It is a person's to do, so --as is human unless
something else is said.

The fence of a claim stays: automation passes its token with --epoch as before
(get -o jsonpath={.metadata.fence} shows it).`,
		Example: `  driftless release skill summarise
  driftless release skill/summarise -p atlas --wait fleet
  driftless release --id 01JDZ5T8Q9W3X7Y2K4M6N8P0RS`,
	}
	return a.recordCommand(cmd, &writeFlags{as: actorValue{resource.Human}}, func(n node) verb {
		return verb{name: "release", act: n.Release, done: always("released")}
	})
}
