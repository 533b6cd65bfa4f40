package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

// completeTimeout bounds how long a shell waits for suggestions.
const completeTimeout = 2 * time.Second

// completeRecords suggests kinds, then the names of the kind's records. A node
// that does not answer has no suggestions.
func (a *app) completeRecords(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	a.insecure = false // its warning would land in the middle of a line
	n, kinds, err := a.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if len(args) == 0 {
		return kindWords(kinds), cobra.ShellCompDirectiveNoFileComp
	}
	kind, err := kinds.resolve(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	records, err := n.List(ctx, query{kind: pathWord(kind.GroupKind()), scope: &kind.DefaultScope})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for i := range records {
		out = append(out, cobra.CompletionWithDesc(records[i].Name, records[i].Scope.String()))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func kindWords(kinds kindSet) (out []cobra.Completion) {
	seen := map[resource.GroupKind]bool{}
	for _, k := range kinds.all {
		if g := k.GroupKind(); !seen[g] {
			seen[g] = true
			out = append(out, cobra.CompletionWithDesc(kinds.word(g), k.APIVersion))
		}
	}
	return out
}
