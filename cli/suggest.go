package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noSuch refuses arguments of a command that only has commands, and says which
// were perhaps meant.
func noSuch(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), meant(args[0], names))
}

// meant asks whether one of a few words was meant, by cobra's measure; "" when
// none is near.
func meant(word string, choices []string) string {
	c := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, choice := range choices {
		c.AddCommand(&cobra.Command{Use: choice, Run: func(*cobra.Command, []string) {}})
	}
	near := c.SuggestionsFor(word)
	if word == "" || len(near) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}
