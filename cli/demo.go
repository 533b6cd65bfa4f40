package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
	d := Demo{Stdin: a.cfg.Stdin, Stdout: a.cfg.Stdout, Stderr: a.cfg.Stderr}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a fleet of three nodes in this terminal",
		Long: `Run a fleet of three nodes in this terminal, on embedded NATS: write, cut a node
off, write on both sides, heal, and see all three agree.

Nothing is needed and nothing is left behind, unless --keep asks for it.`,
		Example: `  driftless demo
  driftless demo --manifests manifests/
  driftless demo --non-interactive     # plain lines; exit code 1 when it does not converge`,
		Args: cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			err := a.cfg.Demo(cmd.Context(), d)
			switch {
			case err == nil:
				return nil
			case cmd.Context().Err() != nil:
				return cmd.Context().Err() // and what broke off with it is no news
			}
			return fail("demo", err)
		}),
	}
	cmd.Flags().BoolVar(&d.NonInteractive, "non-interactive", false, "print plain lines and ask nothing")
	cmd.Flags().StringVar(&d.Manifests, "manifests", "", "apply what is in the kinds, crds and manifests folders of this `directory`")
	cmd.Flags().BoolVar(&d.Keep, "keep", false, "keep the nodes' data when the demo ends")
	return cmd
}
