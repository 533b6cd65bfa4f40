package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

// A wait is asked for in pieces, so that no proxy on the way takes it for a
// dead connection; on a terminal in short ones, so that progress is seen.
const (
	waitPiece  = 20 * time.Second
	watchPiece = 2 * time.Second
)

func (a *app) waitCommand() *cobra.Command {
	var until string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until all members agree",
		Long: `Wait until every member of the roster answers and all agree. Progress is shown on
a terminal only.

Exit codes: 0 converged; 1 not converged in time, with the reason; 2 used
wrongly, or the node cannot be reached.`,
		Example: `  driftless fleet wait --until converged --timeout 30s`,
		Args:    cobra.NoArgs,
		RunE: a.run(func(cmd *cobra.Command, _ []string) error {
			if until != "converged" {
				return misuse(cmd.CommandPath(), "--until %q: want converged", until)
			}
			if timeout <= 0 {
				return misuse(cmd.CommandPath(), "--timeout %s: want more than nothing", timeout)
			}
			n, err := a.connect()
			if err != nil {
				return err
			}
			f, err := a.await(cmd.Context(), n, timeout)
			if err != nil {
				return undecidedError{fail("wait for the fleet", err)}
			}
			if f.Converged {
				a.line("%s", headline(f))
			}
			return verdict(f)
		}),
	}
	cmd.Flags().StringVar(&until, "until", "converged", "what to wait for: converged")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long to wait")
	return cmd
}

// await waits in pieces and returns the last verdict.
func (a *app) await(ctx context.Context, n node, timeout time.Duration) (f fleet.Fleet, err error) {
	piece := waitPiece
	if a.cfg.Terminal {
		piece = watchPiece
	}
	for end := time.Now().Add(timeout); ; {
		left := time.Until(end)
		if f, err = n.Wait(ctx, min(piece, max(left, time.Millisecond))); err != nil || f.Converged || left <= piece {
			return f, err
		}
		if a.cfg.Terminal {
			a.note("%s (%s left)", headline(f), time.Until(end).Round(time.Second))
		}
	}
}
