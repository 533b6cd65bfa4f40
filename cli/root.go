package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// app is one run of the program.
type app struct {
	cfg Config
	// running: the arguments were read and a command has begun. An error
	// before is one of usage.
	running bool

	find     finder
	timeout  time.Duration
	insecure bool
	closers  []func()
}

const rootLong = `driftless speaks to one node of a fleet whose members keep each other in
agreement without a leader: any node takes any write, at any time.

The node is found in this order:
  1. --node URL and --token
  2. --context NAME
  3. DRIFTLESS_NODE and DRIFTLESS_TOKEN
  4. the current context of $XDG_CONFIG_HOME/driftless/contexts.yaml
  5. the local socket: $XDG_RUNTIME_DIR/driftless.sock, /run/driftless/driftless.sock
  6. http://127.0.0.1:7117

Exit codes:
  0  success
  1  failed, or not converged
  2  used wrongly, or the node cannot be reached
  3  fsck found damage and repaired all of it
  130  interrupted`

const rootExample = `  driftless get skills                 # a kind's records in its default scope
  driftless apply -f manifests/        # write what the files say
  driftless fleet status               # do all members agree?`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "driftless",
		Short:         "Keep a fleet's records in agreement",
		Long:          rootLong,
		Example:       rootExample,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuch,
		RunE:          help,
	}
	root.SetIn(a.cfg.Stdin)
	root.SetOut(a.cfg.Stdout)
	root.SetErr(a.cfg.Stderr)
	a.find.env, a.find.exists = a.cfg.Env, exists
	fs := root.PersistentFlags()
	fs.StringVar(&a.find.node, "node", "", "the node's `URL`: http://, https:// or unix:///path")
	fs.StringVar(&a.find.token, "token", "", "the bearer `token` for --node (others on the machine see it; DRIFTLESS_TOKEN is hidden)")
	fs.StringVar(&a.find.context, "context", "", "the context to take from contexts.yaml, by `name`")
	fs.DurationVar(&a.timeout, "timeout", 30*time.Second, "how long one request may take")
	fs.BoolVar(&a.insecure, "insecure-skip-tls-verify", false, "take any certificate for the node's")

	root.AddGroup(&cobra.Group{ID: "records", Title: "Records:"}, &cobra.Group{ID: "fleet", Title: "Fleet:"})
	group(root, "records", a.getCommand(), a.applyCommand(), a.deleteCommand(), a.releaseCommand(), a.claimCommand(),
		a.kindsCommand(), a.importCommand(), a.conflictsCommand(), a.ledgerCommand(), a.parkedCommand())
	group(root, "fleet", a.fleetCommand(), a.nodeCommand(), a.gcCommand(), a.clockCommand())
	if a.cfg.Offline != nil {
		group(root, "fleet", a.snapshotCommand(), a.fsckCommand())
	}
	if a.cfg.Demo != nil {
		group(root, "fleet", a.demoCommand())
	}
	root.AddCommand(a.versionCommand())
	return root
}

func group(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, c := range cmds {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// parent is a command that only has commands.
func parent(use, short, long, example string, cmds ...*cobra.Command) *cobra.Command {
	p := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: noSuch, RunE: help}
	p.AddCommand(cmds...)
	return p
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// run marks where reading arguments ends and the command begins.
func (a *app) run(fn func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running = true
		return fn(cmd, args)
	}
}
