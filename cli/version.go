package cli

import (
	"cmp"
	"runtime"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	out := newOutput("text", formatJSON, formatYAML, formatPath)
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long:  `Print the version of this program; the node's is in: driftless node info.`,
		Example: `  driftless version
  driftless version -o json`,
		Args: cobra.NoArgs,
		RunE: a.run(func(*cobra.Command, []string) error {
			v := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{cmp.Or(a.cfg.Version, "unknown"), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if out.isData() {
				return out.writeOne(a.cfg.Stdout, v)
			}
			a.line("driftless %s (%s, %s)", v.Version, v.Go, v.Platform)
			return nil
		}),
	}
	cmd.Flags().VarP(out, "output", "o", out.choice())
	return cmd
}
