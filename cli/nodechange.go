package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
	"driftless.dev/resource"
)

func (a *app) rejoinCommand() *cobra.Command {
	return a.nodeChange(&cobra.Command{
		Use:   "rejoin",
		Short: "As a person, let a copy that is too old take the fleet's state",
		Long: `Let a copy that is too old take the fleet's state.

A node that was away while the others collected deletes holds records that have
ended. It takes part in no exchange until a person says so here, or it was
started with --rejoin auto. Then it takes a member's state for its own. What it
wrote itself and never sent is kept; what it wrote to a record that has ended is
set aside in the ledger as "collected" (driftless ledger restore).`,
		Example: `  driftless node rejoin`,
	}, node.Rejoin, "the node may take the fleet's state: driftless node info shows when it is ready")
}

func (a *app) reidentifyCommand() *cobra.Command {
	return a.nodeChange(&cobra.Command{
		Use:   "reidentify",
		Short: "As a person, make a copied node a member of its own",
		Long: `Make a copied node a member of its own.

Two processes that were started from copies of one data directory share an
identity. Both report it; the one that was started later takes no writes. Stop
it, or give it an identity of its own here: what only it wrote becomes its own,
and the node ends, to be started again.`,
		Example: `  driftless node reidentify --node http://127.0.0.1:7118`,
	}, node.Reidentify, "the node has a new identity and ends: start it again")
}

// nodeChange completes a command that does something to the node itself.
func (a *app) nodeChange(cmd *cobra.Command, do func(node, context.Context) (fleet.Node, error), done string) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		n, err := a.connect()
		if err != nil {
			return err
		}
		i, err := do(n, cmd.Context())
		if err != nil {
			return fail(cmd.Name()+" node", err)
		}
		a.line("%s (%s): %s", i.Name, i.Instance, done)
		return nil
	})
	return cmd
}

func (a *app) removeMemberCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "remove MEMBER",
		Short: "As a person, take a member that is gone for good off the roster",
		Long: `Take a member off the roster, by its name or instance id.

A member that is silent keeps the fleet from being called converged, and keeps
tombstones from being collected. One that is gone for good is removed here. If
it comes back after the others have collected what it missed, it takes their
state first, and its own unsent writes are kept or set aside (driftless node
rejoin). A member that is alive is refused: it would write itself back; stop it
first.`,
		Example: `  driftless fleet remove edge-17
  driftless fleet remove 01JDZ5T8Q9W3X7Y2K4M6N8P0RS`,
		Args: cobra.ExactArgs(1),
		RunE: a.run(func(cmd *cobra.Command, args []string) error {
			n, err := a.connect()
			if err != nil {
				return err
			}
			f, err := n.Fleet(cmd.Context())
			if err != nil {
				return fail("read fleet", err)
			}
			m, err := memberOf(f, args[0])
			if err != nil {
				return err
			}
			if !force && m.State != "lost" && m.State != "unknown" {
				return fmt.Errorf("member %s is %s: stop it first, or it writes itself back (--force removes it all the same)", m.Name, m.State)
			}
			at := address{kind: resource.MemberKind, name: m.Instance}
			if _, err := n.Delete(cmd.Context(), at, writeOptions{actor: resource.Human}); err != nil {
				return fail("remove member "+m.Name, err)
			}
			a.line("%s (%s) removed from the roster", m.Name, m.Instance)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove a member that is alive, too")
	return cmd
}

// memberOf finds the member that a word means.
func memberOf(f fleet.Fleet, word string) (fleet.Member, error) {
	var found []fleet.Member
	for _, m := range f.Members {
		if m.Instance == word {
			return m, nil
		}
		if m.Name == word {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return fleet.Member{}, fmt.Errorf("no member %q: driftless fleet status -o wide lists them", word)
	}
	ids := make([]string, len(found))
	for i, m := range found {
		ids[i] = m.Instance
	}
	slices.Sort(ids)
	return fleet.Member{}, fmt.Errorf("%d members are called %q: name the instance, one of %v", len(found), word, ids)
}
